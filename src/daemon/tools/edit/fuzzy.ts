import type { Binary } from "./text.ts";

/** Files above this are only matched exactly: looser matching walks every byte. */
export const FUZZY_BYTES = 8 * 1024 * 1024;

/** A text loosened for matching, and the way back. */
export interface Loose {
  readonly text: Binary;
  /** Offset in the original of a match's first byte. */
  start(offset: number): number;
  /** Offset in the original behind a match's last byte; `swallow` takes the blanks behind it too. */
  end(offset: number, swallow: boolean): number;
}

/** Typography that stands for a plain character, by its UTF-8 bytes. */
const PLAIN: ReadonlyMap<string, string> = new Map(
  (
    [
      ["'", [0x2018, 0x2019, 0x201a, 0x201b]],
      ['"', [0x201c, 0x201d, 0x201e, 0x201f]],
      ["-", [0x2010, 0x2011, 0x2012, 0x2013, 0x2014, 0x2015, 0x2212]],
      [" ", [0xa0, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200a, 0x202f, 0x205f, 0x3000]],
    ] as const
  ).flatMap(([plain, codes]) =>
    codes.map((code): [string, string] => [Buffer.from(String.fromCodePoint(code)).toString("latin1"), plain]),
  ),
);

const TYPOGRAPHY = /\xc2\xa0|\xe2[\x80\x81\x88][\x80-\xbf]|\xe3\x80\x80/g;

/** Quotes, dashes and blanks in their plain form; nothing else changes. */
export function plainTypography(text: Binary): Binary {
  return text.replace(TYPOGRAPHY, (found) => PLAIN.get(found) ?? found);
}

/** Without blanks at the end. */
export function trimEnd(text: Binary): Binary {
  let end = text.length;
  while (end > 0 && isBlank(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(0, end);
}

function isBlank(code: number): boolean {
  return code === 32 || code === 9;
}

/** Every line without blanks at its end, and typography plain. Linear. */
export function loosened(text: Binary): Binary {
  return plainTypography(text).split("\n").map(trimEnd).join("\n");
}

/** The same, with the way back. `text` has LFs only. */
export function loosen(text: Binary): Loose {
  const pieces: Binary[] = [];
  // Where the two stop running in step: offset in the loose text, offset in the original, end in the original of what is before.
  const at: number[] = [];
  const original: number[] = [];
  const before: number[] = [];
  let length = 0;
  const step = (place: number, from: number, end: number): void => {
    at.push(place);
    original.push(from);
    before.push(end);
  };
  for (let from = 0; from <= text.length; ) {
    const found = text.indexOf("\n", from);
    const to = found < 0 ? text.length : found;
    let copied = from;
    let lastEnd = from;
    const line: Binary[] = [];
    const steps: [number, number, number][] = [];
    let lineLength = 0;
    const piece = text.slice(from, to);
    if (/[\xc2\xe2\xe3]/.test(piece)) {
      for (const match of piece.matchAll(TYPOGRAPHY)) {
        const plain = PLAIN.get(match[0]);
        if (plain === undefined) continue;
        const start = from + match.index;
        line.push(text.slice(copied, start), plain);
        lineLength += start - copied + 1;
        copied = start + match[0].length;
        steps.push([lineLength, copied, copied]);
      }
    }
    line.push(text.slice(copied, to));
    const whole = line.length === 1 ? piece : line.join("");
    const trimmed = trimEnd(whole);
    for (const [place, next, end] of steps) {
      if (place > trimmed.length) break;
      step(length + place, next, end);
      lastEnd = end;
    }
    if (trimmed.length < whole.length) {
      const lastPlace = steps.findLast(([place]) => place <= trimmed.length);
      const end = lastPlace === undefined ? from + trimmed.length : lastEnd + (trimmed.length - lastPlace[0]);
      step(length + trimmed.length, to, end);
    }
    length += trimmed.length;
    pieces.push(trimmed);
    if (found < 0) break;
    pieces.push("\n");
    length += 1;
    from = to + 1;
  }
  const lookup = (offset: number): number => {
    let low = 0;
    let high = at.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((at[middle] ?? 0) <= offset) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  };
  const start = (offset: number): number => {
    const index = lookup(offset);
    return index < 0 ? offset : (original[index] ?? 0) + offset - (at[index] ?? 0);
  };
  return {
    text: pieces.join(""),
    start,
    end(offset, swallow) {
      if (swallow) return start(offset);
      const index = lookup(offset);
      return index >= 0 && at[index] === offset ? (before[index] ?? 0) : start(offset);
    },
  };
}
