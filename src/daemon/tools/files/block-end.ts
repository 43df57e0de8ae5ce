import type { LineSpan, TextLines } from "./text-lines.ts";

const BRACED = /\.(go|java|c|cpp|h|hpp|rs|ts|tsx|js|jsx)$/;

/** Whether blocks of a file are told by braces. */
export function hasBraces(path: string): boolean {
  return BRACED.test(path);
}

/**
 * How many of the lines to keep so that the last one ends outside of all braces; all of them when no line but the first few bytes does.
 * Braces in "…", in backticks and after // do not count, line by line: a guess at blocks, good enough for where to cut.
 */
export function blockEnd(lines: TextLines, spans: readonly LineSpan[]): number {
  let depth = 0;
  let kept = 0;
  for (const [index, span] of spans.entries()) {
    depth += balance(lines.bytes.toString("utf8", span.start, lines.textEnd(span)));
    if (depth === 0) kept = index + 1;
  }
  return kept === 0 ? spans.length : kept;
}

function balance(line: string): number {
  let depth = 0;
  let quote = "";
  for (let at = 0; at < line.length; at += 1) {
    const char = line.charAt(at);
    if (quote !== "") {
      if (char === "\\" && quote === '"') at += 1;
      else if (char === quote) quote = "";
    } else if (char === '"' || char === "`") quote = char;
    else if (char === "/" && line.charAt(at + 1) === "/") break;
    else if (char === "{") depth += 1;
    else if (char === "}") depth -= 1;
  }
  return depth;
}
