/** A piece of a replacement: text as it stands, or what a group matched. */
export type Piece = { readonly text: string } | { readonly group: string | number };

const REFERENCE = /\$(?:\$|\{([\p{L}\p{Nd}_]+)\}|([\p{L}\p{Nd}_]+))/gu;

/**
 * Reads a replacement as RE2's own tools do: `$1`, `$name` (as long as it goes), `${name}`, and `$$` for a dollar. A dollar before anything else
 * is itself.
 */
export function parseTemplate(template: string): Piece[] {
  const pieces: Piece[] = [];
  let from = 0;
  for (const match of template.matchAll(REFERENCE)) {
    if (match.index > from) pieces.push({ text: template.slice(from, match.index) });
    const name = match[1] ?? match[2];
    if (name === undefined) pieces.push({ text: "$" });
    else pieces.push({ group: /^[0-9]{1,9}$/.test(name) ? Number(name) : name });
    from = match.index + match[0].length;
  }
  if (from < template.length) pieces.push({ text: template.slice(from) });
  return pieces;
}
