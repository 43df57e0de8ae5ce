import { isUtf8 } from "node:buffer";
import type { Position, Range } from "vscode-languageserver-protocol";
import { GinError } from "../../base/index.ts";
import type { Hash } from "../../store/index.ts";
import type { Encoding } from "../session/types.ts";
import type { Place, Span } from "../types.ts";
import { SNIFFED_BYTES } from "./limits.ts";
import type { Text } from "./types.ts";
import { Units } from "./units.ts";

const MARK = "\ufeff";

/** LSP's largest number, which servers send for "to the end". */
const LARGEST = 2 ** 31 - 1;

/** What some servers take for the end of a line although LSP does not, a carriage return alone among them (they do not). */
const ODD_ENDS = /[\v\f\x1c-\x1e\x85\u2028\u2029]|\r(?!\n)/;

/**
 * A text ready for positions. Bytes must be UTF-8; `sha256` is theirs, or that of the text in UTF-8. Nothing is looked at twice, and no line is looked for before a
 * position is asked about. Throws BINARY_FILE for bytes that are no text, INVALID_REQUEST for a string with half of a surrogate pair.
 */
export function createText(content: Uint8Array | string, sha256: Hash, path = ""): IndexedText {
  if (typeof content !== "string") return new IndexedText(decode(content, path), sha256);
  if (/\p{Surrogate}/u.test(content)) {
    throw new GinError("INVALID_REQUEST", "a text is not whole Unicode", undefined, { facts: { field: "text" } });
  }
  return new IndexedText(content, sha256);
}

function decode(bytes: Uint8Array, path: string): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (buffer.subarray(0, SNIFFED_BYTES).includes(0) || !isUtf8(buffer)) {
    const facts = path === "" ? {} : { path };
    throw new GinError("BINARY_FILE", `${path === "" ? "the file" : path} is no text in UTF-8`, undefined, { facts });
  }
  return buffer.toString("utf8");
}

/** A text and its two indexes of lines, each made when it is first needed. */
export class IndexedText implements Text {
  readonly text: string;
  readonly sha256: Hash;
  readonly #units: Units;
  /** Offset of the first character: behind the byte order mark. */
  readonly #begin: number;
  readonly #counted: boolean;
  #ours: Uint32Array | undefined;
  #theirs: Uint32Array | undefined;
  #odd: boolean | undefined;

  /** `counted`: see `asRead`. */
  constructor(text: string, sha256: Hash, counted = false) {
    this.text = text;
    this.sha256 = sha256;
    this.#units = new Units(text);
    this.#begin = text.startsWith(MARK) ? MARK.length : 0;
    this.#counted = counted && this.#begin > 0;
  }

  /** Whether it begins with a byte order mark. */
  get marked(): boolean {
    return this.#begin > 0;
  }

  /** The same for a server that has the mark, and counts it as a character of the first line. */
  asRead(): IndexedText {
    return this.marked ? new IndexedText(this.text, this.sha256, true) : this;
  }

  get body(): string {
    return this.#begin === 0 || this.#counted ? this.text : this.text.slice(this.#begin);
  }

  get lines(): number {
    return this.#starts().length - (this.text === "" || this.text.endsWith("\n") ? 1 : 0);
  }

  /** Whether it holds characters at which some servers wrongly end a line, or a lone CR, at which some wrongly do not. */
  get odd(): boolean {
    this.#odd ??= ODD_ENDS.test(this.text);
    return this.#odd;
  }

  toServer(place: Place, encoding: Encoding): Position {
    const starts = this.#starts();
    const { line, character } = place;
    if (!Number.isInteger(line) || line < 1 || line > starts.length)
      throw notThere("line", `line ${line}`, `${this.lines} lines`);
    const start = starts[line - 1] ?? 0;
    const end = this.#end(starts, line - 1);
    const reached = character >= 1 ? this.#units.reach(start, end, character - 1, "utf-32") : undefined;
    if (!Number.isInteger(character) || reached?.how !== "exact") {
      const length = this.#units.count(start, end, "utf-32");
      throw notThere("character", `character ${character} of line ${line}`, `${length} characters there`);
    }
    return this.position(reached.at, encoding);
  }

