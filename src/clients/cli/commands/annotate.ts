import { type JsonObject, UsageError } from "../../sdk/index.ts";
import { wholeId } from "../checkpoint-id.ts";
import { type Command, type Context, flag, flags, given } from "../command.ts";
import { text } from "../output.ts";

/** Writes a note on a checkpoint, on lines of it where those are named. */
export const command: Command = {
  usage: "annotate [CHECKPOINT] -m TEXT|- [--on PATH[:A-B]]… [--reply ID | --corrects ID] [--evidence ID] [--request-id ID]",
  words: [0, 1],
  flags: {
    message: { type: "string", short: "m" },
    on: { type: "string", multiple: true },
    reply: { type: "string" },
    corrects: { type: "string" },
    evidence: { type: "string" },
    "request-id": { type: "string" },
  },
  help: [
    ["CHECKPOINT", "default: the head; the beginning of its id will do"],
    ["-m, --message TEXT", "what to say; - reads it from standard input"],
    ["--on PATH[:A-B]", "the file, or its lines A to B, that this is about; may be repeated"],
    ["--reply ID", "answer this annotation"],
    ["--corrects ID", "replace this one, which is your own"],
    ["--evidence ID", "names evidence kept elsewhere"],
    ["--request-id ID", "your own id, the same for every retry; default: one is made"],
  ],
  async run(context) {
    const said = flag(context, "message");
    if (said === undefined) throw new UsageError("say something with -m TEXT, or -m - to read it from standard input");
    const [checkpoint] = context.positionals;
    const answer = await context.session().run("write_annotation", {
      ...given("request_id", flag(context, "request-id")),
      ...given("checkpoint", await wholeId(context, checkpoint)),
      text: said === "-" ? await typed(context) : said,
      anchors: flags(context, "on").map(anchor),
      ...given("reply_to", flag(context, "reply")),
      ...given("corrects", flag(context, "corrects")),
      ...given("evidence_id", flag(context, "evidence")),
    });
    const { out } = context;
    if (context.json) {
      out.json(answer);
      return;
    }
    const [id, thread] = [text(answer, "id"), text(answer, "thread")];
    out.line(`${out.style("green", "annotated")}  ${text(answer, "checkpoint")}`);
    out.line(`${id}${thread === id ? "" : ` in thread ${thread}`}, request ${text(answer, "request_id")}`);
  },
};

/** Without the newline an editor or `echo` puts at the end. */
async function typed(context: Context): Promise<string> {
  return (await context.stdin()).toString("utf8").replace(/\r?\n$/, "");
}

function anchor(on: string): JsonObject {
  const match = /^(.+):([1-9]\d{0,8})(?:-([1-9]\d{0,8}))?$/.exec(on);
  if (match === null) return { path: on };
  return { path: match[1] ?? "", start_line: match[2] ?? "", end_line: match[3] ?? match[2] ?? "" };
}
