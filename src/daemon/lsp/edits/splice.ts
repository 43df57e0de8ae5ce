import type { Range } from "vscode-languageserver-protocol";
import { GinError } from "../../base/index.ts";
import type { Text } from "../mirror/types.ts";
import type { Encoding } from "../session/types.ts";
import type { EditedFile } from "../types.ts";

/** A replacement as a server proposes it. */
export interface Replacement {
  readonly range: Range;
  readonly newText: string;
}

/** A text with replacements made. */
export interface Spliced {
  /** Byte order mark, line ends and everything that was not replaced are as they were. */
  readonly text: string;
  /** Those that change something, in the order of the text; spans are of the text before. */
  readonly changes: EditedFile["changes"];
}

/**
 * Makes replacements, all of which are about the text as it is. Nothing is bent: throws LSP_REFUSED (`refuse` makes it) for a place that is not in the
 * text, an end before its start, parts of the text replaced twice, and new text that is not whole Unicode. Insertions at one place are made in their order, before a replacement
 * that begins there.
 */
export function splice(
  text: Text,
  replacements: readonly Replacement[],
  encoding: Encoding,
  refuse: (message: string) => GinError,
): Spliced {
  const placed = replacements.map(({ range, newText }) => {
    const from = offsetOf(text, range.start, encoding, refuse);
    const to = offsetOf(text, range.end, encoding, refuse);
    if (to < from) throw refuse("a range ends before it begins");
    if (/\p{Surrogate}/u.test(newText)) throw refuse("a new text is not whole Unicode");
    return { from, to, newText, range };
  });
  // Stable: of insertions at one place the first of the list comes first.
  placed.sort((a, b) => a.from - b.from);
  const parts: string[] = [];
  const changes: EditedFile["changes"][number][] = [];
  let at = 0;
  for (const { from, to, newText, range } of placed) {
    if (from < at) throw refuse("two of its changes overlap");
    parts.push(text.text.slice(at, from), newText);
    at = to;
    if (text.text.slice(from, to) !== newText) changes.push({ span: text.span(range, encoding), newText });
  }
  parts.push(text.text.slice(at));
  return { text: parts.join(""), changes };
}

function offsetOf(text: Text, position: Range["start"], encoding: Encoding, refuse: (message: string) => GinError): number {
  try {
    return text.offset(position, encoding);
  } catch (thrown) {
    if (thrown instanceof GinError && thrown.reason === "LSP_REFUSED") throw refuse(thrown.message);
    throw thrown;
  }
}
