import type { Edit } from "./diff.ts";

/** Consecutive lines that share a value: the generation they come from, or one of the values below. */
export interface Run {
  /** At least 1. */
  readonly lines: number;
  readonly value: number;
}

/** Nothing is known of these lines. */
export const UNKNOWN = -2;
/** Nothing of what is followed stands here. */
export const NONE = -1;
/** Lines a checkpoint brought, until it is known whether it brought them back. */
export const FRESH = -3;

/** Runs of so many lines of one value. */
export function uniform(lines: number, value: number): Run[] {
  return lines === 0 ? [] : [{ lines, value }];
}

/** Runs of `a` as they are in `b` after `edits`: what is unchanged keeps its value, what came in has `fill`. */
export function carry(runs: readonly Run[], edits: readonly Edit[], fill: number): Run[] {
  const out: Run[] = [];
  let at = 0;
  let left = runs[0]?.lines ?? 0;
  const take = (count: number, keep: boolean): void => {
    let wanted = count;
    for (;;) {
      const run = runs[at];
      if (wanted === 0 || run === undefined) return;
      const some = Math.min(left, wanted);
      if (keep) add(out, some, run.value);
      wanted -= some;
      left -= some;
      if (left === 0) left = runs[++at]?.lines ?? 0;
    }
  };
  let line = 0;
  for (const { aStart, aEnd, bStart, bEnd } of edits) {
    take(aStart - line, true);
    take(aEnd - aStart, false);
    add(out, bEnd - bStart, fill);
    line = aEnd;
  }
  take(Number.POSITIVE_INFINITY, true);
  return out;
}

/** Two lists of runs over the same lines as one: `choose` makes each value of the two that meet. */
export function meet(one: readonly Run[], other: readonly Run[], choose: (one: number, other: number) => number): Run[] {
  const out: Run[] = [];
  let i = 0;
  let j = 0;
  let leftOne = one[0]?.lines ?? 0;
  let leftOther = other[0]?.lines ?? 0;
  for (;;) {
    const a = one[i];
    const b = other[j];
    if (a === undefined || b === undefined) return out;
    const some = Math.min(leftOne, leftOther);
    add(out, some, choose(a.value, b.value));
    leftOne -= some;
    leftOther -= some;
    if (leftOne === 0) leftOne = one[++i]?.lines ?? 0;
    if (leftOther === 0) leftOther = other[++j]?.lines ?? 0;
  }
}

/** Every value replaced by another. */
export function revalue(runs: readonly Run[], value: (old: number) => number): Run[] {
  const out: Run[] = [];
  for (const run of runs) add(out, run.lines, value(run.value));
  return out;
}

/** How many lines the runs are. */
export function linesOf(runs: readonly Run[]): number {
  return runs.reduce((lines, run) => lines + run.lines, 0);
}

/** True when some line has the value. */
export function holds(runs: readonly Run[], value: number): boolean {
  return runs.some((run) => run.value === value);
}

function add(out: Run[], lines: number, value: number): void {
  if (lines === 0) return;
  const last = out.at(-1);
  if (last !== undefined && last.value === value) out[out.length - 1] = { lines: last.lines + lines, value };
  else out.push({ lines, value });
}
