import type { Edit } from "./diff.ts";

/** Hunks as four numbers each: aStart, aEnd, bStart, bEnd. What crosses threads. */
export function packEdits(edits: readonly Edit[]): Uint32Array {
  const packed = new Uint32Array(edits.length * 4);
  let at = 0;
  for (const { aStart, aEnd, bStart, bEnd } of edits) {
    packed[at++] = aStart;
    packed[at++] = aEnd;
    packed[at++] = bStart;
    packed[at++] = bEnd;
  }
  return packed;
}

/** The inverse of `packEdits`. */
export function unpackEdits(packed: Uint32Array): Edit[] {
  const number = (at: number) => packed[at] ?? 0;
  return Array.from({ length: packed.length / 4 }, (_, index) => {
    const at = index * 4;
    return { aStart: number(at), aEnd: number(at + 1), bStart: number(at + 2), bEnd: number(at + 3) };
  });
}
