import { EngineError, type JsonObject } from "../sdk/index.ts";
import { sessionFlags } from "./again.ts";
import type { Context, Flags } from "./command.ts";
import { list, type Output, type Style, short, text, texts } from "./output.ts";
import { headline } from "./report.ts";
import { EXIT } from "./run.ts";
import { CHECKPOINT_FLAGS, checkpointFields } from "./saving.ts";
import { showLine, showText } from "./terminal.ts";
import { shownId } from "./when.ts";

/** Flags of both commands. */
export const UNDO_FLAGS = {
  preview: { type: "boolean" },
  "skip-conflicts": { type: "boolean" },
  ...CHECKPOINT_FLAGS,
} satisfies Flags;

/** Their meanings, for help. */
export const UNDO_HELP: readonly (readonly [flag: string, meaning: string])[] = [
  ["--preview", "show what would come back and what conflicts; change nothing"],
  ["--skip-conflicts", "take back what merges, leave the paths that conflict"],
  ["-m, --message TEXT", "why, for the log"],
  ["--incarnation, --epoch", "refuse unless the workspace still stands there"],
  ["--lease-incarnation, --lease-epoch", "the fence of a lease you hold"],
  ["--request-id ID", "your own id, the same for every retry; default: one is made"],
];

/** Lines of a conflicting text that are shown. */
const SHOWN_LINES = 12;

/** The fields that flags give. */
export function undoFields(context: Context): JsonObject {
  return {
    ...checkpointFields(context),
    ...(context.values.preview === true && { preview: true }),
    ...(context.values["skip-conflicts"] === true && { skip_conflicts: true }),
  };
}

/** Sends an undo or redo and shows what came back, or what stands in the way. */
export async function takeBack(context: Context, operation: "undo" | "redo", message: JsonObject): Promise<number | undefined> {
  let answer: JsonObject;
  try {
    answer = await context.session().run(operation, message);
  } catch (thrown) {
    const conflicts = context.json ? undefined : conflictsOf(thrown);
    if (!(thrown instanceof EngineError) || conflicts === undefined) throw thrown;
    const { err } = context;
    for (const path of conflicts) conflict(err, path, "conflict");
    headline(err, thrown.detail.reason, thrown.detail.message);
    err.line(`  ${showLine(thrown.detail.suggestion)}`);
    if (thrown.detail.detailId !== "")
      err.line(`  more: gin details ${showLine(thrown.detail.detailId)}${sessionFlags(context.argv)}`);
    if (thrown.requestId !== undefined) err.line(err.style("dim", `  request ${showLine(thrown.requestId)}`));
    return EXIT.refused;
  }
  if (context.json) context.out.json(answer);
  else show(context, operation, answer);
  return undefined;
}

/** The conflicting paths of a refusal, in the form of an answer's paths; undefined for any other failure. */
function conflictsOf(thrown: unknown): JsonObject[] | undefined {
  if (!(thrown instanceof EngineError) || thrown.detail.reason !== "MERGE_CONFLICT") return undefined;
  return list(thrown.detail.facts, "paths").map((path) => ({
    path: text(path, "path"),
    conflict: text(path, "conflict"),
    conflicts: list(path, "hunks").map((hunk) => {
      const lines = Array.isArray(hunk.current_lines) ? hunk.current_lines : [];
      return {
        start_line: Number(lines[0] ?? 0),
        end_line: Number(lines[1] ?? 0),
        undone_text: text(hunk, "undone"),
        current_text: text(hunk, "current"),
        wanted_text: text(hunk, "wanted"),
        checkpoint: text(hunk, "checkpoint"),
        principal: text(hunk, "changed_by"),
      };
    }),
    checkpoint: text(path, "checkpoint"),
    principal: text(path, "changed_by"),
  }));
}

