import { RE2JS } from "re2js";
import { GinError } from "../base/index.ts";
import { PATTERN_UNITS } from "./limits.ts";
import { GIVEN_UP, LineDfa, NONE, type Program } from "./line-dfa.ts";
import { compileRe2 } from "./re2.ts";
import type { SearchText } from "./text.ts";
import type { LinePattern } from "./types.ts";

/** Units scanned between two looks at other work: well under a millisecond. */
const SLICE_UNITS = 64 * 1024;

/** Told of each line that matches: its units without the line's end. False ends the look at this text. */
export type OnLine = (start: number, end: number) => boolean;

/** What finds the lines of a text that match. */
export interface LineMatcher {
  /** Goes through a text in small steps, telling of each matching line in order. */
  scan(text: SearchText, onLine: OnLine): Generator<undefined, void>;
  /** Unit at which the first match of a matching line begins. */
  start(line: string): number;
}

/** Makes a pattern ready: RE2's syntax in every mode. Throws INVALID_REGEX, INVALID_REQUEST for one that is too long. */
export function compileLines(pattern: LinePattern): LineMatcher {
  if (pattern.pattern.length > PATTERN_UNITS) {
    throw new GinError("INVALID_REQUEST", `the pattern is longer than ${PATTERN_UNITS} characters`, "use a shorter pattern");
  }
  if (pattern.literal && !pattern.caseInsensitive) return new LiteralMatcher(pattern.pattern);
  return new RegexMatcher(compile(pattern));
}

function compile({ pattern, literal, caseInsensitive }: LinePattern): RE2JS {
  const then = /[()[\]{}*+?]/.test(pattern)
    ? "escape what is meant as it stands, or set literal to true"
    : "RE2 has no look-around and no back-references";
  return compileRe2(literal ? RE2JS.quote(pattern) : pattern, caseInsensitive ? RE2JS.CASE_INSENSITIVE : 0, then);
}

/** A text as it stands: no expression at all. */
class LiteralMatcher implements LineMatcher {
  readonly #needle: string;

  constructor(needle: string) {
    this.#needle = needle;
  }

  *scan({ text }: SearchText, onLine: OnLine): Generator<undefined, void> {
    // Lines hold no line end, and CRLF is one.
    if (this.#needle.includes("\n")) return;
    let pause = SLICE_UNITS;
    for (let at = text.indexOf(this.#needle); at !== -1; ) {
      const end = lineEnd(text, at + this.#needle.length);
      if (!onLine(lineStart(text, at), end)) return;
      if (end >= text.length) return;
      if (end > pause) {
        yield;
        pause = end + SLICE_UNITS;
      }
      at = text.indexOf(this.#needle, end);
    }
  }

  start(line: string): number {
    return line.indexOf(this.#needle);
  }
}

/** An expression: the automaton finds lines that may match, re2js decides. */
class RegexMatcher implements LineMatcher {
  readonly #regex: RE2JS;
  readonly #dfa: LineDfa | undefined;
  /** Text that every match begins with; "" when there is none. */
  readonly #prefix: string;
  #givenUp = false;

  constructor(regex: RE2JS) {
    this.#regex = regex;
    const { prog, prefix } = compiledOf(regex);
    this.#dfa = LineDfa.of(prog);
    // A text with a line end is in no line.
    this.#prefix = prefix.includes("\n") ? "" : prefix;
  }

  *scan(whole: SearchText, onLine: OnLine): Generator<undefined, void> {
    const dfa = this.#dfa;
    if (dfa === undefined || dfa.everyLine || this.#givenUp) {
      yield* this.#each(whole, 0, onLine);
      return;
    }
    if (this.#prefix !== "") {
      yield* this.#fromPrefix(whole, dfa, onLine);
      return;
    }
    const { text, ascii } = whole;
    const sure = dfa.exact && ascii;
    dfa.restart();
    let pause = SLICE_UNITS;
    for (let from = 0; from < text.length; ) {
      const to = Math.min(text.length, pause);
      const found = dfa.scan(text, from, to);
      if (found === GIVEN_UP) {
        this.#givenUp = true;
        yield* this.#each(whole, lineStart(text, from), onLine);
        return;
      }
      if (found === NONE) from = to;
      else {
        const start = lineStart(text, found);
        const end = lineEnd(text, found);
        if ((sure || this.#regex.test(text.slice(start, end))) && !onLine(start, end)) return;
        from = end + 1;
      }
      if (from >= pause) {
        pause = from + SLICE_UNITS;
        yield;
        // The automaton is this search's own, and one text is looked through after the other: its state stands.
      }
    }
  }

  /** Every match begins with a text: only lines that have it are looked at, from there on. */
  *#fromPrefix(whole: SearchText, dfa: LineDfa, onLine: OnLine): Generator<undefined, void> {
    const { text, ascii } = whole;
    const sure = dfa.exact && ascii;
    let pause = SLICE_UNITS;
    for (let at = text.indexOf(this.#prefix); at !== -1; ) {
      const end = lineEnd(text, at);
      dfa.restart();
      const found = dfa.scan(text, at, end);
      if (found === GIVEN_UP) {
        this.#givenUp = true;
        yield* this.#each(whole, lineStart(text, at), onLine);
        return;
      }
      const start = found === NONE ? end : lineStart(text, at);
      if (found !== NONE && (sure || this.#regex.test(text.slice(start, end))) && !onLine(start, end)) return;
      if (end >= pause) {
        yield;
        pause = end + SLICE_UNITS;
      }
      at = text.indexOf(this.#prefix, end);
    }
  }

  start(line: string): number {
    const matcher = this.#regex.matcher(line);
    return matcher.find() ? matcher.start() : 0;
  }

  /** Line by line, for patterns that the automaton is no help with. */
  *#each({ text, ascii }: SearchText, from: number, onLine: OnLine): Generator<undefined, void> {
    const sure = ascii && this.#dfa?.everyLine === true && this.#dfa.exact;
    let pause = from + SLICE_UNITS / 16;
    for (let start = from; start < text.length; ) {
      const end = lineEnd(text, start);
      if ((sure || this.#regex.test(text.slice(start, end))) && !onLine(start, end)) return;
      start = end + 1;
      if (start > pause) {
        pause = start + SLICE_UNITS / 16;
        yield;
      }
    }
  }
}

/** What re2js compiled; its declarations keep it to themselves. A test holds the automaton to what re2js answers. */
function compiledOf(regex: RE2JS): { readonly prog: Program; readonly prefix: string } {
  return (regex as unknown as { re2Input: { prog: Program; prefix: string } }).re2Input;
}

function lineStart(text: string, at: number): number {
  return at === 0 ? 0 : text.lastIndexOf("\n", at - 1) + 1;
}

function lineEnd(text: string, at: number): number {
  const end = text.indexOf("\n", at);
  return end === -1 ? text.length : end;
}
