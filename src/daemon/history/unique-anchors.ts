/**
 * Pairs of equal symbols that occur exactly once on each side, the longest run of them that is in order on both sides.
 * n log n: the way out for blocks whose smallest script would cost too much.
 */
export function uniqueAnchors(a: Int32Array, b: Int32Array): (readonly [number, number])[] {
  const onlyA = places(a);
  const onlyB = places(b);
  const pairs: (readonly [number, number])[] = [];
  for (const [symbol, i] of onlyA) {
    const j = onlyB.get(symbol);
    if (i >= 0 && j !== undefined && j >= 0) pairs.push([i, j]);
  }
  // Map keeps first-seen order, so the pairs ascend in `a`; what is left is the longest ascending run in `b`.
  const ends: number[] = [];
  const before = new Int32Array(pairs.length);
  for (let p = 0; p < pairs.length; p += 1) {
    const j = pairs[p]?.[1] ?? 0;
    let low = 0;
    let high = ends.length;
    while (low < high) {
      const mid = (low + high) >> 1;
      if ((pairs[ends[mid] ?? 0]?.[1] ?? 0) < j) low = mid + 1;
      else high = mid;
    }
    before[p] = low === 0 ? -1 : (ends[low - 1] ?? -1);
    ends[low] = p;
  }
  const out: (readonly [number, number])[] = [];
  for (let p = ends.at(-1) ?? -1; p >= 0; p = before[p] ?? -1) {
    const pair = pairs[p];
    if (pair !== undefined) out.push(pair);
  }
  return out.reverse();
}

/** Where each symbol stands, -1 when it occurs more than once. */
function places(symbols: Int32Array): Map<number, number> {
  const out = new Map<number, number>();
  for (let i = 0; i < symbols.length; i += 1) {
    const symbol = symbols[i] ?? 0;
    out.set(symbol, out.has(symbol) ? -1 : i);
  }
  return out;
}