  fromServer(position: Position, encoding: Encoding): Place {
    const starts = this.#serverStarts();
    const line = clamped(position.line);
    if (line >= starts.length) return this.#place(this.text.length);
    const from = starts[line] ?? 0;
    const { at } = this.#units.reach(from, this.#end(starts, line), clamped(position.character), encoding);
    return this.#place(Math.max(at, this.#begin));
  }

  span(range: Range, encoding: Encoding): Span {
    return { start: this.fromServer(range.start, encoding), end: this.fromServer(range.end, encoding) };
  }

  offset(position: Position, encoding: Encoding): number {
    const starts = this.#serverStarts();
    const { line, character } = position;
    if (!isCount(line) || !isCount(character)) throw outside(position);
    if (line >= LARGEST || (line === starts.length && character === 0)) return this.text.length;
    if (line >= starts.length) throw outside(position);
    const end = this.#end(starts, line);
    if (character >= LARGEST) return end;
    const reached = this.#units.reach(starts[line] ?? 0, end, character, encoding);
    if (reached.how !== "exact") throw outside(position);
    // What is put before the first character stands behind the mark.
    return Math.max(reached.at, this.#begin);
  }

  line(number: number): string {
    const starts = this.#starts();
    const start = starts[number - 1];
    return start === undefined ? "" : this.text.slice(start, this.#end(starts, number - 1));
  }

  /** A server's position of an offset in `text` on a character's bound; not between CR and LF. */
  position(offset: number, encoding: Encoding): Position {
    const starts = this.#serverStarts();
    const line = lineOf(starts, offset);
    return { line, character: this.#units.count(starts[line] ?? 0, offset, encoding) };
  }

  #place(offset: number): Place {
    const starts = this.#starts();
    const line = lineOf(starts, offset);
    return { line: line + 1, character: this.#units.count(starts[line] ?? 0, offset, "utf-32") + 1 };
  }

  /** Where lines begin as gin counts, the empty one behind a final line end too. */
  #starts(): Uint32Array {
    this.#ours ??= startsOf(this.text, this.#begin);
    return this.#ours;
  }

  /** The same as servers count: mostly the very same. */
  #serverStarts(): Uint32Array {
    this.#theirs ??=
      this.#counted || /\r(?!\n)/.test(this.text) ? serverStartsOf(this.text, this.#counted ? 0 : this.#begin) : this.#starts();
    return this.#theirs;
  }

  /** Where a line's own end begins. */
  #end(starts: Uint32Array, index: number): number {
    const next = starts[index + 1];
    if (next === undefined) return this.text.length;
    if (this.text[next - 1] === "\r") return next - 1;
    return next - 2 >= (starts[index] ?? 0) && this.text[next - 2] === "\r" ? next - 2 : next - 1;
  }
}

function startsOf(text: string, begin: number): Uint32Array {
  const starts = [begin];
  for (let at = text.indexOf("\n", begin); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return Uint32Array.from(starts);
}

function serverStartsOf(text: string, begin: number): Uint32Array {
  const starts = [begin];
  for (const end of text.matchAll(/\r\n?|\n/g)) starts.push(end.index + end[0].length);
  return Uint32Array.from(starts);
}

/** Index of the line that an offset is in. */
function lineOf(starts: Uint32Array, offset: number): number {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((starts[middle] ?? 0) <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** A whole number from 0; whatever else a server sends is 0. */
function clamped(number: number): number {
  return number > 0 ? Math.floor(Math.min(number, LARGEST)) : 0;
}

function isCount(number: number): boolean {
  return Number.isInteger(number) && number >= 0;
}

function notThere(field: "line" | "character", what: string, have: string): GinError {
  return new GinError("INVALID_REQUEST", `${what} is not there: there are ${have}`, "read the file again", { facts: { field } });
}

function outside({ line, character }: Position): GinError {
  const message = `the language server named line ${Number(line)}, character ${Number(character)} (from 0), which is not in the text`;
  return new GinError("LSP_REFUSED", message, "ask again; restart the server when it stays so");
}
