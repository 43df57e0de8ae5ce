import { type JsonObject, UsageError } from "../../sdk/index.ts";
import { wholeId } from "../checkpoint-id.ts";
import { type Command, type Context, flag } from "../command.ts";
import { takeBack, UNDO_FLAGS, UNDO_HELP, undoFields } from "../undoing.ts";

/** Takes work back: a checkpoint, a request, a principal's work since a point, or everything later on a path. */
export const command: Command = {
  usage:
    "undo CHECKPOINT | --request ID [--by PRINCIPAL] | --by PRINCIPAL --since X | --path P --to CHECKPOINT [--preview] [--skip-conflicts] [-m TEXT]",
  words: [0, 1],
  flags: {
    ...UNDO_FLAGS,
    request: { type: "string" },
    by: { type: "string" },
    since: { type: "string" },
    path: { type: "string" },
    to: { type: "string" },
  },
  help: [
    ["CHECKPOINT", "take back what this checkpoint changed; the beginning of its id will do"],
    ["--request ID", "take back what a request made; your own, or with --by another's"],
    [
      "--by PRINCIPAL --since X",
      "take back a principal's work, and its sub-agents', after a checkpoint or an RFC 3339 time; X may be start",
    ],
    ["--path P --to CHECKPOINT", "make P, or all below it, what it was then: everything later on it goes"],
    ...UNDO_HELP,
  ],
  async run(context) {
    return await takeBack(context, "undo", { ...undoFields(context), select: await selection(context) });
  },
};

async function selection(context: Context): Promise<JsonObject> {
  const [checkpoint] = context.positionals;
  const [request, by, since, path, to] = ["request", "by", "since", "path", "to"].map((name) => flag(context, name));
  const given = { checkpoint, request, by, since, path, to };
  const names = Object.entries(given)
    .filter(([, value]) => value !== undefined)
    .map(([name]) => name)
    .join("+");
  switch (names) {
    case "checkpoint":
      return { checkpoint: await wholeId(context, checkpoint ?? "") };
    case "request":
      return { request_id: request ?? "" };
    case "request+by":
      return { request_id: request ?? "", principal: by ?? "" };
    case "by+since":
      return { principal: by ?? "", since: await wholeId(context, since ?? "") };
    case "path+to":
      return { path: path ?? "", checkpoint: await wholeId(context, to ?? "") };
    default:
      throw new UsageError(`say what to take back, in one way\nusage: gin ${command.usage}`);
  }
}
