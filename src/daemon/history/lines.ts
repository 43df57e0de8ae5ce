/**
 * A text cut into lines without touching a byte: lines end after LF (so CRLF ends too), the last one may lack its end.
 * CR alone, U+2028 and form feed are ordinary content. An empty text has no lines.
 */
export interface Lines {
  readonly bytes: Uint8Array;
  /** Offset of each line's first byte, and the text's length as one entry more. */
  readonly starts: Uint32Array;
  readonly count: number;
}

const LF = 10;

/** Cuts bytes into lines. Linear, keeps a reference to `bytes`. */
export function splitLines(bytes: Uint8Array): Lines {
  const { length } = bytes;
  let starts = new Uint32Array(Math.max(16, length >> 4));
  let count = 0;
  for (let at = 0; at < length; count += 1) {
    if (count + 1 >= starts.length) starts = grown(starts);
    starts[count] = at;
    while (at < length && bytes[at] !== LF) at += 1;
    at += 1;
  }
  if (count + 1 > starts.length) starts = grown(starts);
  starts[count] = length;
  return { bytes, starts: starts.subarray(0, count + 1), count };
}

function grown(starts: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const more = new Uint32Array(starts.length * 2);
  more.set(starts);
  return more;
}

/** How many lines a text has. */
export function countLines(bytes: Uint8Array): number {
  const { length } = bytes;
  let count = length > 0 && bytes[length - 1] !== LF ? 1 : 0;
  for (let at = 0; at < length; at += 1) if (bytes[at] === LF) count += 1;
  return count;
}

/** Bytes of lines [from, to), 0-based. A view, not a copy. */
export function sliceLines(lines: Lines, from: number, to: number): Uint8Array {
  return lines.bytes.subarray(startOf(lines, from), startOf(lines, to));
}

/** Offset where a line (0-based) begins; of the line after the last, the text's length. */
export function startOf(lines: Lines, line: number): number {
  return lines.starts[line] ?? lines.bytes.length;
}

/** True when line `i` of `a` has the bytes of line `j` of `b`, line ends included. */
export function sameLine(a: Lines, i: number, b: Lines, j: number): boolean {
  const length = startOf(a, i + 1) - startOf(a, i);
  if (length !== startOf(b, j + 1) - startOf(b, j)) return false;
  const p = startOf(a, i);
  const q = startOf(b, j);
  for (let k = 0; k < length; k += 1) if (a.bytes[p + k] !== b.bytes[q + k]) return false;
  return true;
}

/** True when two byte strings are equal. */
export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && Buffer.compare(a, b) === 0;
}

/** True for what merges and diffs treat as text: no NUL byte anywhere. Other bytes, valid UTF-8 or not, are kept as they are. */
export function isText(bytes: Uint8Array): boolean {
  // A Buffer looks by memchr, a hundred times faster than a plain array of bytes.
  return !asBuffer(bytes).includes(0);
}

/** The same bytes as a Buffer, for its decoders. Not a copy. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
