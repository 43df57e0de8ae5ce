import { describe, expect, test } from "vitest";
import { diffLines, type Edit, lineMap, merge3, splitLines } from "../../../src/daemon/history/index.ts";
import { sameLine, sliceLines } from "../../../src/daemon/history/lines.ts";
import { chance } from "../../helpers/random.ts";
import { scaled } from "../../helpers/scale.ts";
import { hasOneScript, smallestScripts } from "./scripts-count.ts";
import { randomEdit, randomText } from "./texts.ts";

const latin = (text: string) => Buffer.from(text, "latin1");
const shown = (edits: readonly Edit[]) => edits.map((e) => [e.aStart, e.aEnd, e.bStart, e.bEnd]);

/** `b` made from `a` by the hunks, with a check that they are in order and apart. */
function rebuild(a: Uint8Array, b: Uint8Array, edits: readonly Edit[]): string {
  const [from, to] = [splitLines(a), splitLines(b)];
  const parts: Uint8Array[] = [];
  let [i, j] = [0, 0];
  for (const edit of edits) {
    if (
      edit.aStart - i !== edit.bStart - j ||
      (edit !== edits[0] && edit.aStart === i) ||
      edit.aEnd + edit.bEnd === edit.aStart + edit.bStart
    )
      return "bad hunks";
    parts.push(sliceLines(from, i, edit.aStart), sliceLines(to, edit.bStart, edit.bEnd));
    [i, j] = [edit.aEnd, edit.bEnd];
  }
  parts.push(sliceLines(from, i, from.count));
  return Buffer.concat(parts).toString("latin1");
}

describe("the diff core", () => {
  test.each([
    ["equal", "a\nb\n", "a\nb\n", []],
    ["both empty", "", "", []],
    ["from nothing", "", "a\nb", [[0, 0, 0, 2]]],
    ["to nothing", "a\r\nb", "", [[0, 2, 0, 0]]],
    ["one line changed", "a\nb\nc\n", "a\nB\nc\n", [[1, 2, 1, 2]]],
    ["final newline", "a\nb", "a\nb\n", [[1, 2, 1, 2]]],
    ["line end", "a\nb\n", "a\r\nb\n", [[0, 1, 0, 1]]],
    ["lone CR is no line end", "a\rb\n", "a\rc\n", [[0, 1, 0, 1]]],
    ["U+2028, form feed, NEL are no line ends", "a\u0085b\fc\n", "a\u0085b\fd\n", [[0, 1, 0, 1]]],
    ["a repeated line inserted goes to the end of its run", "x\nx\ny\n", "x\nx\nx\ny\n", [[2, 2, 2, 3]]],
    ["a block inserted is placed as low as it goes", "{\n1\n}\n{\n3\n}\n", "{\n1\n}\n{\n2\n}\n{\n3\n}\n", [[4, 4, 4, 7]]],
  ])("%s", (_name, a, b, edits) => {
    expect(shown(diffLines(latin(a), latin(b)))).toEqual(edits);
  });

  test("rebuilds the new text exactly, is the smallest, and maps each kept line to its equal", () => {
    const random = chance("diff");
    for (let n = 0; n < scaled(1_500); n += 1) {
      const words = random.pick([2, 10, 100_000]);
      const a = randomText(random, random.pick([4, 40, 150]), words);
      const b = random.maybe(0.3) ? randomText(random, 40, words) : randomEdit(random, a, random.int(6), words);
      const edits = diffLines(latin(a), latin(b));
      expect(rebuild(latin(a), latin(b), edits)).toBe(b);
      const [from, to, map] = [splitLines(latin(a)), splitLines(latin(b)), lineMap(edits)];
      const wrong: number[] = [];
      let kept = 0;
      for (let line = 0; line < from.count; line += 1) {
        const now = map.after(line);
        if (now === undefined) continue;
        kept += 1;
        if (map.before(now) !== line || !sameLine(from, line, to, now)) wrong.push(line);
      }
      expect(wrong).toEqual([]);
      if (n % 5 === 0) expect(kept).toBe(smallestScripts(latin(a), latin(b)).kept);
      expect(to.count - kept).toBe(edits.reduce((sum, edit) => sum + edit.bEnd - edit.bStart, 0));
    }
  });

  test("the second of three identical lines stays the second while others change around it", () => {
    const map = lineMap(diffLines(latin("top\nx\nx\nx\nend\n"), latin("new\ntop\nx\nx\nx\nEND\n")));
    expect([0, 1, 2, 3, 4].map((line) => map.after(line))).toEqual([1, 2, 3, 4, undefined]);
    expect([0, 1, 2, 3, 4, 5].map((line) => map.before(line))).toEqual([undefined, 0, 1, 2, 3, undefined]);
  });

  test("the counter of smallest scripts tells one from several", () => {
    expect(hasOneScript(latin("a\nb\n"), latin("b\nc\n"))).toBe(true);
    expect(hasOneScript(latin("a\n"), latin("a\na\n"))).toBe(false);
    expect(hasOneScript(latin("a\nb\n"), latin("b\na\n"))).toBe(false);
  });
});

