import type { Content } from "../store/index.ts";

/** What the header of a patch says: where a path was and is, and what it held. Null where it is absent. */
export interface PatchSides {
  readonly oldPath: string;
  readonly newPath: string;
  readonly before: Content | null;
  readonly after: Content | null;
  /** Percent, of a rename. */
  readonly similarity: number;
}

/** A header, and the two lines that must stand before the first hunk when there is one. */
export interface PatchHeader {
  readonly head: string;
  readonly files: string;
}

/**
 * The header of one file's patch as `git apply` reads it. There is no "index" line: its names are git's own, not ours, and
 * apply does without it for text.
 */
export function patchHeader({ oldPath, newPath, before, after, similarity }: PatchSides): PatchHeader {
  const lines = [`diff --git ${quoted(`a/${oldPath}`)} ${quoted(`b/${newPath}`)}`];
  if (before === null && after !== null) lines.push(`new file mode ${modeOf(after)}`);
  else if (before !== null && after === null) lines.push(`deleted file mode ${modeOf(before)}`);
  else if (before !== null && after !== null && modeOf(before) !== modeOf(after)) {
    lines.push(`old mode ${modeOf(before)}`, `new mode ${modeOf(after)}`);
  }
  if (oldPath !== newPath) {
    lines.push(`similarity index ${similarity}%`, `rename from ${quoted(oldPath)}`, `rename to ${quoted(newPath)}`);
  }
  const from = before === null ? "/dev/null" : fileName(`a/${oldPath}`);
  const to = after === null ? "/dev/null" : fileName(`b/${newPath}`);
  return { head: `${lines.join("\n")}\n`, files: `--- ${from}\n+++ ${to}\n` };
}

/** A content's mode in git's octal digits. */
export function modeOf(content: Content): string {
  return content.kind === "symlink" ? "120000" : content.executable ? "100755" : "100644";
}

/** Names with a blank get a tab behind them, without which some readers take the blank for the name's end. */
function fileName(name: string): string {
  const written = quoted(name);
  return written === name && name.includes(" ") ? `${name}\t` : written;
}

const ESCAPES: { readonly [character: string]: string } = {
  "\u0007": "\\a",
  "\b": "\\b",
  "\t": "\\t",
  "\n": "\\n",
  "\v": "\\v",
  "\f": "\\f",
  "\r": "\\r",
  '"': '\\"',
  "\\": "\\\\",
};

const UNSAFE = /[\x00-\x1f\x7f"\\]/g;

/**
 * A name as git quotes it: as it is, or in C's way when a control character, a quote or a backslash is in it; UTF-8 stays. A
 * folder's name that ends in a blank is quoted too: `git apply` cannot find the end of the name in "diff --git" otherwise.
 */
export function quoted(name: string): string {
  const written = name.replace(UNSAFE, (found) => ESCAPES[found] ?? `\\${found.charCodeAt(0).toString(8).padStart(3, "0")}`);
  return written === name && !name.includes(" /") ? name : `"${written}"`;
}
