import type { Chance } from "../../helpers/random.ts";
import type { Triple } from "./git-merge.ts";

/** Oddities a merge must carry through untouched; texts here have one character a byte. */
const ODD = ["", "\r", "\f", "\xe2\x80\xa8", "\xef\xbb\xbf", "}", "  ", "\xe9"];

/** One line of a vocabulary of `words` lines: few words make lines repeat. Mostly LF, some CRLF. Latin-1 bytes among them are not UTF-8. */
function line(chance: Chance, words: number): string {
  const end = chance.maybe(0.1) ? "\r\n" : "\n";
  return chance.maybe(0.05) ? chance.pick(ODD) + end : `w${chance.int(words)}${chance.maybe(0.02) ? "\xe9" : ""}${end}`;
}

/** A text of up to `lines` lines; one in eight lacks its final newline. */
export function randomText(chance: Chance, lines: number, words: number): string {
  const text = Array.from({ length: chance.int(lines + 1) }, () => line(chance, words)).join("");
  return chance.maybe(0.125) ? text.replace(/\r?\n$/, "") : text;
}

/** The text with `edits` random edits: lines removed, inserted, replaced, moved, a line end changed, the final newline toggled. */
export function randomEdit(chance: Chance, text: string, edits: number, words: number): string {
  let lines: string[] = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  for (let n = 0; n < edits; n += 1) {
    const at = chance.int(lines.length + 1);
    const some = Array.from({ length: 1 + chance.int(3) }, () => line(chance, words));
    const kind = chance.int(12);
    if (kind < 4) lines.splice(at, 1 + chance.int(3), ...some);
    else if (kind < 7) lines.splice(at, 0, ...some);
    else if (kind < 9) lines.splice(at, 1 + chance.int(3));
    else if (kind === 9) lines.splice(chance.int(lines.length + 1), 0, ...lines.splice(at, 1 + chance.int(4)));
    else if (kind === 10)
      lines = lines.map((one, index) => (index === at ? one.replace(/\r?\n$/, one.endsWith("\r\n") ? "\n" : "\r\n") : one));
    else lines = [lines.join("").replace(/\n?$/, chance.maybe(0.5) ? "\n" : "")];
    lines = lines.join("").match(/[^\n]*\n|[^\n]+$/g) ?? [];
  }
  return lines.join("");
}

/** A base and two versions of it; now and then both sides share an edit. */
export function randomTriple(chance: Chance): Triple {
  const words = chance.pick([3, 12, 60, 1_000_000, 1_000_000, 1_000_000]);
  const base = randomText(chance, chance.pick([3, 12, 40, 120]), words);
  const start = chance.maybe(0.25) ? randomEdit(chance, base, 1 + chance.int(2), words) : base;
  const ours = randomEdit(chance, start, chance.int(4), words);
  const theirs = randomEdit(chance, start, chance.int(4), words);
  return { base: Buffer.from(base, "latin1"), ours: Buffer.from(ours, "latin1"), theirs: Buffer.from(theirs, "latin1") };
}
