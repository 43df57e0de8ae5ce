import { errorDetail } from "../../sdk/index.ts";
import { type Command, flag, given } from "../command.ts";
import { list, object, short, text } from "../output.ts";
import { explain } from "../report.ts";
import { showLine } from "../terminal.ts";

/** What became of a request: the command that follows exit status 4. */
export const command: Command = {
  usage: "outcome REQUEST_ID [--of PRINCIPAL]",
  words: [1, 1],
  flags: { of: { type: "string" } },
  help: [["--of PRINCIPAL", "another principal's request (owner only)"]],
  async run(context) {
    const id = context.positionals[0] ?? "";
    const message = { target_request_id: id, ...given("principal", flag(context, "of")) };
    const answer = await context.session().run("request_outcome", message);
    const { out } = context;
    if (context.json) {
      out.json(answer);
      return;
    }
    const outcome = short(text(answer, "outcome"), "OUTCOME_");
    const operation = text(answer, "operation");
    out.line(
      `${out.style("bold", outcome)}  ${[operation, text(answer, "time")]
        .filter((part) => part !== "")
        .map(showLine)
        .join("  ")}`.trimEnd(),
    );
    if (outcome === "committed") {
      const save = object(object(answer, "response"), "save");
      for (const path of list(save, "paths"))
        out.line(`  ${showLine(text(path, "path"))}  ${out.style("dim", text(path, "sha256"))}`);
      if (text(save, "checkpoint") !== "") out.line(`  checkpoint ${showLine(text(save, "checkpoint"))}`);
    }
    if (outcome === "not_found") {
      const since = text(answer, "kept_since");
      out.line(`  it did not happen${since === "" ? "" : ` (outcomes are complete since ${since})`}: it may be sent again`);
    }
    if (outcome === "in_progress") out.line("  still running: ask again");
    const refusal = errorDetail(answer.error);
    if (refusal !== undefined) explain(refusal, undefined, { err: out, argv: [] });
  },
};
