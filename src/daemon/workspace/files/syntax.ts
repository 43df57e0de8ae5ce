import { invalid } from "./refuse.ts";

/** Longest path in bytes of UTF-8: the kernel's own limit. */
export const PATH_BYTES = 4096;

/** Longest component in bytes of UTF-8. */
export const NAME_BYTES = 255;

/** Common short ASCII paths need no further look at bytes or surrogates. */
const PLAIN = /^[\x20-\x7e]*$/;

/**
 * Checks how a workspace-relative path is spelled and gives it without its "." components ("" and "." are the root).
 * Throws PATH_INVALID for absolute paths, `..`, empty components (also a trailing slash), NUL, lone surrogates, more than
 * 4,096 bytes, or a component of more than 255. Anything else may be the name of something that exists: a backslash is an
 * ordinary character here (though protected names are looked for between backslashes too), and so is `%2e`. What may be
 * *made* is narrower: see checkNewName.
 */
export function checkPath(path: string): string {
  if (path === "" || path === ".") return "";
  const plain = PLAIN.test(path);
  if (!plain) {
    if (path.includes("\0")) throw invalid(path, "contains NUL");
    if (/\p{Surrogate}/u.test(path)) throw invalid(path, "is not UTF-8");
  }
  if ((plain ? path.length : Buffer.byteLength(path)) > PATH_BYTES) throw invalid(path, `is longer than ${PATH_BYTES} bytes`);
  if (path.startsWith("/")) throw invalid(path, "is absolute");
  const names = path.split("/");
  let dots = false;
  for (const name of names) {
    if (name === "") throw invalid(path, "has an empty component");
    if (name === "..") throw invalid(path, "contains ..");
    if (name === ".") dots = true;
    if (name.length * 3 > NAME_BYTES && (plain ? name.length : Buffer.byteLength(name)) > NAME_BYTES) {
      throw invalid(path, `has a component of more than ${NAME_BYTES} bytes`);
    }
  }
  return dots ? names.filter((name) => name !== ".").join("/") : path;
}

/** C0, DEL, C1, line and paragraph separators, and the characters that turn the direction of text. */
const HIDDEN = /[\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

/**
 * Checks a name that is about to be made. Throws PATH_INVALID for control and bidirectional characters (a reader could be
 * shown another name) and for a backslash (a separator to half of the tools that will see the tree). Existing files so named
 * can still be read, changed and removed.
 */
export function checkNewName(path: string, name: string): void {
  if (name.includes("\\")) throw invalid(path, "would make a name with a backslash");
  if (HIDDEN.test(name)) throw invalid(path, "would make a name with control or direction characters");
}
