import { diffLines, type Edit } from "./diff.ts";
import { asBuffer, type Lines, sameBytes, sliceLines, splitLines } from "./lines.ts";
import type { ConflictHunk } from "./types.ts";

/** Outcome of a three-way merge of texts: the merged bytes, or every conflict in order. */
export type Merge3 =
  | { readonly clean: true; readonly bytes: Uint8Array }
  | { readonly clean: false; readonly hunks: readonly ConflictHunk[] };

/**
 * diff3 on the diff core. Hunks of both sides that overlap or touch in `base` form one region; a region changed by one
 * side takes that side, one where both sides say the same is taken once, any other is a conflict. A changed line end or
 * final newline is a change of its line. Bytes are copied, never decoded. Same verdict and bytes as `git merge-file`,
 * except where several smallest scripts exist and the two pick different ones.
 */
export function merge3(base: Uint8Array, ours: Uint8Array, theirs: Uint8Array): Merge3 {
  const lines = { base: splitLines(base), ours: splitLines(ours), theirs: splitLines(theirs) };
  const parts: Uint8Array[] = [];
  const hunks: ConflictHunk[] = [];
  let copied = 0;
  for (const region of regions(diffLines(lines.base, lines.ours), diffLines(lines.base, lines.theirs))) {
    if (!region.byTheirs) continue;
    const mine = sliceLines(lines.ours, region.oursStart, region.oursEnd);
    const other = sliceLines(lines.theirs, region.theirsStart, region.theirsEnd);
    if (region.byOurs && sameBytes(mine, other)) continue;
    if (region.byOurs) {
      hunks.push(hunk(lines, region));
      continue;
    }
    parts.push(sliceLines(lines.ours, copied, region.oursStart), other);
    copied = region.oursEnd;
  }
  if (hunks.length > 0) return { clean: false, hunks };
  parts.push(sliceLines(lines.ours, copied, lines.ours.count));
  return { clean: true, bytes: Buffer.concat(parts) };
}

/** A stretch of base and what it is on each side; 0-based, half-open. */
interface Region {
  readonly baseStart: number;
  readonly baseEnd: number;
  readonly oursStart: number;
  readonly oursEnd: number;
  readonly theirsStart: number;
  readonly theirsEnd: number;
  readonly byOurs: boolean;
  readonly byTheirs: boolean;
}

/** Walks both diffs of base at once. `shift` is how far a side's lines are from base's after its hunks so far. */
function* regions(ours: readonly Edit[], theirs: readonly Edit[]): Generator<Region> {
  let i = 0;
  let j = 0;
  let oursShift = 0;
  let theirsShift = 0;
  for (;;) {
    const baseStart = Math.min(ours[i]?.aStart ?? Number.POSITIVE_INFINITY, theirs[j]?.aStart ?? Number.POSITIVE_INFINITY);
    if (baseStart === Number.POSITIVE_INFINITY) return;
    const [firstOurs, firstTheirs] = [i, j];
    const [oursStart, theirsStart] = [baseStart + oursShift, baseStart + theirsShift];
    let baseEnd = baseStart;
    for (;;) {
      const mine = ours[i];
      const other = theirs[j];
      if (mine !== undefined && mine.aStart <= baseEnd) {
        baseEnd = Math.max(baseEnd, mine.aEnd);
        oursShift = mine.bEnd - mine.aEnd;
        i += 1;
      } else if (other !== undefined && other.aStart <= baseEnd) {
        baseEnd = Math.max(baseEnd, other.aEnd);
        theirsShift = other.bEnd - other.aEnd;
        j += 1;
      } else break;
    }
    yield {
      baseStart,
      baseEnd,
      oursStart,
      oursEnd: baseEnd + oursShift,
      theirsStart,
      theirsEnd: baseEnd + theirsShift,
      byOurs: i > firstOurs,
      byTheirs: j > firstTheirs,
    };
  }
}

function hunk(lines: { readonly base: Lines; readonly ours: Lines; readonly theirs: Lines }, region: Region): ConflictHunk {
  return {
    baseStart: region.baseStart + 1,
    baseEnd: region.baseEnd,
    oursStart: region.oursStart + 1,
    oursEnd: region.oursEnd,
    theirsStart: region.theirsStart + 1,
    theirsEnd: region.theirsEnd,
    base: show(sliceLines(lines.base, region.baseStart, region.baseEnd)),
    ours: show(sliceLines(lines.ours, region.oursStart, region.oursEnd)),
    theirs: show(sliceLines(lines.theirs, region.theirsStart, region.theirsEnd)),
  };
}

/** For people to look at: what is not UTF-8 shows as U+FFFD. Merged bytes never go through here. */
function show(bytes: Uint8Array): string {
  return asBuffer(bytes).toString("utf8");
}
