import type { TextDocumentContentChangeEvent, TextDocumentSyncKind } from "vscode-languageserver-protocol";
import type { Encoding } from "../session/types.ts";
import type { IndexedText } from "./text.ts";
import { isTrail } from "./units.ts";

/** TextDocumentSyncKind.Incremental. */
const INCREMENTAL = 2;

/**
 * What turns one text into another at the server: what lies between the longest common beginning and end, or the whole where the server wants that. The whole as
 * well where a text holds what some servers take for a line's end and others do not: a range would land elsewhere there, and every later answer be
 * about another text. A change without a range is the whole text in LSP, whatever a server prefers.
 */
export function changesBetween(
  before: IndexedText,
  after: IndexedText,
  kind: TextDocumentSyncKind,
  encoding: Encoding,
): TextDocumentContentChangeEvent[] {
  if (kind !== INCREMENTAL || before.odd || after.odd) return [{ text: after.body }];
  const [old, now] = [before.body, after.body];
  const most = Math.min(old.length, now.length);
  let start = 0;
  while (start < most && old.charCodeAt(start) === now.charCodeAt(start)) start++;
  while (start > 0 && (cuts(old, start) || cuts(now, start))) start--;
  let kept = 0;
  while (kept < most - start && old.charCodeAt(old.length - 1 - kept) === now.charCodeAt(now.length - 1 - kept)) kept++;
  while (kept > 0 && (cuts(old, old.length - kept) || cuts(now, now.length - kept))) kept--;
  const mark = before.text.length - old.length;
  const range = {
    start: before.position(mark + start, encoding),
    end: before.position(mark + old.length - kept, encoding),
  };
  return [{ range, text: now.slice(start, now.length - kept) }];
}

/** Whether an offset lies inside of a character or of a CRLF, where no position can be. */
function cuts(text: string, at: number): boolean {
  return isTrail(text, at) || (text[at - 1] === "\r" && text[at] === "\n");
}
