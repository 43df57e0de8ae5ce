import fc from "fast-check";
import { RE2JS } from "re2js";
import { describe, expect, test } from "vitest";
import { compileLines } from "../../../src/daemon/search/line-matcher.ts";
import { shownText, textOf } from "../../../src/daemon/search/text.ts";
import type { LinePattern } from "../../../src/daemon/search/types.ts";
import { chance } from "../../helpers/random.ts";
import { scaled } from "../../helpers/scale.ts";

const RUNS = scaled(1_000);

/** Numbers of the lines that match, from 1. */
function found(pattern: string, text: string, over: Partial<LinePattern> = {}): number[] {
  const matcher = compileLines({ pattern, literal: false, caseInsensitive: false, ...over });
  const searched = textOf(Buffer.from(text));
  if (typeof searched === "string") throw new Error(searched);
  const lines: number[] = [];
  const steps = matcher.scan(searched, (start) => {
    lines.push(searched.text.slice(0, start).split("\n").length);
    return true;
  });
  while (steps.next().done !== true);
  return lines;
}

/** The same, line by line with re2js alone. */
function naive(pattern: string, text: string, caseInsensitive: boolean): number[] {
  const regex = RE2JS.compile(pattern, caseInsensitive ? RE2JS.CASE_INSENSITIVE : 0);
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines.flatMap((line, index) => (regex.test(line) ? [index + 1] : []));
}

describe("lines that match", () => {
  test("one dialect: RE2's, alternation, repetition, classes, anchors, flags in the pattern", () => {
    expect(found("a|b", "a\nc\nb\n")).toEqual([1, 3]);
    expect(found("^b$", "ab\nb\nbb")).toEqual([2]);
    expect(found("\\bfoo\\b", "foo\nfood\na foo b\n")).toEqual([1, 3]);
    expect(found("(?i)FOO", "foo\n")).toEqual([1]);
    expect(found("a{2}", "a\naa\n")).toEqual([2]);
    expect(found("\\d+x", "12x\nx\n")).toEqual([1]);
    expect(found("\\p{Cyrillic}", "a\nж\n")).toEqual([2]);
    expect(found("x*", "\na\n")).toEqual([1, 2]);
    expect(found("^$", "a\n\nb\n")).toEqual([2]);
    expect(found("\\Aa\\z", "a\nab\n")).toEqual([1]);
  });

  test("a match never spans lines", () => {
    expect(found("a\\sb", "a\nb\na b\n")).toEqual([3]);
    expect(found("a\nb", "a\nb\n")).toEqual([]);
    expect(found("(?s)a.b", "a\nb\n")).toEqual([]);
    expect(found("a\nb", "a\nb\n", { literal: true })).toEqual([]);
  });

  test("what is no RE2 expression is refused: unclosed, look-around, back-references, counts beyond RE2's", () => {
    for (const pattern of ["a(", "[z", "(?=a)", "(?<!a)b", "(a)\\1", "a{1001}", "*a", "((a{100}){100}){100}"])
      expect(() => found(pattern, "a"), pattern).toThrow(expect.objectContaining({ reason: "INVALID_REGEX" }));
  });

  test("a fixed text is no expression, in either case", () => {
    expect(found("a.b", "axb\na.b\n", { literal: true })).toEqual([2]);
    expect(found("A.B", "axb\na.b\n", { literal: true, caseInsensitive: true })).toEqual([2]);
    expect(found("$1", "$1\n", { literal: true })).toEqual([1]);
  });

  test("folding is Unicode's: the Kelvin sign is a k, the long s is an s, capitals beyond ASCII too", () => {
    expect(found("k", "\u212a\nK\n", { caseInsensitive: true })).toEqual([1, 2]);
    expect(found("S", "\u017f\n", { caseInsensitive: true, literal: true })).toEqual([1]);
    expect(found("ÄÖ", "äö\n", { caseInsensitive: true })).toEqual([1]);
  });

  test("a dot is one character of any length", () => {
    expect(found("^.$", "😀\né\nab\n")).toEqual([1, 2]);
    expect(found("^[^a]b$", "😀b\nab\n")).toEqual([1]);
  });

  test("line ends: LF and CRLF; a lone CR, form feed, U+2028 and NEL are content", () => {
    expect(found("a$", "a\r\nb\na\r\n")).toEqual([1, 3]);
    expect(found("^b", "a\rb\n")).toEqual([]);
    expect(found("^b", "a\u2028b\fb\u0085b\n")).toEqual([]);
    expect(found("b", "a\nb")).toEqual([2]);
    expect(found("a", "")).toEqual([]);
  });

  test("patterns that explode elsewhere take linear time, on 50 KiB lines too", () => {
    const from = performance.now();
    const long = `${"a".repeat(50 * 1024)}!`;
    for (const pattern of ["^(a+)+$", "(a|a)*b", "(a|aa)+$", "(.*)(.*)(.*)(.*)x", "a?a?a?a?a?a?a?a?aaaaaaaab", "(x+x+)+y"])
      expect(found(pattern, `${long}\n${long}\n`), pattern).toEqual([]);
    expect(performance.now() - from).toBeLessThan(5_000);
  });

  test("a pattern of more states than are kept finds the same", () => {
    const pattern = "[ab]*a[ab]{14}c";
    const dice = chance("many states");
    const lines = Array.from(
      { length: 3_000 },
      (_, at) => `${Array.from({ length: 40 }, () => dice.pick(["a", "b"])).join("")}${at % 7 === 0 ? "c" : ""}`,
    );
    expect(found(pattern, lines.join("\n"))).toEqual(naive(pattern, lines.join("\n"), false));
  });

  test("equals re2js line by line, for any pattern and text (property)", () => {
    const seed = chance("any pattern").int(2 ** 31);
    const atom = fc.constantFrom(
      "a",
      "b",
      "k",
      ".",
      "[ab]",
      "[^a]",
      "\\w",
      "\\s",
      "\\d",
      "é",
      "\\x{1F600}",
      "[à-ü]",
      "(?i:s)",
      "\\W",
    );
    const piece = fc.tuple(atom, fc.constantFrom("", "", "*", "+", "?", "{2}", "{1,3}", "*?")).map(([one, times]) => one + times);
    const branch = fc.array(piece, { minLength: 1, maxLength: 4 }).map((pieces) => pieces.join(""));
    const group = fc.oneof(
      branch,
      fc.tuple(branch, branch).map(([one, other]) => `(${one}|${other})`),
    );
    const edge = fc.constantFrom("", "", "^", "\\b", "\\B", "$");
    const pattern = fc.tuple(edge, group, branch, edge).map((parts) => parts.join(""));
    const text = fc
      .array(fc.constantFrom("a", "b", "k", "s", "1", " ", "\n", "\n", "\r\n", "é", "😀", "\u212a", "\u017f", "\u2028", "\r"), {
        maxLength: 40,
      })
      .map((parts) => parts.join(""));
    fc.assert(
      fc.property(pattern, text, fc.boolean(), (expression, content, caseInsensitive) => {
        // A CR before a CRLF would make another CRLF of what is left.
        fc.pre(!content.includes("\r\r\n"));
        expect(found(expression, content, { caseInsensitive })).toEqual(naive(expression, content, caseInsensitive));
      }),
      { seed, numRuns: RUNS },
    );
  });
});

