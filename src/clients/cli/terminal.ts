/** C0 but tab and newline, DEL, C1, and everything that turns the direction of text or hides in it. */
const UNSAFE = /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/**
 * Text of others, safe to show: whatever could steer a terminal is written as an escape ("\x1b", "\u202e"). Newlines and tabs stay, and so
 * does the carriage return of a CRLF.
 */
export function showText(text: string): string {
  return text.replace(/\r\n/g, "\n").replace(UNSAFE, escaped);
}

/** A name or a message on one line: newlines and tabs are escaped as well. */
export function showLine(text: string): string {
  return text.replace(UNSAFE, escaped).replace(/[\n\t]/g, (found) => (found === "\n" ? "\\n" : "\\t"));
}

function escaped(found: string): string {
  const code = found.charCodeAt(0);
  if (found === "\r") return "\\r";
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
}

/** Columns a text takes, near enough for tables: wide scripts and emoji count twice, combining marks nothing. */
export function width(text: string): number {
  let columns = 0;
  for (const character of text) {
    if (/\p{M}/u.test(character)) continue;
    columns +=
      /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u.test(
        character,
      )
        ? 2
        : 1;
  }
  return columns;
}

/** A cell with blanks behind it up to `columns`. */
export function pad(cell: string, columns: number): string {
  return cell + " ".repeat(Math.max(0, columns - width(cell)));
}