describe("three-way merge of texts", () => {
  test("a side left alone yields to the other, the verdict does not depend on who is who, and equal sides are clean", () => {
    const random = chance("merge properties");
    for (let n = 0; n < scaled(1_500); n += 1) {
      const words = random.pick([2, 10, 100_000]);
      const base = randomText(random, 40, words);
      const [x, y] = [randomEdit(random, base, random.int(5), words), randomEdit(random, base, random.int(5), words)];
      const merged = (b: string, o: string, t: string) => {
        const result = merge3(latin(b), latin(o), latin(t));
        return result.clean ? Buffer.from(result.bytes).toString("latin1") : "conflict";
      };
      expect(merged(base, x, base)).toBe(x);
      expect(merged(base, base, x)).toBe(x);
      expect(merged(base, x, x)).toBe(x);
      expect(merged(base, x, y)).toBe(merged(base, y, x));
    }
  });

  test("a conflict names the lines of each side", () => {
    expect(merge3(latin("a\nb\nc\nd\n"), latin("new\na\nB\nc\nd\n"), latin("a\nc\nd"))).toEqual({
      clean: false,
      hunks: [
        {
          baseStart: 2,
          baseEnd: 2,
          oursStart: 3,
          oursEnd: 3,
          theirsStart: 2,
          theirsEnd: 1,
          base: "b\n",
          ours: "B\n",
          theirs: "",
        },
      ],
    });
  });
});

describe("cost", () => {
  const timed = (a: string, b: string) => {
    const [from, to] = [latin(a), latin(b)];
    const started = performance.now();
    const edits = diffLines(from, to);
    return { ms: performance.now() - started, ok: rebuild(from, to, edits) === b };
  };
  const random = chance("diff cost");
  const text = (lines: number, words: number, tag: string) =>
    Array.from({ length: lines }, () => `line ${tag}${random.int(words)} of some code\n`).join("");

  // The figures are 50 ms and 1 s; a test fails at five times them.
  test.each([
    ["nothing shared", text(5_000, 1e9, "a"), text(5_000, 1e9, "b"), 250],
    ["50 lines shuffled", text(5_000, 50, ""), text(5_000, 50, ""), 250],
    ["two lines shuffled", text(5_000, 2, ""), text(5_000, 2, ""), 250],
    ["half shared, shuffled", text(5_000, 5_000, ""), text(5_000, 5_000, ""), 250],
    ["5 MB nothing shared", text(200_000, 1e9, "a"), text(200_000, 1e9, "b"), 5_000],
    ["5 MB of 1,000 lines shuffled", text(200_000, 1_000, ""), text(200_000, 1_000, ""), 5_000],
  ])("unlike files never cost quadratic time: %s", (_name, a, b, limit) => {
    const { ms, ok } = timed(a, b);
    expect(ok).toBe(true);
    expect(ms).toBeLessThan(limit);
  });

  test("past the cost cap, lines unique on both sides still hold the diff together", () => {
    const section = (n: number) => `unique ${n}\n${Array.from({ length: 400 }, () => `w${random.int(3)}\n`).join("")}`;
    const a = Array.from({ length: 40 }, (_, n) => section(n)).join("");
    const b = Array.from({ length: 40 }, (_, n) => section(n)).join("");
    const edits = diffLines(latin(a), latin(b));
    expect(rebuild(latin(a), latin(b), edits)).toBe(b);
    const map = lineMap(edits);
    expect(Array.from({ length: 40 }, (_, n) => map.after(n * 401))).toEqual(Array.from({ length: 40 }, (_, n) => n * 401));
  });
});
