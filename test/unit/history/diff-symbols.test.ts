import { expect, test } from "vitest";
import { diffLines } from "../../../src/daemon/history/diff.ts";
import { sliceLines, splitLines } from "../../../src/daemon/history/lines.ts";
import { hashOf, type Reduced, reduce } from "../../../src/daemon/history/symbols.ts";
import { chance } from "../../helpers/random.ts";
import { scaled } from "../../helpers/scale.ts";
import { randomEdit, randomText } from "./texts.ts";

const whole = (text: Uint8Array) => {
  const lines = splitLines(text);
  return { lines, from: 0, to: lines.count };
};

/** What the numbers say, by the lines themselves. */
function told(text: Uint8Array, { symbols, places }: Reduced): [number, string][] {
  const lines = splitLines(text);
  return [...symbols].map((symbol, at) => {
    const line = places[at] ?? 0;
    return [symbol, Buffer.from(sliceLines(lines, line, line + 1)).toString("latin1")];
  });
}

/** Equal numbers are equal lines on both sides, and exactly the lines of both sides have one. */
function check(a: Buffer, b: Buffer): void {
  const [x, y] = reduce(whole(a), whole(b));
  const all = [...told(a, x), ...told(b, y)];
  const byNumber = new Map(all);
  const byLine = new Map(all.map(([symbol, line]) => [line, symbol]));
  for (const [symbol, line] of all) expect([byNumber.get(symbol), byLine.get(line)]).toEqual([line, symbol]);
  const linesOf = (text: Buffer) =>
    new Set(
      text
        .toString("latin1")
        .split(/(?<=\n)/)
        .filter(Boolean),
    );
  const both = [...linesOf(a)].filter((line) => linesOf(b).has(line));
  expect(new Set(byLine.keys())).toEqual(new Set(both));
}

test("lines of random texts become numbers, the same for the same bytes", () => {
  const random = chance("symbols");
  for (let n = 0; n < scaled(200); n += 1) {
    const words = random.pick([2, 10, 100_000]);
    const a = randomText(random, 60, words);
    check(Buffer.from(a, "latin1"), Buffer.from(randomEdit(random, a, 3, words), "latin1"));
  }
});

test("lines made to collide are told apart all the same, and do not make it slow", () => {
  const collide = (count: number, mask: number): string[] => {
    const found: string[] = [];
    for (let n = 0; found.length < count; n += 1) {
      const text = `line ${n}\n`;
      if ((hashOf(splitLines(Buffer.from(text)), 0) & mask) === 0) found.push(text);
    }
    return found;
  };
  const lines = collide(200, 0x1ff);
  check(Buffer.from(lines.join("")), Buffer.from([...lines].reverse().join("")));
  // Enough of them that walking from one to the next would be seen: quadratic, it takes minutes.
  const many = Array.from({ length: 400_000 }, (_, n) => lines[n % 200] ?? "");
  const started = performance.now();
  const edits = diffLines(Buffer.from(many.join("")), Buffer.from(`x\n${many.join("")}`));
  expect(edits).toEqual([{ aStart: 0, aEnd: 0, bStart: 0, bEnd: 1 }]);
  expect(performance.now() - started).toBeLessThan(5_000);
});

test("splitting into lines keeps every byte, whatever the lengths", () => {
  const random = chance("split");
  for (let n = 0; n < scaled(200); n += 1) {
    const text = Buffer.from(
      Array.from({ length: random.int(200) }, () => random.pick(["\n", "\n\n\n", "a", "\r", "long ".repeat(20)])).join(""),
    );
    const lines = splitLines(text);
    const parts = Array.from({ length: lines.count }, (_, at) => Buffer.from(sliceLines(lines, at, at + 1)).toString());
    expect(parts).toEqual(
      text
        .toString()
        .split(/(?<=\n)/)
        .filter(Boolean),
    );
    expect([...lines.starts]).toHaveLength(lines.count + 1);
  }
});
