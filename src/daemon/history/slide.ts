import { type Lines, sameLine } from "./lines.ts";

/**
 * A diff as gaps: unchanged lines are numbered alike on both sides, and entry k tells how many changed lines stand before
 * unchanged line k (the last entry: after all of them).
 */
export type Gaps = Int32Array;

/**
 * Moves each run of changed lines of one side to its canonical place. A run whose first line equals the line after it may
 * as well stand one line lower, so a diff has many equal forms; merges need one. The rule is git's: runs that can be made
 * to meet are joined; a run goes as far down as it can, unless on its way it can stand beside a run of the other side,
 * then beside the last such. Costs at most `budget` steps; runs not reached by then stay.
 */
export function slide(lines: Lines, mine: Gaps, other: Gaps, budget: number): void {
  let steps = budget;
  const alike = (i: number, j: number) => steps-- > 0 && sameLine(lines, i, lines, j);
  let start = 0;
  for (let gap = 0; gap < mine.length; gap += 1) {
    let end = start + at(mine, gap);
    if (end === start) {
      start += 1;
      continue;
    }
    let beside: number;
    let size: number;
    do {
      size = end - start;
      while (start > 0 && alike(start - 1, end - 1)) {
        mine[gap] = 0;
        gap -= 1;
        end -= 1;
        start -= 1 + at(mine, gap);
        mine[gap] = end - start;
      }
      beside = at(other, gap) > 0 ? gap : -1;
      while (end < lines.count && alike(start, end)) {
        mine[gap] = 0;
        gap += 1;
        start += 1;
        end += 1 + at(mine, gap);
        mine[gap] = end - start;
        if (at(other, gap) > 0) beside = gap;
      }
    } while (end - start !== size && steps > 0);
    for (; beside >= 0 && gap > beside; gap -= 1) {
      mine[gap] = 0;
      start -= 1;
      end -= 1;
      mine[gap - 1] = end - start;
    }
    start = end + 1;
  }
}

function at(gaps: Gaps, index: number): number {
  return gaps[index] ?? 0;
}
