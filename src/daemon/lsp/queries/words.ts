/** What a word of a program is made of; a word that is asked about may hold other characters as well ("--main-color", "#private"). */
const WORDY = /[\p{L}\p{M}\p{N}_$]/u;

/** The characters, from 1 in code points, at which a line holds a word: as a whole, not within a longer one. */
export function wordAt(line: string, word: string): readonly number[] {
  const found: number[] = [];
  if (word === "") return found;
  for (let at = line.indexOf(word); at >= 0; at = line.indexOf(word, at + word.length)) {
    if (isWhole(line, at, word)) found.push([...line.slice(0, at)].length + 1);
  }
  return found;
}

/** The word around a character of a line, from 1 in code points, or just before it; "" where there is none. */
export function wordAround(line: string, character: number): string {
  const offset = [...line].slice(0, character - 1).join("").length;
  for (const found of line.matchAll(/[\p{L}\p{M}\p{N}_$]+/gu)) {
    if (found.index > offset) return "";
    if (offset <= found.index + found[0].length) return found[0];
  }
  return "";
}

/** The words of a line. */
export function wordsOf(line: string): readonly string[] {
  return line.match(/[\p{L}\p{M}\p{N}_$]+/gu) ?? [];
}

/** Whether what stands at an offset is bounded by something that is no part of it. */
export function isWhole(text: string, at: number, word: string): boolean {
  const first = String.fromCodePoint(word.codePointAt(0) ?? 0);
  const last = [...word.slice(-2)].at(-1) ?? "";
  return (
    !(WORDY.test(first) && WORDY.test(before(text, at))) && !(WORDY.test(last) && WORDY.test(behind(text, at + word.length)))
  );
}

function before(text: string, at: number): string {
  return [...text.slice(Math.max(0, at - 2), at)].at(-1) ?? "";
}

function behind(text: string, at: number): string {
  return [...text.slice(at, at + 2)][0] ?? "";
}