describe("texts", () => {
  test("binary is a NUL within the first 8 KiB", () => {
    expect(textOf(Buffer.from(`${"a".repeat(8_191)}\0`))).toBe("binary");
    expect(textOf(Buffer.from(`${"a".repeat(8_192)}\0`))).not.toBe("binary");
  });

  test("UTF-8 with a mark, UTF-16 either way, and Latin-1 are read", () => {
    expect(textOf(Buffer.from("\ufeffabc"))).toEqual({ text: "abc", ascii: true });
    expect(textOf(Buffer.from("\ufeffäb\r\n", "utf16le"))).toEqual({ text: "äb\n", ascii: false });
    expect(textOf(Buffer.from("\ufeffäb", "utf16le").swap16())).toEqual({ text: "äb", ascii: false });
    expect(textOf(Buffer.from("gr\u00fc\u00df", "latin1"))).toEqual({ text: "grüß", ascii: false });
    expect(textOf(Buffer.from([0xff, 0xfe, 0x61]))).toEqual({ text: "", ascii: false });
    expect(textOf(Buffer.alloc(0))).toEqual({ text: "", ascii: true });
  });

  test("a line is cut at characters, with the match shown", () => {
    const line = (length: number) => "😀".repeat(length);
    expect(shownText(line(200))).toEqual({ text: line(200), cutBefore: 0, cutAfter: 0 });
    expect(shownText(line(201))).toEqual({ text: line(200), cutBefore: 0, cutAfter: 1 });
    const far = `${line(500)}x${line(500)}`;
    const shown = shownText(far, far.indexOf("x"));
    expect(shown).toEqual({ text: `${line(60)}x${line(139)}`, cutBefore: 440, cutAfter: 361 });
    const end = `${line(500)}x`;
    expect(shownText(end, end.length - 1)).toEqual({ text: `${line(199)}x`, cutBefore: 301, cutAfter: 0 });
  });
});
