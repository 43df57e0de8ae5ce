import { sliceLines, splitLines } from "../../../src/daemon/history/lines.ts";

/** Whether exactly one smallest script leads from `a` to `b`. Where several exist two correct diffs may differ, and so may merges built on them. */
export function hasOneScript(a: Uint8Array, b: Uint8Array): boolean {
  return smallestScripts(a, b).ways === 1;
}

/**
 * The longest common subsequence of lines, and in how many sets of places it exists (not exact above 1,000).
 * Quadratic, by the textbook: what the diff core is compared with on short texts.
 */
export function smallestScripts(a: Uint8Array, b: Uint8Array): { readonly kept: number; readonly ways: number } {
  const [x, y] = [texts(a), texts(b)];
  // best[j]: length of the longest common subsequence of x[..i], y[..j]; ways[j]: how many sets of places reach it, at most 2.
  let best = new Array<number>(y.length + 1).fill(0);
  let ways = new Array<number>(y.length + 1).fill(1);
  for (const line of x) {
    const nextBest = [0];
    const nextWays = [1];
    y.forEach((other, j) => {
      const [up, left, corner] = [best[j + 1] ?? 0, nextBest[j] ?? 0, best[j] ?? 0];
      const matched = line === other ? corner + 1 : -1;
      const most = Math.max(up, left, matched);
      let count = 0;
      if (up === most) count += ways[j + 1] ?? 0;
      if (left === most) count += nextWays[j] ?? 0;
      // Neither line used: counted by both neighbours.
      if (up === most && left === most && corner === most) count -= ways[j] ?? 0;
      if (matched === most) count += ways[j] ?? 0;
      nextBest.push(most);
      nextWays.push(Math.min(count, 1_000));
    });
    best = nextBest;
    ways = nextWays;
  }
  return { kept: best[y.length] ?? 0, ways: ways[y.length] ?? 0 };
}

function texts(bytes: Uint8Array): string[] {
  const lines = splitLines(bytes);
  return Array.from({ length: lines.count }, (_, i) => Buffer.from(sliceLines(lines, i, i + 1)).toString("latin1"));
}
