import type { Pace } from "../../base/index.ts";

const LF = 10;
const CR = 13;

/** Bytes looked through between two looks at other callers: about a millisecond. */
const SLICE_BYTES = 1024 * 1024;

/** A line of a text, or a piece of one. Lines count from 1 and end after LF; CR alone, U+2028 and form feed are ordinary content. */
export interface LineSpan {
  readonly line: number;
  /** Offsets into the text; the end includes the line's end. */
  readonly start: number;
  readonly end: number;
}

/** A text that is looked at by lines. Only the lines asked for are ever listed, so a text of millions of lines costs no table. */
export class TextLines {
  readonly bytes: Buffer;
  /** A last line without its end counts; an empty text has none. */
  readonly count: number;

  private constructor(bytes: Buffer, count: number) {
    this.bytes = bytes;
    this.count = count;
  }

  /** Counts the lines, in slices. Throws CANCELLED. */
  static async of(bytes: Buffer, pace: Pace): Promise<TextLines> {
    let count = 0;
    for (let from = 0; from < bytes.length; from += SLICE_BYTES) {
      if (from > 0) await pace.next();
      const slice = bytes.subarray(from, from + SLICE_BYTES);
      for (let at = slice.indexOf(LF); at !== -1; at = slice.indexOf(LF, at + 1)) count += 1;
    }
    const open = bytes.length > 0 && bytes[bytes.length - 1] !== LF ? 1 : 0;
    return new TextLines(bytes, count + open);
  }

  /** Offset of a line's first byte; the text's length for lines behind the last. Throws CANCELLED. */
  async offsetOf(line: number, pace: Pace): Promise<number> {
    if (line > this.count) return this.bytes.length;
    let at = 0;
    let slice = SLICE_BYTES;
    for (let left = line - 1; left > 0; left -= 1) {
      at = this.bytes.indexOf(LF, at) + 1;
      if (at > slice) {
        await pace.next();
        slice = at + SLICE_BYTES;
      }
    }
    return at;
  }

  /** Lines from one that begins (or goes on) at `offset`, up to `last`. */
  *forward(line: number, offset: number, last: number): Generator<LineSpan> {
    let start = offset;
    for (let at = line; at <= last && start < this.bytes.length; at += 1) {
      const end = this.#endOf(start);
      yield { line: at, start, end };
      start = end;
    }
  }

  /** Lines back from `line`, which ends at `offset`, down to `first`. */
  *backward(line: number, offset: number, first: number): Generator<LineSpan> {
    let end = offset;
    for (let at = line; at >= first && end > 0; at -= 1) {
      // The line's own LF is at end - 1: the one before that ends the line before.
      const start = end < 2 ? 0 : this.bytes.lastIndexOf(LF, end - 2) + 1;
      yield { line: at, start, end };
      end = start;
    }
  }

  /** Where a line's text ends, without LF or CRLF. */
  textEnd({ start, end }: LineSpan): number {
    if (end === start || this.bytes[end - 1] !== LF) return end;
    return end - 2 >= start && this.bytes[end - 2] === CR ? end - 2 : end - 1;
  }

  /** The last offset up to `at` that splits no character; one behind `start` always, so that paging moves. */
  cutBefore(at: number, start: number): number {
    let cut = at;
    while (cut > start && isContinuation(this.bytes[cut])) cut -= 1;
    return cut > start ? cut : this.cutAfter(start + 1);
  }

  /** The first offset from `at` that splits no character. */
  cutAfter(at: number): number {
    let cut = at;
    while (isContinuation(this.bytes[cut])) cut += 1;
    return cut;
  }

  #endOf(start: number): number {
    const at = this.bytes.indexOf(LF, start);
    return at === -1 ? this.bytes.length : at + 1;
  }
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
