import type { Encoding } from "../session/types.ts";

/** Distance of the marks in a text, in UTF-16 code units. */
const STEP = 1_024;

/** Where a count of units leads in a text. */
export interface Reached {
  /** Offset in UTF-16 code units, never inside of a character. */
  readonly at: number;
  /** "inside" of the character at `at`, or "beyond" the end. */
  readonly how: "exact" | "inside" | "beyond";
}

/**
 * Counts a text's characters in the units of an encoding; "utf-32" are code points. A long line costs no more than a short one: the counts up to every
 * thousandth unit are kept, once asked for. The text must be whole Unicode.
 */
export class Units {
  readonly #text: string;
  #ascii: boolean | undefined;
  readonly #marks: { [encoding in Encoding]?: Uint32Array } = {};

  constructor(text: string) {
    this.#text = text;
  }

  /** Units between two offsets on characters' bounds. */
  count(from: number, to: number, encoding: Encoding): number {
    if (this.#even(encoding)) return to - from;
    if (to - from <= STEP) return this.#sum(from, to, encoding);
    return this.#before(to, encoding) - this.#before(from, encoding);
  }

  /** The offset that many units behind `from`, at most `to`. */
  reach(from: number, to: number, units: number, encoding: Encoding): Reached {
    if (this.#even(encoding)) {
      const at = from + units;
      if (at > to) return { at: to, how: "beyond" };
      return encoding === "utf-16" && at < to && isTrail(this.#text, at) ? { at: at - 1, how: "inside" } : { at, how: "exact" };
    }
    // Where a mark may be nearer than `from`, it is walked from there.
    const near = units <= STEP ? { at: from, left: units } : this.#near(from, to, units, encoding);
    let { at, left } = near;
    // The second half of a pair weighs nothing, so that the walk never ends before it.
    for (; at < to && weight(this.#text, at, encoding) <= left; at++) left -= weight(this.#text, at, encoding);
    return { at, how: left === 0 ? "exact" : at === to ? "beyond" : "inside" };
  }

  /** The last mark at or before where a count of units leads, but not before `from`, and the units left from there. */
  #near(from: number, to: number, units: number, encoding: Encoding): { at: number; left: number } {
    const wanted = this.#before(from, encoding) + units;
    const marks = this.#marksOf(encoding);
    let low = Math.floor(from / STEP);
    let high = Math.floor(to / STEP);
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((marks[middle] ?? 0) <= wanted) low = middle;
      else high = middle - 1;
    }
    return low * STEP <= from ? { at: from, left: units } : { at: low * STEP, left: wanted - (marks[low] ?? 0) };
  }

  /** Whether each UTF-16 unit is one unit. */
  #even(encoding: Encoding): boolean {
    if (encoding === "utf-16") return true;
    this.#ascii ??= !/[^\x00-\x7f]/.test(this.#text);
    return this.#ascii;
  }

  #before(offset: number, encoding: Encoding): number {
    const mark = Math.floor(offset / STEP);
    return (this.#marksOf(encoding)[mark] ?? 0) + this.#sum(mark * STEP, offset, encoding);
  }

  #sum(from: number, to: number, encoding: Encoding): number {
    let sum = 0;
    for (let at = from; at < to; at++) sum += weight(this.#text, at, encoding);
    return sum;
  }

  #marksOf(encoding: Encoding): Uint32Array {
    const known = this.#marks[encoding];
    if (known !== undefined) return known;
    const { length } = this.#text;
    const marks = new Uint32Array(Math.floor(length / STEP) + 1);
    let sum = 0;
    for (let at = 0; at < length; at++) {
      if (at % STEP === 0) marks[at / STEP] = sum;
      sum += weight(this.#text, at, encoding);
    }
    if (length % STEP === 0) marks[length / STEP] = sum;
    this.#marks[encoding] = marks;
    return marks;
  }
}

/** Whether the second half of a surrogate pair stands there. */
export function isTrail(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  return unit >= 0xdc00 && unit <= 0xdfff;
}

/** Units of the character whose first half stands there; none for its second half. */
function weight(text: string, at: number, encoding: Encoding): number {
  const unit = text.charCodeAt(at);
  if (unit >= 0xdc00 && unit <= 0xdfff) return 0;
  if (encoding !== "utf-8" || unit < 0x80) return 1;
  if (unit < 0x800) return 2;
  return unit >= 0xd800 && unit <= 0xdbff ? 4 : 3;
}
