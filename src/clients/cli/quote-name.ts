const ESCAPES: { readonly [character: string]: string } = { "\t": "\\t", "\n": "\\n", "\r": "\\r", '"': '\\"', "\\": "\\\\" };

const UNSAFE = /[\x00-\x1f\x7f"\\]/g;

/** A path on one line, as git prints it: in C's quotes when a control character, a quote or a backslash is in it, else as it is. */
export function quoteName(path: string): string {
  const written = path.replace(UNSAFE, (found) => ESCAPES[found] ?? `\\${found.charCodeAt(0).toString(8).padStart(3, "0")}`);
  return written === path ? path : `"${written}"`;
}
