import { afterAll, describe, expect, it } from "vitest";
import { createDiffer } from "../../../src/daemon/history/index.ts";
import { reverseText, type TextReversal } from "../../../src/daemon/history/undo/reverse-text.ts";
import { chance } from "../../helpers/random.ts";
import { scaled } from "../../helpers/scale.ts";

const differ = createDiffer();
afterAll(() => differ.close());

const text = (lines: string): Buffer => Buffer.from(lines.replaceAll(" ", "\n"), "latin1");
const lines = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1").replaceAll("\n", " ");

function reversed(before: string, made: string, ...later: string[]): Promise<TextReversal> {
  return reverseText(differ, text(before), text(made), later.map(text));
}

/** The lines that are left, or the lines of the conflicts at head: "4-5" from 1, "4-3" is the place before line 4. */
async function outcome(before: string, made: string, ...later: string[]): Promise<string> {
  const result = await reversed(before, made, ...later);
  if (result.clean) return lines(result.bytes);
  if (result.conflict !== "content") return result.conflict;
  return `conflict ${result.regions.map(({ nowStart, nowEnd }) => `${nowStart + 1}-${nowEnd}`).join(" ")}`;
}

describe("what counts as inside a reversed hunk", () => {
  it.each([
    ["a line beside a changed line", "a b c d ", "a X c d ", "a X C d ", "a b C d "],
    ["a line before a changed line", "a b c d ", "a X c d ", "A X c d ", "A b c d "],
    ["an insertion right before it", "a b c ", "a X c ", "a N X c ", "a N b c "],
    ["an insertion right after it", "a b c ", "a X c ", "a X N c ", "a b N c "],
    ["insertions at both edges", "a b c ", "a X Y c ", "a N X Y M c ", "a N b M c "],
    ["a line beside a place where lines were taken away", "a b c d ", "a c d ", "A c d ", "A b c d "],
    ["an insertion where lines were taken away: they come back before it", "a b c ", "a c ", "a N c ", "a b N c "],
    ["lines around an insertion", "a b ", "a X b ", "A X B ", "A B "],
    ["the same line taken back already", "a b c ", "a X c ", "N a b c ", "N a b c "],
    ["some of the inserted lines are gone", "a b ", "a X Y Z b ", "a X Z b ", "a b "],
    ["all of them and a neighbour are gone", "a b c ", "a X b c ", "a c ", "a c "],
  ])("%s is not", async (_name, before, made, now, left) => {
    expect(await outcome(before, made, now)).toBe(left);
  });

  it.each([
    ["a later line in place of one", "a b c ", "a X c ", "a Y c ", "2-2"],
    ["a later line between two", "a b c ", "a X Y c ", "a X N Y c ", "2-4"],
    ["a later line in place of one and its neighbour", "a b c d ", "a X c d ", "a N d ", "2-2"],
    ["a changed line that somebody took away", "a b c ", "a X c ", "a c ", "2-1"],
    ["a later change around a place where lines were taken away", "a b c ", "a c ", "N ", "1-1"],
    ["a line that ends otherwise now", "a b c ", "a X c ", "a X\r c ", "2-2"],
    ["two of them, each by itself", "a b c d e ", "a X c Y e ", "a 1 c 2 e ", "2-2 4-4"],
  ])("%s is", async (_name, before, made, now, at) => {
    expect(await outcome(before, made, now)).toBe(`conflict ${at}`);
  });
});

it("a last line without its end never runs into another line", async () => {
  expect(await outcome("a b", "a ", "a c ")).toBe("a c b");
  expect(await outcome("a b c", "a b ", "a b ", "N b ")).toBe("N b c");
  expect(await outcome("a b", "a X ", "a X c ")).toBe("conflict 2-2");
  expect(await outcome("a b ", "a ", "A")).toBe("conflict 2-1");
});

it("what came and went in between does not count", async () => {
  expect(await outcome("a b c ", "a X c ", "a Y c ", "a X c ", "a X c d ")).toBe("a b c d ");
  expect(await outcome("a b c ", "a X c ", "a b c ", "a X c ")).toBe("a b c ");
});

