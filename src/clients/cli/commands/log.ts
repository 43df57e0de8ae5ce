import { type Command, flag, given } from "../command.ts";
import { list, short, text } from "../output.ts";
import { pageLimit } from "../paging.ts";

/** Checkpoints, newest first; one page. */
export const command: Command = {
  usage: "log [PATH] [--by PRINCIPAL] [--cause CAUSE] [--limit N] [--cursor CURSOR]",
  words: [0, 1],
  flags: { by: { type: "string" }, cause: { type: "string" }, limit: { type: "string" }, cursor: { type: "string" } },
  help: [
    ["PATH", "only what touched it or something below it"],
    ["--by PRINCIPAL", "only this principal's"],
    ["--cause CAUSE", "import, save, tool, shell, external, undo, redo, advance or merge"],
    ["--limit N", "at most so many; default 20"],
    ["--cursor CURSOR", "go on where an earlier page ended"],
  ],
  async run(context) {
    const cause = flag(context, "cause");
    const answer = await context.session().run("list_checkpoints", {
      ...given("path", context.positionals[0]),
      ...given("principal", flag(context, "by")),
      ...given("cause", cause === undefined ? undefined : `CAUSE_${cause.toUpperCase()}`),
      ...given("cursor", flag(context, "cursor")),
      limit: pageLimit(context, 20),
    });
    const { out, err } = context;
    if (context.json) {
      out.json(answer);
      return;
    }
    const rows = list(answer, "checkpoints").map((checkpoint) => {
      const paths = list(checkpoint, "paths").map((path) => text(path, "path"));
      const more = Number(text(checkpoint, "path_count")) - Math.min(paths.length, 3);
      return [
        text(checkpoint, "id"),
        text(checkpoint, "generation"),
        text(checkpoint, "time").replace(/\.\d+Z$/, "Z"),
        short(text(checkpoint, "cause"), "CAUSE_"),
        text(checkpoint, "principal") || "unknown",
        paths.slice(0, 3).join(" ") + (more > 0 ? ` +${more}` : ""),
        text(checkpoint, "message"),
      ];
    });
    out.table(["checkpoint", "gen", "time", "cause", "principal", "paths", "message"], rows);
    const next = text(answer, "next_cursor");
    if (next !== "") err.line(`more: gin log --cursor ${next}`);
  },
};
