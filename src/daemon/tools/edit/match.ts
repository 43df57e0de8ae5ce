import { FUZZY_BYTES, loosen, loosened } from "./fuzzy.ts";
import type { Binary, FileText } from "./text.ts";

/** Where an edit's old text stands: offsets in the file's text with LFs. */
export interface Match {
  readonly start: number;
  readonly end: number;
  readonly fuzzy: boolean;
}

/** What looking for an old text comes to. */
export type Found =
  | { readonly kind: "one"; readonly match: Match }
  /** Line numbers, at most `SHOWN_LINES`, and how many places there are. */
  | { readonly kind: "many"; readonly lines: readonly number[]; readonly count: number; readonly fuzzy: boolean }
  | { readonly kind: "none" };

/** Line numbers that an ambiguous edit names. */
export const SHOWN_LINES = 10;

/** Places that are counted; more are not told apart. */
const COUNTED = 10_000;

/**
 * Looks for `old` (LFs only, not empty): exactly, and where that is nowhere, without blanks at line ends and with typography
 * plain. Overlapping places count as several, for either could be meant. Linear.
 */
export function findOld(file: Pick<FileText, "text" | "utf8">, old: Binary): Found {
  const { text } = file;
  const exact = places(text, old);
  if (exact.length === 1) {
    const start = exact[0] as number;
    return { kind: "one", match: { start, end: start + old.length, fuzzy: false } };
  }
  if (exact.length > 1) return many(text, exact, false);
  // What is typography in UTF-8 are other characters elsewhere.
  if (!file.utf8 || text.length > FUZZY_BYTES) return { kind: "none" };
  const wanted = loosened(old);
  if (wanted.trim() === "") return { kind: "none" };
  const loose = loosen(text);
  const found = places(loose.text, wanted);
  if (found.length === 0) return { kind: "none" };
  if (found.length > 1) return many(loose.text, found, true);
  const start = found[0] as number;
  // Blanks behind the match belong to it only where the old text has some there.
  const swallow = /[ \t]$/.test(old);
  return { kind: "one", match: { start: loose.start(start), end: loose.end(start + wanted.length, swallow), fuzzy: true } };
}

function places(text: Binary, wanted: Binary): number[] {
  const found: number[] = [];
  for (let at = text.indexOf(wanted); at >= 0 && found.length < COUNTED; at = text.indexOf(wanted, at + 1)) found.push(at);
  return found;
}

function many(text: Binary, found: readonly number[], fuzzy: boolean): Found {
  const lines: number[] = [];
  let line = 1;
  let from = 0;
  for (const at of found.slice(0, SHOWN_LINES)) {
    line += newlines(text, from, at);
    from = at;
    lines.push(line);
  }
  return { kind: "many", lines, count: found.length, fuzzy };
}

/** How many LFs are in a stretch. */
export function newlines(text: Binary, from: number, to: number): number {
  // Cut first: a search that finds nothing would go on to the text's end each time.
  const part = text.slice(from, to);
  let count = 0;
  for (let at = part.indexOf("\n"); at >= 0; at = part.indexOf("\n", at + 1)) count += 1;
  return count;
}

/** Number, from 1, of the line an offset is in. */
export function lineAt(text: Binary, offset: number): number {
  return 1 + newlines(text, 0, offset);
}
