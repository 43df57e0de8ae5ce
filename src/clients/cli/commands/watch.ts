import { type JsonObject, UsageError } from "../../sdk/index.ts";
import { goingOn } from "../again.ts";
import { type Command, type Context, flag, flags, given } from "../command.ts";
import { eventLine } from "../events.ts";
import { text } from "../output.ts";

const KINDS = ["checkpoint", "lease", "annotation", "memory"];

/** What happens in a workspace, a line an event, until Ctrl-C. */
export const command: Command = {
  usage: "watch [--kind KIND]… [--since CURSOR]",
  flags: { kind: { type: "string", multiple: true }, since: { type: "string" } },
  help: [
    ["--kind KIND", "checkpoint, lease, annotation or memory; may be repeated; default all"],
    ["--since CURSOR", "what came after it first: the cursor of any event, or the one printed at the end"],
    ["--json", "each message on a line, with its cursor"],
  ],
  async run(context) {
    const kinds = flags(context, "kind");
    for (const kind of kinds) {
      if (!KINDS.includes(kind))
        throw new UsageError(`--kind takes ${KINDS.slice(0, -1).join(", ")} or ${KINDS.at(-1)}, not "${kind}"`);
    }
    const request = {
      ...given("since", flag(context, "since")),
      kinds: kinds.map((kind) => `WATCH_KIND_${kind.toUpperCase()}`),
    };
    const cursor = await follow(context, request);
    if (cursor !== "" && !context.json) context.err.line(goingOn(context.argv, cursor, "--since"));
    return undefined;
  },
};

/** Shows every message until the person ends it; gives the last cursor. */
async function follow(context: Context, request: JsonObject): Promise<string> {
  const { out, err, json } = context;
  const ending = new AbortController();
  const end = (): void => ending.abort();
  process.once("SIGINT", end);
  process.once("SIGTERM", end);
  const onBreak = (why: Error): void => err.line(`gin: ${why.message}; waiting for it to come back`);
  let cursor = "";
  let readyBefore = false;
  try {
    for await (const message of context.session().watch(request, { signal: ending.signal, onBreak })) {
      cursor = text(message, "cursor");
      if (json) {
        out.json(message);
        continue;
      }
      if ("ready" in message) {
        if (err.terminal || readyBefore)
          err.line(err.style("dim", readyBefore ? "gin: watching again" : "watching; Ctrl-C ends it"));
        readyBefore = true;
        continue;
      }
      out.line(eventLine(out, message, new Date()));
    }
  } finally {
    process.removeListener("SIGINT", end);
    process.removeListener("SIGTERM", end);
  }
  return cursor;
}
