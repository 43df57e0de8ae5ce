import type { JsonObject } from "../../sdk/index.ts";
import { causeOf, causeStyle, pathsOf, takenBack } from "../checkpoints.ts";
import { type Command, type Context, flag, given } from "../command.ts";
import { drawGraph, LINES, PLAIN } from "../graph.ts";
import { list, type Output, text, texts } from "../output.ts";
import { more, pageLimit } from "../paging.ts";
import { pad, showLine, width } from "../terminal.ts";
import { shownId, shownTime } from "../when.ts";

/** Checkpoints, newest first; one page. */
export const command: Command = {
  usage: "log [PATH] [--graph] [--by PRINCIPAL] [--cause CAUSE] [--limit N] [--cursor CURSOR]",
  words: [0, 1],
  flags: {
    graph: { type: "boolean" },
    by: { type: "string" },
    cause: { type: "string" },
    limit: { type: "string" },
    cursor: { type: "string" },
  },
  help: [
    ["PATH", "only what touched it or something below it"],
    ["--graph", "draw the line of checkpoints, and tie undos to what they took back"],
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
    const { out } = context;
    if (context.json) {
      out.json(answer);
      return;
    }
    const checkpoints = list(answer, "checkpoints");
    if (context.values.graph === true) graph(context, checkpoints);
    else if (out.terminal) lines(out, checkpoints);
    else table(out, checkpoints);
    more(context, text(answer, "next_cursor"));
  },
};

/** For programs and files: whole ids, whole times, one table. */
function table(out: Output, checkpoints: readonly JsonObject[]): void {
  const rows = checkpoints.map((checkpoint) => [
    text(checkpoint, "id"),
    text(checkpoint, "generation"),
    shownTime(out, text(checkpoint, "time"), new Date()),
    causeOf(checkpoint),
    text(checkpoint, "principal") || "unknown",
    pathsOf(checkpoint),
    text(checkpoint, "message"),
  ]);
  out.table(["checkpoint", "gen", "time", "cause", "principal", "paths", "message"], rows);
}

/** For people: short ids, how long ago, a colour for each cause. */
function lines(out: Output, checkpoints: readonly JsonObject[]): void {
  for (const row of described(out, checkpoints)) out.line(row);
}

function graph({ out, env }: Context, checkpoints: readonly JsonObject[]): void {
  const nodes = checkpoints.map((checkpoint) => ({
    id: text(checkpoint, "id"),
    parents: texts(checkpoint, "parents"),
    undoes: texts(checkpoint, "undoes"),
  }));
  const rows = described(out, checkpoints);
  for (const { text: drawn, node } of drawGraph(nodes, out.terminal && env.TERM !== "dumb" ? LINES : PLAIN)) {
    out.line(`${out.style("cyan", drawn)}  ${node === undefined ? "" : (rows[node] ?? "")}`.trimEnd());
  }
}

/** Each checkpoint on one line, in aligned columns. What others wrote in it is made safe here. */
function described(out: Output, checkpoints: readonly JsonObject[]): string[] {
  const now = new Date();
  const undone = undoneBy(out, checkpoints);
  const cells = checkpoints.map((checkpoint) => [
    showLine(shownId(out, text(checkpoint, "id"))),
    causeOf(checkpoint),
    showLine(text(checkpoint, "principal") || "unknown"),
    showLine(shownTime(out, text(checkpoint, "time"), now)),
  ]);
  const widths = [0, 1, 2, 3].map((at) => Math.max(0, ...cells.map((row) => width(row[at] ?? ""))));
  return checkpoints.map((checkpoint, index) => {
    const [id = "", cause = "", who = "", when = ""] = (cells[index] ?? []).map((cell, at) => pad(cell, widths[at] ?? 0));
    const parts = [
      showLine(pathsOf(checkpoint)),
      takenBack(out, checkpoint),
      mergedIn(out, checkpoint),
      undone.get(text(checkpoint, "id")) ?? "",
      showLine(text(checkpoint, "message")),
    ].filter((part) => part !== "");
    const style = causeStyle(cause.trimEnd());
    return [out.style("yellow", id), out.style(style, cause), who, out.style("dim", when), parts.join("  ")].join("  ").trimEnd();
  });
}

/** "merges ck_…": parents beyond the first, which is the line itself. */
function mergedIn(out: Output, checkpoint: JsonObject): string {
  const others = texts(checkpoint, "parents").slice(1);
  return others.length === 0 ? "" : `merges ${others.map((id) => showLine(shownId(out, id))).join(" ")}`;
}

/** "taken back by ck_…" for what an undo on this page reversed. */
function undoneBy(out: Output, checkpoints: readonly JsonObject[]): Map<string, string> {
  const by = new Map<string, string>();
  for (const checkpoint of checkpoints) {
    const id = showLine(shownId(out, text(checkpoint, "id")));
    for (const target of texts(checkpoint, "undoes"))
      if (!by.has(target)) by.set(target, out.style("red", `taken back by ${id}`));
  }
  return by;
}
