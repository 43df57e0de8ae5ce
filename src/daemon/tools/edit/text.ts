import { isUtf8 } from "node:buffer";
import { GinError } from "../../base/index.ts";

/**
 * A string with one character a byte. Files are matched and changed in this form, so that a byte which is no UTF-8 comes out as
 * it went in, and an offset in the string is an offset in the file.
 */
export type Binary = string;

/** A file as edits see it: no byte order mark, every line end an LF; and the way back to its bytes. */
export interface FileText {
  /** The file's own bytes. */
  readonly raw: Binary;
  /** What is matched. */
  readonly text: Binary;
  readonly utf8: boolean;
  /** Ending of the first line that has one, else LF. */
  readonly ending: string;
  /** Offset in `raw` of an offset in `text`. */
  at(offset: number): number;
}

const BOM = "\xef\xbb\xbf";

/** Bytes in which a NUL makes a file binary, as in every tool that reads. */
const SNIFFED_BYTES = 8_192;

/** The bytes as a string of bytes. */
export function binaryOf(bytes: Uint8Array): Binary {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
}

/** The way back. */
export function bytesOf(binary: Binary): Buffer {
  return Buffer.from(binary, "latin1");
}

/** A caller's text in UTF-8, as a string of bytes. Throws INVALID_REQUEST for half of a surrogate pair, which has no bytes. */
export function encoded(text: string, field: string): Binary {
  if (/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.test(text)) {
    throw new GinError("INVALID_REQUEST", `${field}: is not whole Unicode`, undefined, { facts: { field } });
  }
  return Buffer.from(text, "utf8").toString("latin1");
}

/** A string of bytes as text; undefined when it is not UTF-8. */
export function decoded(binary: Binary): string | undefined {
  const bytes = bytesOf(binary);
  return isUtf8(bytes) ? bytes.toString("utf8") : undefined;
}

/** Every line end as LF: CRLF and CR alone too. */
export function unixEnds(text: Binary): Binary {
  return text.includes("\r") ? text.replace(/\r\n?/g, "\n") : text;
}

/** Without a leading byte order mark. */
export function withoutMark(text: Binary): Binary {
  return text.startsWith(BOM) ? text.slice(BOM.length) : text;
}

/** Ending of the first line of `raw` that has one; undefined when none has. */
export function firstEnding(raw: Binary): string | undefined {
  const found = /\r\n?|\n/.exec(raw);
  return found?.[0];
}

/** Prepares a file for editing. Throws BINARY_FILE for one that is no text, or whose characters have more bytes than one each: UTF-16. */
export function fileText(bytes: Uint8Array, path: string): FileText {
  const raw = binaryOf(bytes);
  const nul = raw.indexOf("\0");
  if ((nul >= 0 && nul < SNIFFED_BYTES) || /^(?:\xff\xfe|\xfe\xff)/.test(raw)) throw binaryFile(path);
  return textOf(raw, isUtf8(bytes));
}

/** The same of a file that is known to be text. */
export function textOf(raw: Binary, utf8: boolean): FileText {
  const body = withoutMark(raw);
  const mark = raw.length - body.length;
  const text = unixEnds(body);
  const dropped = droppedAt(body);
  return {
    raw,
    text,
    utf8,
    ending: firstEnding(body) ?? "\n",
    at: (offset) => mark + offset + countBelow(dropped, offset),
  };
}

/** The refusal of a file that is no text. */
export function binaryFile(path: string): GinError {
  return new GinError("BINARY_FILE", `${path} is not text`, "look at it with stat_file, or write it whole", { facts: { path } });
}

/** Where, in the text with LFs, a CRLF stands: each cost the text one byte. */
function droppedAt(body: Binary): Uint32Array {
  let count = 0;
  for (let at = body.indexOf("\r\n"); at >= 0; at = body.indexOf("\r\n", at + 2)) count += 1;
  const places = new Uint32Array(count);
  let index = 0;
  for (let at = body.indexOf("\r\n"); at >= 0; at = body.indexOf("\r\n", at + 2)) {
    places[index] = at - index;
    index += 1;
  }
  return places;
}

/** How many of some ascending places are before an offset. */
function countBelow(places: Uint32Array, offset: number): number {
  let low = 0;
  let high = places.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((places[middle] ?? 0) < offset) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Refuses to bring characters beyond ASCII into a file of another encoding, where they would be read as something else; unless such
 * characters stood, in UTF-8, in what they replace. Throws BINARY_FILE.
 */
export function checkEncoding(path: string, utf8: boolean, before: Binary, after: Binary): void {
  if (utf8 || !/[\x80-\xff]/.test(after)) return;
  if (/[\x80-\xff]/.test(before) && isUtf8(bytesOf(before))) return;
  throw new GinError(
    "BINARY_FILE",
    `${path} is not UTF-8: text beyond ASCII cannot be put into it`,
    "use ASCII only, or write the file whole in UTF-8",
    {
      facts: { path },
    },
  );
}
