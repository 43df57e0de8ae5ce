// What the fake server knows about texts: lines as the protocol has them, positions in three encodings, words and the symbols of its toy language.

const WORD = /[A-Za-z_][A-Za-z0-9_]*/g;
const DECLARED = /^([ \t]*)(class|def) ([A-Za-z_][A-Za-z0-9_]*)/;

/** Starts of the lines: LF, CRLF and a lone CR end one. */
export function lineStarts(text) {
  const starts = [0];
  for (const end of text.matchAll(/\r\n|\n|\r/g)) starts.push(end.index + end[0].length);
  return starts;
}

/** The lines without their ends. */
export const linesOf = (text) => text.split(/\r\n|\n|\r/);

/** Length of a text in an encoding's units. */
export function units(text, encoding) {
  if (encoding === "utf-8") return Buffer.byteLength(text);
  return encoding === "utf-32" ? [...text].length : text.length;
}

/** Offset of a position; beyond a line's end is its end. */
export function offsetAt(text, position, encoding) {
  const starts = lineStarts(text);
  const start = starts[position.line];
  if (start === undefined) return text.length;
  const line = linesOf(text)[position.line];
  let counted = 0;
  let offset = 0;
  for (const character of line) {
    if (counted >= position.character) break;
    counted += units(character, encoding);
    offset += character.length;
  }
  return start + offset;
}

/** Position of an offset. */
export function positionAt(text, offset, encoding) {
  const starts = lineStarts(text);
  let line = starts.length - 1;
  while (line > 0 && starts[line] > offset) line -= 1;
  return { line, character: units(text.slice(starts[line], offset), encoding) };
}

/** The range of a part. */
export const rangeAt = (text, start, end, encoding) => ({
  start: positionAt(text, start, encoding),
  end: positionAt(text, end, encoding),
});

/** Every word with its offset. */
export const wordsOf = (text) => [...text.matchAll(WORD)].map((match) => ({ name: match[0], at: match.index }));

/** The word around an offset. */
export const wordAt = (text, offset) => wordsOf(text).find(({ name, at }) => at <= offset && offset <= at + name.length);

/** `class X` and `def y` lines: name, kind, indentation, offsets of the name and of the line's end. */
export function declarationsOf(text) {
  const starts = lineStarts(text);
  return linesOf(text).flatMap((line, index) => {
    const match = DECLARED.exec(line);
    if (match === null) return [];
    const at = starts[index] + match[1].length + match[2].length + 1;
    return [{ name: match[3], kind: match[2], indent: match[1].length, start: starts[index] + match[1].length, at, line: index }];
  });
}

/** Hierarchical document symbols: a declaration holds the deeper ones below it, to the line before the next that is not deeper. */
export function symbolsOf(text, encoding) {
  const all = declarationsOf(text);
  const starts = lineStarts(text);
  const lines = linesOf(text);
  const roots = [];
  const stack = [];
  for (const [index, found] of all.entries()) {
    const next = all.slice(index + 1).find((other) => other.indent <= found.indent);
    const last = (next?.line ?? lines.length) - 1;
    const symbol = {
      name: found.name,
      kind: found.kind === "class" ? 5 : stack.length > 0 ? 6 : 12,
      range: rangeAt(text, found.start, starts[last] + lines[last].length, encoding),
      selectionRange: rangeAt(text, found.at, found.at + found.name.length, encoding),
      children: [],
    };
    while (stack.length > 0 && stack.at(-1).indent >= found.indent) stack.pop();
    symbol.kind = found.kind === "class" ? 5 : stack.length > 0 ? 6 : 12;
    (stack.at(-1)?.symbol.children ?? roots).push(symbol);
    stack.push({ indent: found.indent, symbol });
  }
  return roots;
}

/** A text with content changes of didChange made, one after the other. */
export function changed(text, changes, encoding) {
  return changes.reduce((now, change) => {
    if (change.range === undefined) return change.text;
    const start = offsetAt(now, change.range.start, encoding);
    return now.slice(0, start) + change.text + now.slice(offsetAt(now, change.range.end, encoding));
  }, text);
}
