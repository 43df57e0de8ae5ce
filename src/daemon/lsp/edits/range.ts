import type { Range } from "vscode-languageserver-protocol";
import { GinError } from "../../base/index.ts";
import type { Text } from "../mirror/types.ts";
import type { Encoding } from "../session/types.ts";
import type { LspAsk, Place, Span } from "../types.ts";

/** The part of a text a question is about: what it names, a whole line where it names only that, or all of it. Throws INVALID_REQUEST. */
export function spanOf({ line, character, endLine, endCharacter }: LspAsk, text: Text): Span {
  if (line === undefined) {
    if (character !== undefined || endLine !== undefined || endCharacter !== undefined) throw without("line", "it names no line");
    return { start: { line: 1, character: 1 }, end: text.fromServer({ line: 2 ** 31 - 1, character: 0 }, "utf-16") };
  }
  const start = { line, character: character ?? 1 };
  const last = endLine ?? line;
  const end = {
    line: last,
    character: endCharacter ?? (character !== undefined && endLine === undefined ? character : endOf(text, last)),
  };
  if (before(end, start)) throw without("end_line", "it ends before it begins");
  return { start, end };
}

/** In the server's terms. Throws INVALID_REQUEST for what is not in the text. */
export function rangeIn(text: Text, { start, end }: Span, encoding: Encoding): Range {
  return { start: text.toServer(start, encoding), end: text.toServer(end, encoding) };
}

function endOf(text: Text, line: number): number {
  return [...text.line(line)].length + 1;
}

function before(a: Place, b: Place): boolean {
  return a.line < b.line || (a.line === b.line && a.character < b.character);
}

function without(field: string, message: string): GinError {
  return new GinError("INVALID_REQUEST", message, undefined, { facts: { field } });
}
