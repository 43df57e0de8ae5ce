/** Most bytes of anchored lines that are kept with an annotation. */
export const EXCERPT_BYTES = 4096;

const LF = 10;

/** How many lines a text has: they end after LF, the last one may lack its end. */
export function countLines(bytes: Uint8Array): number {
  let count = bytes.length > 0 && bytes[bytes.length - 1] !== LF ? 1 : 0;
  for (const byte of bytes) if (byte === LF) count += 1;
  return count;
}

/**
 * Lines `start` to `end` (from 1, inclusive) as text, at most EXCERPT_BYTES: cut after the last line that fits, or inside the first
 * one, between two characters. What is not UTF-8 is replaced.
 */
export function excerpt(bytes: Uint8Array, start: number, end: number): string {
  let line = 1;
  let from = start === 1 ? 0 : -1;
  let whole = -1;
  let at = 0;
  for (; at < bytes.length; at += 1) {
    if (from >= 0 && at - from >= EXCERPT_BYTES) break;
    if (bytes[at] !== LF) continue;
    if (from >= 0) whole = at + 1;
    line += 1;
    if (line === start) from = at + 1;
    if (line > end) return decode(bytes.subarray(from, at + 1));
  }
  if (from < 0) return "";
  if (at === bytes.length) return decode(bytes.subarray(from));
  return decode(whole > from ? bytes.subarray(from, whole) : withoutTornCharacter(bytes.subarray(from, at)));
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

/** Without the beginning of a character whose rest was cut off. */
function withoutTornCharacter(bytes: Uint8Array): Uint8Array {
  for (let back = 1; back <= 4 && back <= bytes.length; back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return bytes;
    if (byte < 0xc0) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    return length > back ? bytes.subarray(0, bytes.length - back) : bytes;
  }
  return bytes;
}
