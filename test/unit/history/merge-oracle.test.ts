import { expect, test } from "vitest";
import { merge3 } from "../../../src/daemon/history/index.ts";
import { chance } from "../../helpers/random.ts";
import { scaled } from "../../helpers/scale.ts";
import { type GitVerdict, gitMergeAll, type Triple } from "./git-merge.ts";
import { hasOneScript } from "./scripts-count.ts";
import { randomTriple } from "./texts.ts";

/** Verdict, and the bytes of a clean merge, in a form that compares and prints. */
const ofGit = (git: GitVerdict) => (git.clean ? git.bytes.toString("latin1") : "conflict");
const ofGin = ({ base, ours, theirs }: Triple) => {
  const merged = merge3(base, ours, theirs);
  return merged.clean ? Buffer.from(merged.bytes).toString("latin1") : "conflict";
};
const print = ({ base, ours, theirs }: Triple) => JSON.stringify([base, ours, theirs].map((text) => text.toString("latin1")));

/** Two halves at once: one for each core of a small machine. */
async function gitMerge(cases: readonly Triple[]): Promise<GitVerdict[]> {
  const half = cases.length >> 1;
  const halves = await Promise.all([gitMergeAll(cases.slice(0, half)), gitMergeAll(cases.slice(half))]);
  return halves.flat();
}

test("verdict and bytes are git merge-file's wherever only one smallest script exists, and nearly always elsewhere", async () => {
  const random = chance("merge oracle");
  const cases = Array.from({ length: scaled(2_500) }, () => randomTriple(random));
  const git = await gitMerge(cases);
  const wrong: string[] = [];
  let ambiguous = 0;
  cases.forEach((triple, index) => {
    const expected = ofGit(git[index] as GitVerdict);
    if (ofGin(triple) === expected) return;
    // Repeated lines can be paired in several equally small ways; git and the diff core may pick different ones, and both are right.
    if (hasOneScript(triple.base, triple.ours) && hasOneScript(triple.base, triple.theirs)) wrong.push(print(triple));
    else ambiguous += 1;
  });
  const clean = git.filter((verdict) => verdict.clean).length;
  console.log(
    `merge oracle: ${cases.length} cases, ${clean} clean, ${wrong.length} wrong, ${ambiguous} differ where scripts are ambiguous`,
  );
  expect(wrong).toEqual([]);
  expect(ambiguous / cases.length).toBeLessThan(0.01);
  expect(clean).toBeGreaterThan(cases.length / 4);
  expect(clean).toBeLessThan((cases.length * 3) / 4);
});

test("edge cases: line ends, final newlines, odd characters and adjacency are judged as git does", async () => {
  const text = (value: string) => Buffer.from(value, "latin1");
  const named: Record<string, readonly [string, string, string]> = {
    "nothing anywhere": ["", "", ""],
    "empty base, same addition": ["", "a\n", "a\n"],
    "empty base, two additions": ["", "a\n", "b\n"],
    "one side emptied, the other kept": ["a\nb\n", "", "a\nb\n"],
    "one side emptied, the other changed": ["a\nb\n", "", "a\nc\n"],
    "final newline added by one": ["a\nb", "a\nb\n", "a\nb"],
    "final newline added by one, line changed by the other": ["a\nb", "a\nb\n", "a\nc"],
    "final newline removed, first line changed": ["a\nb\nc\n", "a\nb\nc", "x\nb\nc\n"],
    "both add the final newline": ["a\nb", "a\nb\n", "a\nb\n"],
    "append by both": ["a\n", "a\nb\n", "a\nc\n"],
    "append against a base without final newline": ["a\nb\nc", "a\nb\nc\nd", "x\nb\nc"],
    "CRLF kept, disjoint changes": ["a\r\nb\r\nc\r\nd\r\n", "x\r\nb\r\nc\r\nd\r\n", "a\r\nb\r\nc\r\ny\r\n"],
    "all line ends changed by one, a line by the other": ["a\r\nb\r\nc\r\n", "a\nb\nc\n", "a\r\nB\r\nc\r\n"],
    "one line end changed, another line changed": ["a\nb\nc\nd\n", "a\r\nb\nc\nd\n", "a\nb\nc\nx\n"],
    "lone CR is content": ["a\rb\nc\nd\n", "a\rB\nc\nd\n", "a\rb\nc\nx\n"],
    "U+2028 is content": ["a\xe2\x80\xa8b\nc\nd\n", "a\xe2\x80\xa8B\nc\nd\n", "a\xe2\x80\xa8b\nc\nx\n"],
    "BOM removed by one": ["\xef\xbb\xbfa\nb\nc\n", "a\nb\nc\n", "\xef\xbb\xbfa\nb\nx\n"],
    "form feed is content": ["a\n\fb\nc\nd\n", "A\n\fb\nc\nd\n", "a\n\fb\nc\nD\n"],
    "Latin-1 bytes survive": ["caf\xe9\nb\nc\nna\xefve\n", "caf\xe8\nb\nc\nna\xefve\n", "caf\xe9\nb\nc\nna\xeeve\n"],
    "adjacent changes": ["a\nb\nc\n", "A\nb\nc\n", "a\nB\nc\n"],
    "one line between": ["a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n"],
    "insertion at the edge of a change": ["a\nb\nc\n", "a\nnew\nb\nc\n", "a\nB\nc\n"],
    "insertions at one place": ["a\nb\n", "a\nx\nb\n", "a\ny\nb\n"],
    "same insertion at one place": ["a\nb\n", "a\nx\nb\n", "a\nx\nb\n"],
    "both delete the same": ["a\nb\nc\n", "a\nc\n", "a\nc\n"],
    "overlapping deletions": ["a\nb\nc\nd\ne\n", "a\nd\ne\n", "a\nb\ne\n"],
    "deletion against change": ["a\nb\nc\n", "a\nc\n", "a\nB\nc\n"],
    "same change beside a different one": ["a\nb\nc\nd\ne\n", "A\nb\nc\nD\ne\n", "A\nb\nc\nd\ne\n"],
    "a copy of a block inserted": ["{\n}\n{\n}\n", "{\n}\n{\n}\n{\n}\n", "{\nx\n}\n{\n}\n"],
  };
  const triples = Object.values(named).map(([base, ours, theirs]) => ({
    base: text(base),
    ours: text(ours),
    theirs: text(theirs),
  }));
  const git = await gitMergeAll(triples);
  const names = Object.keys(named);
  expect(Object.fromEntries(triples.map((triple, i) => [names[i], ofGin(triple)]))).toEqual(
    Object.fromEntries(git.map((verdict, i) => [names[i], ofGit(verdict)])),
  );
});