function show({ out, argv }: Context, operation: "undo" | "redo", answer: JsonObject): void {
  const preview = answer.preview === true;
  const paths = list(answer, "paths");
  for (const path of paths) {
    const outcome = short(text(path, "outcome"), "UNDONE_OUTCOME_");
    if (outcome === "conflict" || outcome === "skipped") conflict(out, path, outcome);
    else line(out, path, outcome);
  }
  const undone = texts(answer, "undone");
  const verb = operation === "undo" ? "took back" : "brought again";
  const ids = undone.slice(0, 3).map((id) => showLine(shownId(out, id)));
  const what = `${undone.length} checkpoint${undone.length === 1 ? "" : "s"}`;
  const named = undone.length === 0 ? "" : `: ${ids.join(" ")}${undone.length > 3 ? ` +${undone.length - 3}` : ""}`;
  if (answer.no_change === true && undone.length === 0) out.line("there is nothing to take back");
  else out.line(preview ? `would take back ${what}${named}` : `${verb} ${what}${named}`);
  const notes = [
    answer.replayed === true ? "answered before" : "",
    answer.apply_pending === true ? "safe in the store, not yet on disk" : "",
    text(answer, "detail_id") === "" ? "" : `all paths: gin details ${text(answer, "detail_id")}${sessionFlags(argv)}`,
  ].filter((note) => note !== "");
  const made = preview
    ? "nothing was changed"
    : answer.no_change === true
      ? "no change"
      : `checkpoint ${text(answer, "checkpoint")}`;
  const request = text(answer, "request_id");
  out.line(out.style("dim", [made, ...(request === "" ? [] : [`request ${showLine(request)}`]), ...notes].join(", ")));
}

function line(out: Output, path: JsonObject, outcome: string): void {
  const [word, style] = said(path, outcome);
  const to = text(path, "renamed_to");
  const moved = to === "" ? "" : ` ${out.style("dim", "→")} ${showLine(to)}`;
  out.line(`${out.style(style, word.padEnd(9))} ${showLine(text(path, "path"))}${moved}`);
}

function said(path: JsonObject, outcome: string): readonly [word: string, style: Style] {
  if (outcome === "no_change") return ["unchanged", "dim"];
  if (path.deleted === true) return ["removed", "red"];
  return text(path, "renamed_to") === "" ? ["restored", "green"] : ["renamed", "cyan"];
}

/** What each kind of conflict means, for a person. */
const KINDS: { readonly [kind: string]: string } = {
  content: "later work stands in these lines",
  delete_modify: "later work changed it, made it or took it away",
  binary: "it is not text, and changed since",
  kind: "a directory, a link or a special file is there",
  base_unavailable: "the bytes of then are not kept",
  too_large: "it is too large to be merged by lines",
  occupied: "the name it goes back to is taken",
  renamed: "later work gave it another name",
};

function conflict(out: Output, path: JsonObject, word: "conflict" | "skipped"): void {
  const kind = text(path, "conflict");
  const hunks = list(path, "conflicts");
  const style = word === "conflict" ? "red" : "yellow";
  const [first] = hunks;
  const lines = hunks.filter((hunk) => Number(text(hunk, "start_line")) > 0);
  const by = lines.length > 0 ? "" : who(out, first ?? path);
  out.line(
    `${out.style(style, word.padEnd(9))} ${showLine(text(path, "path"))}  ${out.style("dim", `${KINDS[kind] ?? showLine(kind)}${by}`)}`,
  );
  for (const hunk of lines) {
    const [start, end] = [Number(text(hunk, "start_line")), Number(text(hunk, "end_line"))];
    const place = end < start ? `before line ${start}` : start === end ? `line ${start}` : `lines ${start}-${end}`;
    out.line(out.style("dim", `  ${place}${who(out, hunk)}`));
    block(out, "now", "cyan", text(hunk, "current_text"));
    block(out, "undone", "red", text(hunk, "undone_text"));
    block(out, "wanted", "green", text(hunk, "wanted_text"));
  }
}

function who(out: Output, of: JsonObject): string {
  const principal = text(of, "principal");
  const checkpoint = text(of, "checkpoint");
  if (checkpoint === "") return "";
  return `, by ${principal === "" || principal === "unknown" ? "somebody unknown" : showLine(principal)} in ${showLine(shownId(out, checkpoint))}`;
}

function block(out: Output, name: string, style: Style, content: string): void {
  const all = content === "" ? [] : showText(content).replace(/\n$/, "").split("\n");
  const shown = all.slice(0, SHOWN_LINES);
  if (all.length > shown.length) shown.push(`… ${all.length - shown.length} more lines`);
  if (shown.length === 0) shown.push(out.style("dim", "(nothing)"));
  for (const [at, each] of shown.entries()) out.line(`    ${(at === 0 ? name : "").padEnd(6)} ${out.style(style, "│")} ${each}`);
}
