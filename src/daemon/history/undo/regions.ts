import type { Edit } from "../diff.ts";

/**
 * A reversed hunk, or several that one later hunk holds together. Lines are 0-based and half-open, of three texts: `made` (what the
 * undone work left), `before` (what it found) and `now`.
 */
export interface Region {
  readonly madeStart: number;
  readonly madeEnd: number;
  readonly beforeStart: number;
  readonly beforeEnd: number;
  readonly nowStart: number;
  readonly nowEnd: number;
  readonly undo: readonly Edit[];
  /** Later hunks inside it; none for a hunk that comes back whole. */
  readonly later: readonly Edit[];
  /** A later insertion exactly where lines come back: beside the hunk, not inside it. */
  readonly beside: Edit | undefined;
}

/**
 * Whether a later hunk is inside a stretch of `made`: the two have a line in common, or one is a place strictly between two lines
 * of the other. What only touches an edge (a neighbouring changed line, an insertion before or after) is beside it. Two places
 * never hold each other.
 */
export function inside(later: Edit, start: number, end: number): boolean {
  return later.aStart < end && start < later.aEnd;
}

/**
 * Walks the hunks to reverse (`made` → `before`) and what happened to `made` since (`made` → `now`) at once: one region a hunk,
 * in order, with where it stands now. Unlike a three-way merge, hunks that only touch stay apart.
 */
export function* regions(undo: readonly Edit[], later: readonly Edit[]): Generator<Region> {
  let i = 0;
  let j = 0;
  let shift = 0;
  for (let first = undo[i]; first !== undefined; first = undo[i]) {
    let { aStart: start, aEnd: end } = first;
    for (let next = later[j]; next !== undefined && passed(next, start, end); next = later[j]) {
      shift = next.bEnd - next.aEnd;
      j += 1;
    }
    const [i0, j0, shift0] = [i, j, shift];
    let last = first;
    i += 1;
    for (;;) {
      const next = later[j];
      const more = undo[i];
      if (next !== undefined && inside(next, start, end)) {
        start = Math.min(start, next.aStart);
        end = Math.max(end, next.aEnd);
        shift = next.bEnd - next.aEnd;
        j += 1;
      } else if (more !== undefined && j > j0 && inside(more, start, end)) {
        end = Math.max(end, more.aEnd);
        last = more;
        i += 1;
      } else break;
    }
    const beside = later[j];
    const alone = j === j0;
    yield {
      madeStart: start,
      madeEnd: end,
      beforeStart: first.bStart - (first.aStart - start),
      beforeEnd: last.bEnd + (end - last.aEnd),
      nowStart: start + shift0,
      nowEnd: end + shift,
      undo: undo.slice(i0, i),
      later: later.slice(j0, j),
      beside: alone && start === end && beside !== undefined && samePlace(beside, start) ? beside : undefined,
    };
  }
}

/** Whether a later hunk lies before a stretch. An insertion exactly where lines come back is not before them. */
function passed(later: Edit, start: number, end: number): boolean {
  return later.aEnd <= start && !(start === end && samePlace(later, start));
}

function samePlace(edit: Edit, place: number): boolean {
  return edit.aStart === place && edit.aEnd === place;
}
