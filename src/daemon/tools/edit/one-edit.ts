import { GinError, type Json } from "../../base/index.ts";
import { flagArg, numberArg, textArg } from "../args.ts";
import type { JsonMap } from "../types.ts";
import { findOld, type Match, SHOWN_LINES } from "./match.ts";
import { nearMiss } from "./near-miss.ts";
import { type Spliced, splice } from "./splice.ts";
import { type Binary, checkEncoding, encoded, type FileText, unixEnds, withoutMark } from "./text.ts";

/** One old text for a new one, as asked. */
export interface TextEdit {
  readonly path: string;
  /** With LFs, in bytes; never empty. */
  readonly old: Binary;
  readonly replacement: Binary;
  readonly reindent: boolean;
  /** Lines around the change that are shown with it; 0 for none, and not the change either. */
  readonly showContext: number;
}

/** What one edit did. */
export interface Edited extends Spliced {
  readonly match: Match;
}

/** Reads an edit from arguments. `field` names it in refusals, e.g. "edits[2]." Throws OLD_TEXT_EMPTY, INVALID_REQUEST. */
export function editOf(args: JsonMap, field = "", index?: number): TextEdit {
  const path = textArg(args, "path");
  const old = withoutMark(encoded(unixEnds(textArg(args, "old_text")), `${field}old_text`));
  if (old === "") {
    const at = index === undefined ? "" : `edit ${index}: `;
    throw new GinError("OLD_TEXT_EMPTY", `${at}old_text is empty`, undefined, {
      facts: { path, ...(index === undefined ? {} : { index }) },
    });
  }
  return {
    path,
    old,
    replacement: withoutMark(encoded(unixEnds(textArg(args, "new_text")), `${field}new_text`)),
    reindent: flagArg(args, "fuzzy_indent"),
    showContext: numberArg(args, "show_context", 0),
  };
}

/** Where an edit was made: what is kept of each of many, for the texts beside it are as long as the file. */
export type Place = Omit<Edited, "raw" | "before" | "after">;

/**
 * Carries one edit out on a file. Throws EDIT_NOT_FOUND with the place most like it, EDIT_NOT_UNIQUE with the lines, EDIT_NO_CHANGE,
 * BINARY_FILE.
 */
export function carryOut(file: FileText, edit: TextEdit, path: string): Edited {
  const found = findOld(file, edit.old);
  if (found.kind === "none") throw notFound(file, edit, path);
  if (found.kind === "many") throw ambiguous(path, found.lines, found.count, found.fuzzy);
  const done = splice(file, found.match, edit.replacement, edit.reindent);
  checkEncoding(path, file.utf8, done.before, done.after);
  if (done.before === done.after) {
    throw new GinError("EDIT_NO_CHANGE", `${path} has the new text already`, "old_text and new_text come to the same here", {
      facts: { path },
    });
  }
  return { ...done, match: found.match };
}

function ambiguous(path: string, lines: readonly number[], count: number, fuzzy: boolean): GinError {
  const more = count > SHOWN_LINES ? ` ... and ${count - SHOWN_LINES} more` : "";
  const how = fuzzy ? " (blanks and typography aside)" : "";
  const message = `old_text is in ${path} ${count} times${how}: lines ${lines.join(", ")}${more}`;
  return new GinError("EDIT_NOT_UNIQUE", message, undefined, { facts: { path, lines: [...lines], matches: count } });
}

function notFound(file: FileText, edit: TextEdit, path: string): GinError {
  const near = nearMiss(file.text, edit.old);
  const facts: { [key: string]: Json } = { path };
  if (near === undefined) return new GinError("EDIT_NOT_FOUND", `old_text is not in ${path}`, undefined, { facts });
  facts.line = near.line;
  if (near.diff !== "") facts.near = near.diff;
  const message = `old_text is not in ${path}; line ${near.line} of ${near.lineCount} is most like it`;
  return new GinError(
    "EDIT_NOT_FOUND",
    message,
    "facts.near shows what differs (-: asked for, +: there); give the text as it stands",
    {
      facts,
    },
  );
}