it("follows step by step where the ends alone could not tell equal lines apart", async () => {
  // The last two texts alone read as if the undone line had moved; every step by itself is plain.
  const before = "{ } { } { } ";
  const made = "{ } { new } { } ";
  const later = ["{ } { new } { } { } ", "{ } { } { new } { } { } ", "{ } { } { } { new } { } { } "];
  expect(await outcome(before, made, ...later)).toBe("{ } { } { } { } { } { } ");
  expect(await outcome("a b ", "a x b ", "a N x b ", "a x N x b ")).toBe("a x N b ");
  expect(await outcome("a b ", "a x b ", "a x N x b ")).toBe("a N x b ");
});

it("gives the later texts without the undone work, for what is taken back next", async () => {
  const result = await reversed("a b c ", "a X c ", "a X c d ", "0 a X c d ");
  expect(result.clean && [lines(result.bytes), ...result.later.map(lines)]).toEqual(["0 a b c d ", "a b c d "]);
});

it("text that is none, or too large, is said so", async () => {
  const nul = Buffer.from("a\0b");
  expect(await reverseText(differ, nul, text("a "), [text("b ")])).toMatchObject({ clean: false, conflict: "binary" });
  const large = Buffer.alloc(9 * 1024 * 1024, "x\n");
  expect(await reverseText(differ, text("a "), large, [text("b ")])).toMatchObject({ clean: false, conflict: "too_large" });
});

it("edits that leave a line between them, or insert at an edge, always come back; edits of the same line never do", async () => {
  const random = chance("undo hunks");
  const counts = { apart: 0, edges: 0, overlapping: 0 };
  for (let round = 0; round < scaled(2_000); round += 1) {
    const common = random.pick([0, 0.3, 0.7]);
    let serial = 0;
    const line = (): string => (random.maybe(common) ? random.pick(["", "}", "x"]) : `l${++serial}`);
    const before = Array.from({ length: 6 + random.int(20) }, (_, index) => (index % 2 === 0 ? `fence${index}` : line()));
    // The undone change: some odd lines become new ones; the later one: other odd lines do, or lines come in at an edge.
    const mine = new Set<number>();
    const made = before.map((each, index) => {
      if (index % 2 === 0 || !random.maybe(0.3)) return each;
      mine.add(index);
      return `mine${index}`;
    });
    const theirs = (index: number): boolean => index % 2 === 1 && !mine.has(index);
    let edge = false;
    const later = (from: readonly string[]): string[] =>
      from.flatMap((each, index) => {
        const own = chosen[index];
        if (own === undefined) return [each];
        return own.how === "change" ? [own.line] : own.how === "before" ? [own.line, each] : [each, own.line];
      });
    const chosen = before.map((_, index) => {
      if (theirs(index) && random.maybe(0.3)) return { how: "change", line: `theirs${index}` };
      if (mine.has(index) && random.maybe(0.2)) {
        edge = true;
        return { how: random.pick(["before", "after"]), line: `theirs at ${index}` };
      }
      return undefined;
    });
    const join = (all: readonly string[]): Buffer => Buffer.from(all.map((each) => `${each}\n`).join(""));
    const result = await reverseText(differ, join(before), join(made), [join(later(made))]);
    const label = `seed ${random.seed}, round ${round}`;
    expect([label, result.clean && Buffer.from(result.bytes).toString()]).toEqual([label, join(later(before)).toString()]);
    counts[edge ? "edges" : "apart"] += 1;
    const [first] = mine;
    if (first === undefined) continue;
    const now = later(made).map((each) => (each === `mine${first}` ? "overlapping" : each));
    const refused = await reverseText(differ, join(before), join(made), [join(now)]);
    expect([label, refused.clean]).toEqual([label, false]);
    counts.overlapping += 1;
  }
  console.log(`undo hunks: ${JSON.stringify(counts)}`);
});
