import { diffLines, type Edit } from "./diff.ts";
import { asBuffer, type Lines, splitLines, startOf } from "./lines.ts";

/** What a line diff comes to. */
export interface Hunks {
  readonly added: number;
  readonly removed: number;
  /** The hunks as a unified diff prints them, from "@@" on; empty when only counts were asked for. */
  readonly body: Uint8Array;
}

const LF = 10;
const NO_NEWLINE = Buffer.from("\n\\ No newline at end of file\n");

/**
 * Diffs two texts and prints the hunks with `context` unchanged lines around each; undefined only counts. Bytes go through
 * as they are: contents are bytes, and a printer of strings would have to decode them.
 */
export function diffHunks(a: Uint8Array, b: Uint8Array, context: number | undefined): Hunks {
  const from = splitLines(a);
  const to = splitLines(b);
  const edits = diffLines(from, to);
  let added = 0;
  let removed = 0;
  for (const edit of edits) {
    added += edit.bEnd - edit.bStart;
    removed += edit.aEnd - edit.aStart;
  }
  return { added, removed, body: context === undefined ? new Uint8Array(0) : printHunks(from, to, edits, context) };
}

/** Prints edits as hunks of a unified diff. Changes whose contexts touch share a hunk, as git's do. */
export function printHunks(from: Lines, to: Lines, edits: readonly Edit[], context: number): Uint8Array {
  const out = new Bytes(guess(from, to, edits, context));
  for (let first = 0; first < edits.length; ) {
    let next = first + 1;
    while (next < edits.length && gapBefore(edits, next) <= 2 * context) next += 1;
    printHunk(out, from, to, edits.slice(first, next), context);
    first = next;
  }
  return out.done();
}

/** Unchanged lines between an edit and the one before it. */
function gapBefore(edits: readonly Edit[], index: number): number {
  return (edits[index]?.aStart ?? 0) - (edits[index - 1]?.aEnd ?? 0);
}

function printHunk(out: Bytes, from: Lines, to: Lines, edits: readonly Edit[], context: number): void {
  const first = edits[0];
  const last = edits.at(-1);
  if (first === undefined || last === undefined) return;
  // Without a line before it git looks for an open last line anywhere, and takes its like that has a newline.
  const least = last.aEnd === from.count && (isOpen(from) || isOpen(to)) ? 1 : 0;
  const lead = Math.min(Math.max(context, least), first.aStart);
  const trail = Math.min(context, from.count - last.aEnd);
  const aStart = first.aStart - lead;
  const aEnd = last.aEnd + trail;
  const bStart = first.bStart - lead;
  const bEnd = last.bEnd + trail;
  out.text(`@@ -${range(aStart, aEnd)} +${range(bStart, bEnd)} @@\n`);
  let at = aStart;
  for (const edit of edits) {
    out.lines(" ", from, at, edit.aStart);
    out.lines("-", from, edit.aStart, edit.aEnd);
    out.lines("+", to, edit.bStart, edit.bEnd);
    at = edit.aEnd;
  }
  out.lines(" ", from, at, aEnd);
}

/** Whether the last line has no newline. */
function isOpen({ bytes }: Lines): boolean {
  return bytes.length > 0 && bytes[bytes.length - 1] !== LF;
}

/** "start,count" from 1; a count of 1 is left out, and an empty range names the line before it. */
function range(start: number, end: number): string {
  const count = end - start;
  if (count === 0) return `${start},0`;
  return count === 1 ? String(start + 1) : `${start + 1},${count}`;
}

/** Bytes the print will take, near enough that it seldom has to grow. */
function guess(from: Lines, to: Lines, edits: readonly Edit[], context: number): number {
  let bytes = 0;
  for (const edit of edits) {
    const low = Math.max(0, edit.aStart - context);
    const high = Math.min(from.count, edit.aEnd + context);
    bytes += 64 + startOf(from, high) - startOf(from, low) + high - low;
    bytes += startOf(to, edit.bEnd) - startOf(to, edit.bStart) + edit.bEnd - edit.bStart;
  }
  return bytes;
}

/** Bytes that grow. */
class Bytes {
  #bytes: Buffer;
  #length = 0;

  constructor(capacity: number) {
    this.#bytes = Buffer.allocUnsafe(Math.max(64, capacity));
  }

  text(text: string): void {
    this.#room(text.length * 3);
    this.#length += this.#bytes.write(text, this.#length);
  }

  /** Lines [start, end), each behind the mark. */
  lines(mark: string, lines: Lines, start: number, end: number): void {
    if (start >= end) return;
    const sign = mark.charCodeAt(0);
    const first = startOf(lines, start);
    const last = startOf(lines, end);
    this.#room(last - first + (end - start) + NO_NEWLINE.length);
    const source = asBuffer(lines.bytes);
    for (let line = start; line < end; line += 1) {
      const from = startOf(lines, line);
      const to = startOf(lines, line + 1);
      this.#bytes[this.#length++] = sign;
      this.#length += source.copy(this.#bytes, this.#length, from, to);
    }
    if (lines.bytes[last - 1] !== LF) this.#length += NO_NEWLINE.copy(this.#bytes, this.#length);
  }

  /** A copy of its own: what crosses threads must not drag spare room along. */
  done(): Uint8Array {
    return new Uint8Array(this.#bytes.subarray(0, this.#length));
  }

  #room(more: number): void {
    if (this.#length + more <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#length + more));
    this.#bytes.copy(grown, 0, 0, this.#length);
    this.#bytes = grown;
  }
}
