import { isUtf8 } from "node:buffer";
import { checkAborted } from "../deadline.ts";

/** Bytes to page through: in memory, or a file read in pieces. */
export interface ByteSource {
  readonly size: number;
  /** The bytes from `offset`, `length` of them or up to the end. */
  read(offset: number, length: number): Uint8Array | Promise<Uint8Array>;
}

/** What ReadPath says of a file's text. */
export interface TextFacts {
  /** Whether the whole file is valid UTF-8. */
  readonly utf8: boolean;
  readonly lineEnding: "lf" | "crlf" | "mixed" | "none";
  readonly bom: boolean;
  /** Lines end at LF; a last line without one counts. 0 for what is not text. */
  readonly lineCount: number;
}

/** One page of a file. */
export interface Page {
  readonly bytes: Uint8Array;
  readonly offset: number;
  /** Offset of the next page; equal to the end of what was asked for when this is the last. */
  readonly next: number;
}

const LF = 0x0a;
const CR = 0x0d;
const PIECE_BYTES = 1_048_576;

/** Bytes in memory as a source. */
export function sourceOf(bytes: Uint8Array): ByteSource {
  return { size: bytes.byteLength, read: (offset, length) => bytes.subarray(offset, offset + length) };
}

/** Counts line ends piece by piece. */
class LineCounter {
  #lf = 0;
  #crlf = 0;
  #last = -1;

  add(piece: Uint8Array): void {
    const bytes = asBuffer(piece);
    for (let at = bytes.indexOf(LF); at !== -1; at = bytes.indexOf(LF, at + 1)) {
      const before = at > 0 ? bytes[at - 1] : this.#last;
      if (before === CR) this.#crlf += 1;
      else this.#lf += 1;
    }
    this.#last = bytes.at(-1) ?? this.#last;
  }

  facts(utf8: boolean, bom: boolean): TextFacts {
    if (!utf8) return { utf8, lineEnding: "none", bom: false, lineCount: 0 };
    const ends = this.#lf + this.#crlf;
    const open = this.#last !== -1 && this.#last !== LF ? 1 : 0;
    const pure = this.#crlf === 0 ? "lf" : "crlf";
    const mixed = this.#lf > 0 && this.#crlf > 0;
    return { utf8, lineEnding: ends === 0 ? "none" : mixed ? "mixed" : pure, bom, lineCount: ends + open };
  }
}

/** Facts of bytes in memory. */
export function factsOf(bytes: Uint8Array): TextFacts {
  const counter = new LineCounter();
  const utf8 = isUtf8(bytes);
  if (utf8) counter.add(bytes);
  return counter.facts(utf8, hasBom(bytes));
}

/** Facts of a source too large to hold, read once from end to end. `signal` stops it between two pieces. */
export async function scanFacts(source: ByteSource, signal: AbortSignal): Promise<TextFacts> {
  const counter = new LineCounter();
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let bom = false;
  for (let offset = 0; offset < source.size; offset += PIECE_BYTES) {
    checkAborted(signal);
    const piece = await source.read(offset, PIECE_BYTES);
    if (offset === 0) bom = hasBom(piece);
    if (!isMoreText(decoder, piece, offset + PIECE_BYTES < source.size)) return counter.facts(false, false);
    counter.add(piece);
  }
  return counter.facts(true, bom);
}

function isMoreText(
  decoder: { decode(input: Uint8Array, options: { stream: boolean }): string },
  piece: Uint8Array,
  stream: boolean,
): boolean {
  try {
    decoder.decode(piece, { stream });
    return true;
  } catch (error) {
    // A fatal decoder has no other way to say "not UTF-8".
    if (error instanceof TypeError) return false;
    throw error;
  }
}

function hasBom(bytes: Uint8Array): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
}

/** Offset of a line's first byte (lines count from 1); the size when there are fewer. */
export async function lineOffset(source: ByteSource, line: number, signal: AbortSignal): Promise<number> {
  let left = line - 1;
  if (left <= 0) return 0;
  for (let offset = 0; offset < source.size; offset += PIECE_BYTES) {
    checkAborted(signal);
    const piece = asBuffer(await source.read(offset, PIECE_BYTES));
    for (let at = piece.indexOf(LF); at !== -1; at = piece.indexOf(LF, at + 1)) {
      left -= 1;
      if (left === 0) return offset + at + 1;
    }
  }
  return source.size;
}

/** Line ends in a page. */
export function countLines(bytes: Uint8Array): number {
  let count = 0;
  const buffer = asBuffer(bytes);
  for (let at = buffer.indexOf(LF); at !== -1; at = buffer.indexOf(LF, at + 1)) count += 1;
  return count;
}

/**
 * The page of at most `limit` bytes from `offset` up to `end`. Of text it never splits a code point; a limit smaller than the
 * first code point gives that one whole, so that paging always moves.
 */
export async function pageOf(source: ByteSource, text: boolean, offset: number, end: number, limit: number): Promise<Page> {
  const stop = Math.min(end, offset + limit);
  if (!text || stop === end) return { bytes: await source.read(offset, stop - offset), offset, next: stop };
  // Up to three bytes more show where the next code point starts.
  const bytes = await source.read(offset, Math.min(end, stop + 3) - offset);
  let cut = stop - offset;
  while (cut > 0 && isContinuation(bytes[cut])) cut -= 1;
  if (cut === 0) {
    cut = 1;
    while (isContinuation(bytes[cut])) cut += 1;
  }
  return { bytes: bytes.subarray(0, cut), offset, next: offset + cut };
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

/** Text of bytes known to be UTF-8; a byte order mark stays. */
export function textOf(bytes: Uint8Array): string {
  return asBuffer(bytes).toString("utf8");
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** What was found out of a content, by its hash, so never stale. At most `capacity`, oldest out first. */
export class ByHash<T> {
  readonly #known = new Map<string, T>();
  readonly #capacity: number;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get(sha256: string): T | undefined {
    return this.#known.get(sha256);
  }

  set(sha256: string, value: T): T {
    this.#known.set(sha256, value);
    if (this.#known.size > this.#capacity) {
      const oldest = this.#known.keys().next().value;
      if (oldest !== undefined) this.#known.delete(oldest);
    }
    return value;
  }
}
