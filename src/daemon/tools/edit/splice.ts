import { type Match, newlines } from "./match.ts";
import { type Binary, type FileText, firstEnding } from "./text.ts";

/** One replacement carried out. */
export interface Spliced {
  /** The whole file afterwards. */
  readonly raw: Binary;
  /** Lines of the file before that it replaced, from 1, inclusive. */
  readonly firstLine: number;
  readonly lastLine: number;
  /** Lines that stand there now. */
  readonly newLines: number;
  /** The bytes replaced, and those put there. */
  readonly before: Binary;
  readonly after: Binary;
}

/**
 * Puts `replacement` (LFs only) where a match is; not a byte outside it changes. Its line ends become those of the lines it replaces,
 * else the file's. `reindent`: its lines get the indentation of the place, if the match begins within or behind pure indentation.
 */
export function splice(file: FileText, match: Match, replacement: Binary, reindent: boolean): Spliced {
  const start = file.at(match.start);
  const end = file.at(match.end);
  const before = file.raw.slice(start, end);
  const wanted = reindent ? reindented(file.text, match.start, replacement) : replacement;
  const ending = firstEnding(before) ?? file.ending;
  const after = ending === "\n" ? wanted : wanted.replaceAll("\n", () => ending);
  const firstLine = 1 + newlines(file.text, 0, match.start);
  return {
    raw: file.raw.slice(0, start) + after + file.raw.slice(end),
    firstLine,
    lastLine: firstLine + spanned(file.text.slice(match.start, match.end)) - 1,
    newLines: wanted === "" ? 0 : spanned(wanted),
    before,
    after,
  };
}

/** Lines that a text reaches into: a final line end begins no line of its own. */
function spanned(text: Binary): number {
  const count = newlines(text, 0, text.length);
  return Math.max(1, text.endsWith("\n") ? count : count + 1);
}

function reindented(text: Binary, at: number, replacement: Binary): Binary {
  const lineStart = text.lastIndexOf("\n", at - 1) + 1;
  const [site = ""] = /^[ \t]*/.exec(text.slice(lineStart, lineStart + MAX_INDENT)) ?? [];
  const column = at - lineStart;
  if (column > site.length) return replacement;
  const lines = replacement.split("\n");
  const filled = lines.filter((line) => line.trim() !== "");
  const common = filled.map(indentOf).reduce(sharedPrefix, filled[0] === undefined ? "" : indentOf(filled[0]));
  return lines
    .map((line, index) => {
      if (line.trim() === "") return "";
      const bare = line.slice(common.length);
      // The first line has what is before the match already.
      return `${index === 0 ? site.slice(column) : site}${bare}`;
    })
    .join("\n");
}

/** Longest indentation that is looked at. */
const MAX_INDENT = 4_096;

function indentOf(line: Binary): Binary {
  return /^[ \t]*/.exec(line)?.[0] ?? "";
}

function sharedPrefix(a: Binary, b: Binary): Binary {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length += 1;
  return a.slice(0, length);
}
