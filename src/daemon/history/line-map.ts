import type { Edit } from "./diff.ts";

/** Where lines went. Lines are 0-based; undefined means the line is not there on the other side (changed lines are new lines). */
export interface LineMap {
  /** The line of `b` that line `line` of `a` is now. */
  after(line: number): number | undefined;
  /** The line of `a` that line `line` of `b` was. */
  before(line: number): number | undefined;
}

/**
 * The line map of a diff: what origin and anchors go by. A line is mapped exactly when `diffLines` left it unchanged, so
 * maps compose checkpoint by checkpoint. A look-up costs log(hunks). Lines past the end of the text map as if it went on
 * unchanged: callers know their line counts.
 */
export function lineMap(edits: readonly Edit[]): LineMap {
  return {
    after: (line) =>
      look(
        edits,
        line,
        (edit) => edit.aStart,
        (edit) => edit.aEnd,
        (edit) => edit.bEnd,
      ),
    before: (line) =>
      look(
        edits,
        line,
        (edit) => edit.bStart,
        (edit) => edit.bEnd,
        (edit) => edit.aEnd,
      ),
  };
}

type Bound = (edit: Edit) => number;

function look(edits: readonly Edit[], line: number, start: Bound, end: Bound, otherEnd: Bound): number | undefined {
  let low = 0;
  let high = edits.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    const edit = edits[mid];
    if (edit !== undefined && start(edit) <= line) low = mid + 1;
    else high = mid;
  }
  const last = edits[low - 1];
  if (last === undefined) return line;
  return line < end(last) ? undefined : otherEnd(last) + line - end(last);
}
