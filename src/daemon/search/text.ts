import { isUtf8 } from "node:buffer";
import { SHOWN_BEFORE, SHOWN_CHARACTERS } from "./limits.ts";
import type { ShownText } from "./types.ts";

/** Bytes at a file's beginning in which a NUL tells that it is no text. */
const BINARY_BYTES = 8_192;

/** A file's text, ready to be searched: lines end at LF alone. */
export interface SearchText {
  readonly text: string;
  /** Whether every character is ASCII. */
  readonly ascii: boolean;
}

/**
 * The text of a file, or "binary". UTF-8 and, with a byte order mark, UTF-16 are decoded; what is not valid UTF-8 is taken as Latin-1, so that
 * its ASCII can be found. The mark goes; CRLF becomes LF, so that `$` holds before it; a CR alone is an ordinary character.
 */
export function textOf(bytes: Uint8Array): SearchText | "binary" {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const utf16 = utf16Of(buffer);
  if (utf16 !== undefined) return { text: plainEnds(utf16), ascii: false };
  if (buffer.subarray(0, BINARY_BYTES).includes(0)) return "binary";
  const marked = buffer[0] === 0xef && buffer[1] === 0xbb && buffer[2] === 0xbf;
  if (!isUtf8(buffer)) return { text: plainEnds(buffer.toString("latin1")), ascii: false };
  const text = buffer.toString("utf8", marked ? 3 : 0);
  // As many units as bytes: no character took more than one.
  return { ascii: text.length === buffer.length - (marked ? 3 : 0), text: plainEnds(text) };
}

function plainEnds(text: string): string {
  return text.includes("\r\n") ? text.replaceAll("\r\n", "\n") : text;
}

function utf16Of(buffer: Buffer): string | undefined {
  const mark = buffer.length >= 2 ? buffer.readUInt16BE(0) : 0;
  if (mark !== 0xfffe && mark !== 0xfeff) return undefined;
  const even = buffer.subarray(2, buffer.length - (buffer.length % 2));
  return mark === 0xfffe ? even.toString("utf16le") : Buffer.from(even).swap16().toString("utf16le");
}

/** A line cut to what is shown, around the match that begins at unit `at`. */
export function shownText(line: string, at = 0): ShownText {
  if (line.length <= SHOWN_CHARACTERS) return { text: line, cutBefore: 0, cutAfter: 0 };
  const total = charactersIn(line, line.length);
  if (total <= SHOWN_CHARACTERS) return { text: line, cutBefore: 0, cutAfter: 0 };
  const match = charactersIn(line, at);
  const before = match + SHOWN_BEFORE <= SHOWN_CHARACTERS ? 0 : Math.min(match - SHOWN_BEFORE, total - SHOWN_CHARACTERS);
  const start = unitOf(line, 0, before);
  const end = unitOf(line, start, SHOWN_CHARACTERS);
  return { text: line.slice(start, end), cutBefore: before, cutAfter: total - before - SHOWN_CHARACTERS };
}

/** Characters (code points) in the first `units` units. */
export function charactersIn(line: string, units: number): number {
  let count = 0;
  for (let at = 0; at < units; at++) {
    if (isPair(line, at)) at++;
    count++;
  }
  return count;
}

function unitOf(line: string, from: number, characters: number): number {
  let at = from;
  for (let left = characters; left > 0 && at < line.length; left--) at += isPair(line, at) ? 2 : 1;
  return at;
}

function isPair(line: string, at: number): boolean {
  const unit = line.charCodeAt(at);
  if (unit < 0xd800 || unit > 0xdbff) return false;
  const next = line.charCodeAt(at + 1);
  return next >= 0xdc00 && next <= 0xdfff;
}
