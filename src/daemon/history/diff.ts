import { diff_core as myers } from "fast-myers-diff";
import { type Lines, sameLine, splitLines } from "./lines.ts";
import { slide } from "./slide.ts";
import { reduce, type Stretch } from "./symbols.ts";
import { uniqueAnchors } from "./unique-anchors.ts";

/** One hunk: lines [aStart, aEnd) of `a` became lines [bStart, bEnd) of `b`. 0-based, half-open, at least one side not empty. */
export interface Edit {
  readonly aStart: number;
  readonly aEnd: number;
  readonly bStart: number;
  readonly bEnd: number;
}

/**
 * Comparisons a search for the smallest script may cost before it is given up, beside two for each line; 100,000 take
 * 2 to 4 ms. It counts work and not time, so that every machine finds the same diff. With it unlike files stay linear.
 */
const COST_CAP = 400_000;
/** Once the whole was given up: the same for each piece between unique lines, per line of the piece; all pieces share half of COST_CAP. */
const PIECE_COST_PER_LINE = 64;

/**
 * The diff core: the hunks that turn `a` into `b`, in order, with at least one unchanged line between any two. Lines are
 * compared with their line ends. The smallest script but where the search costs too much (see COST_CAP): then lines that
 * are unique on both sides hold the diff together and what lies between may be replaced as a whole.
 * Deterministic; everything that maps lines (merge, origin, anchors, patches) uses it, see `lineMap`.
 */
export function diffLines(a: Uint8Array | Lines, b: Uint8Array | Lines): Edit[] {
  const from = "starts" in a ? a : splitLines(a);
  const to = "starts" in b ? b : splitLines(b);
  const shorter = Math.min(from.count, to.count);
  let head = 0;
  while (head < shorter && sameLine(from, head, to, head)) head += 1;
  if (head === from.count && head === to.count) return [];
  let tail = 0;
  while (tail < shorter - head && sameLine(from, from.count - 1 - tail, to, to.count - 1 - tail)) tail += 1;
  const changedA = new Uint8Array(from.count);
  const changedB = new Uint8Array(to.count);
  const mine = { lines: from, from: head, to: from.count - tail };
  const other = { lines: to, from: head, to: to.count - tail };
  search(mine, other, changedA.subarray(head), changedB.subarray(head));
  const gapsA = gaps(changedA);
  const gapsB = gaps(changedB);
  const budget = 16 * (from.count + to.count) + 1024;
  slide(from, gapsA, gapsB, budget);
  slide(to, gapsB, gapsA, budget);
  return edits(gapsA, gapsB);
}

/** Marks the changed lines of both sides. Lines that occur on one side only can never match: they are out before the search. */
function search(a: Stretch, b: Stretch, changedA: Uint8Array, changedB: Uint8Array): void {
  changedA.fill(1, 0, a.to - a.from);
  changedB.fill(1, 0, b.to - b.from);
  if (a.from === a.to || b.from === b.to) return;
  const [x, y] = reduce(a, b);
  const keep = (i: number, j: number) => {
    changedA[x.places[i] ?? 0] = 0;
    changedB[y.places[j] ?? 0] = 0;
  };
  const whole = { aStart: 0, aEnd: x.symbols.length, bStart: 0, bEnd: y.symbols.length };
  const purse = { left: COST_CAP + 2 * (x.symbols.length + y.symbols.length) };
  const found = script(x.symbols, y.symbols, whole, purse);
  if (found !== undefined) {
    unchanged(whole, found, keep);
    return;
  }
  const anchors = uniqueAnchors(x.symbols, y.symbols);
  if (anchors.length === 0) return;
  let shared = COST_CAP / 2;
  let aStart = 0;
  let bStart = 0;
  for (const [i, j] of [...anchors, [x.symbols.length, y.symbols.length] as const]) {
    const piece = { aStart, aEnd: i, bStart, bEnd: j };
    const granted = Math.min(shared, PIECE_COST_PER_LINE * (i - aStart + j - bStart));
    const own = { left: granted };
    unchanged(piece, script(x.symbols, y.symbols, piece, own) ?? [piece], keep);
    shared -= granted - Math.max(0, own.left);
    if (i < x.symbols.length) keep(i, j);
    aStart = i + 1;
    bStart = j + 1;
  }
}

/** Thrown out of the comparison callback, the only way to stop the search from inside. */
const TOO_COSTLY = new Error("diff cost cap");

/** The smallest script inside a block of symbols, or undefined when it costs more comparisons than are left in `purse`. */
function script(a: Int32Array, b: Int32Array, block: Edit, purse: { left: number }): Edit[] | undefined {
  let { aStart, aEnd, bStart, bEnd } = block;
  while (aStart < aEnd && bStart < bEnd && a[aStart] === b[bStart]) {
    aStart += 1;
    bStart += 1;
  }
  while (aStart < aEnd && bStart < bEnd && a[aEnd - 1] === b[bEnd - 1]) {
    aEnd -= 1;
    bEnd -= 1;
  }
  const equal = (i: number, j: number) => {
    if (purse.left-- <= 0) throw TOO_COSTLY;
    return a[i] === b[j];
  };
  const found: Edit[] = [];
  try {
    for (const [i, iEnd, j, jEnd] of myers(aStart, aEnd - aStart, bStart, bEnd - bStart, equal)) {
      found.push({ aStart: i, aEnd: iEnd, bStart: j, bEnd: jEnd });
    }
  } catch (thrown) {
    if (thrown === TOO_COSTLY) return undefined;
    throw thrown;
  }
  return found;
}

/** Calls `keep` for each pair of unchanged lines of a block. */
function unchanged(block: Edit, found: readonly Edit[], keep: (i: number, j: number) => void): void {
  let i = block.aStart;
  let j = block.bStart;
  for (const edit of [...found, { aStart: block.aEnd, aEnd: block.aEnd, bStart: block.bEnd, bEnd: block.bEnd }]) {
    while (i < edit.aStart) keep(i++, j++);
    i = edit.aEnd;
    j = edit.bEnd;
  }
}

function gaps(changed: Uint8Array): Int32Array {
  let kept = 0;
  for (const flag of changed) if (flag === 0) kept += 1;
  const out = new Int32Array(kept + 1);
  let gap = 0;
  for (const flag of changed) {
    if (flag === 0) gap += 1;
    else out[gap] = (out[gap] ?? 0) + 1;
  }
  return out;
}

function edits(gapsA: Int32Array, gapsB: Int32Array): Edit[] {
  const out: Edit[] = [];
  let i = 0;
  let j = 0;
  for (let gap = 0; gap < gapsA.length; gap += 1) {
    const aEnd = i + (gapsA[gap] ?? 0);
    const bEnd = j + (gapsB[gap] ?? 0);
    if (aEnd > i || bEnd > j) out.push({ aStart: i, aEnd, bStart: j, bEnd });
    i = aEnd + 1;
    j = bEnd + 1;
  }
  return out;
}
