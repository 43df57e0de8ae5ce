import { wholeId } from "../checkpoint-id.ts";
import type { Command } from "../command.ts";
import { factPairs } from "../facts.ts";
import { object, text, texts } from "../output.ts";
import { showLine } from "../terminal.ts";

/** What an id, a request or a reason is. */
export const command: Command = {
  usage: "explain ID",
  words: [1, 1],
  help: [
    ["ID", "any id gin gave out (the beginning of a checkpoint's will do), request:ID for a request id, or the name of a reason"],
  ],
  async run(context) {
    const answer = await context.session().run("explain", { id: await wholeId(context, context.positionals[0] ?? "") });
    const { out } = context;
    if (context.json) {
      out.json(answer);
      return;
    }
    out.line(`${out.style("bold", showLine(text(answer, "id")))} (${showLine(text(answer, "kind"))})`);
    out.line(showLine(text(answer, "summary")));
    out.facts(factPairs(object(answer, "facts")));
    for (const line of texts(answer, "lineage")) out.line(`${out.style("dim", "from")}  ${showLine(line)}`);
    for (const line of texts(answer, "next")) out.line(`${out.style("cyan", "next")}  ${showLine(line)}`);
  },
};
