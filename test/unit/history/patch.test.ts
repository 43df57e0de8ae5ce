import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Chance, chance } from "../../helpers/random.ts";
import { scaled } from "../../helpers/scale.ts";
import { atTeardown } from "../../helpers/teardown.ts";
import { diffModels, file, gitApply, type Held, link, type Model, readModel, shown } from "./patch-trees.ts";
import { randomEdit, randomText } from "./texts.ts";

/** Names git has to quote, to end with a tab, or could take for something else. */
const NAMES = [
  "plain.txt",
  "with blank.txt",
  "ends in a blank ",
  "folder ends in one /f",
  " starts with one",
  'quote".txt',
  "back\\slash",
  "tab\there",
  "line\nfeed",
  "bell\u0007",
  "del\u007f",
  "ümläut.txt",
  "日本語.md",
  "\u{1f600}",
  "b b b",
  "x b/x",
  "a/b/c",
  "a/b d/c",
  "-dash",
  "dev/null",
  "c.0",
  "crlf\r",
  "deep/er/and/deeper.txt",
  "deep/er.txt",
  "deep-er.txt",
];

/** A text as texts.ts makes them, in UTF-8: LF, CRLF, lone CR, form feed, U+2028, BOM, with or without a final newline. */
function utf8(text: string): Buffer {
  return Buffer.from(text.replaceAll("\xe9", "\xc3\xa9"), "latin1");
}

function randomHeld(random: Chance, words: number): Held {
  const kind = random.int(10);
  // None that leads to itself: where such a one becomes a folder, git apply itself stumbles over the loop.
  if (kind === 0) return link(random.pick(["elsewhere.txt", "../up", "nowhere at all", "two\nlines", "ends\n", "ü"]));
  const mode = kind === 1 ? "100755" : "100644";
  if (kind === 2) return { mode, bytes: Buffer.alloc(0) };
  return { mode, bytes: utf8(randomText(random, random.pick([3, 12, 60]), words)) };
}

function changed(random: Chance, held: Held, words: number): Held {
  const { mode, bytes } = held;
  if (mode === "120000" || random.maybe(0.1)) return randomHeld(random, words);
  const flipped = mode === "100755" ? "100644" : "100755";
  if (random.maybe(0.1)) return { mode: flipped, bytes };
  const text = utf8(randomEdit(random, bytes.toString("latin1"), 1 + random.int(4), words));
  return { mode: random.maybe(0.1) ? flipped : mode, bytes: text };
}

/** Whether a path can be there beside the others: none of them below it, and it below none. */
function fits(model: Model, path: string): boolean {
  return ![...model.keys()].some((other) => other === path || other.startsWith(`${path}/`) || path.startsWith(`${other}/`));
}

function randomPair(random: Chance): { a: Model; b: Model } {
  const words = random.pick([3, 20, 1_000_000]);
  const a = new Map<string, Held>();
  const add = (model: Map<string, Held>, held: Held) => {
    const name = random.pick(NAMES);
    const path = random.pick([name, name, `dir/${name}`, `${name}/below`, "dir", "plain.txt/x"]);
    if (fits(model, path)) model.set(path, held);
  };
  for (let n = random.int(8); n > 0; n -= 1) add(a, randomHeld(random, words));
  const b = new Map(a);
  for (const [path, held] of a) {
    const kind = random.int(8);
    if (kind < 4) b.set(path, changed(random, held, words));
    else if (kind < 6) b.delete(path);
    if (kind >= 5 && kind < 7) add(b, random.maybe(0.5) ? held : changed(random, held, words));
  }
  if (random.maybe(0.5)) add(b, randomHeld(random, words));
  return { a, b };
}

function scratch(): string {
  // In memory where there is such a place: thousands of small trees are written and read.
  const directory = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "gin-patch-"));
  atTeardown(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** What git made of our patch is the tree it was made for, byte by byte and mode by mode; else what went wrong. */
async function tryCases(cases: readonly { readonly a: Model; readonly b: Model; readonly context: number }[]): Promise<string[]> {
  const directory = scratch();
  const made = await Promise.all(
    cases.map(async ({ a, b, context }) => {
      const files = await diffModels(a, b, context);
      const noPatch = files.filter((one) => one.noPatch !== "").map((one) => `${one.path}: ${one.noPatch}`);
      const flags = context === 0 ? "--allow-empty --unidiff-zero" : "--allow-empty";
      return { before: a, patch: Buffer.concat(files.map((one) => one.patch)), flags, noPatch };
    }),
  );
  const said = await gitApply(directory, made);
  return cases.flatMap(({ a, b }, index) => {
    const problem = said[index] || made[index]?.noPatch.join(", ");
    const got = shown(readModel(join(directory, String(index))));
    const wanted = shown(b);
    if (problem === "" && JSON.stringify(got) === JSON.stringify(wanted)) return [];
    const patch = Buffer.from(made[index]?.patch ?? "").toString();
    return [`${problem}\n${JSON.stringify({ from: shown(a), to: wanted, got, patch }, undefined, 1)}`];
  });
}

test("git apply of our patch makes the new tree of the old one, exactly", { timeout: scaled(60_000) }, async () => {
  const random = chance("patches");
  const count = scaled(300);
  let changes = 0;
  for (let done = 0; done < count; done += 100) {
    const cases = Array.from({ length: Math.min(100, count - done) }, () => ({
      ...randomPair(random),
      context: random.pick([3, 3, 3, 0, 1, 2, 5, 1_000]),
    }));
    expect((await tryCases(cases)).slice(0, 3)).toEqual([]);
    for (const { a, b } of cases) changes += (await diffModels(a, b, 3)).length;
  }
  console.log(`patches: ${count} pairs of trees, ${changes} changed files`);
  expect(changes).toBeGreaterThan(count);
});

const named: Record<string, readonly [Record<string, Held>, Record<string, Held>]> = {
  "no final newline, before": [{ f: file("a\nb") }, { f: file("a\nb\n") }],
  "no final newline, after": [{ f: file("a\nb\n") }, { f: file("a\nb") }],
  "no final newline, on both sides": [{ f: file("a\nb\nc") }, { f: file("a\nB\nc") }],
  "an open last line goes, its likes stay": [{ f: file("b\na\na\na") }, { f: file("b\na\na\n") }],
  "a lone newline": [{ f: file("\n") }, { f: file("") }],
  "CRLF to LF": [{ f: file("a\r\nb\r\n") }, { f: file("a\nb\n") }],
  "CRLF kept": [{ f: file("a\r\nb\r\nc\r\n") }, { f: file("a\r\nB\r\nc\r\n") }],
  "CRLF without the last one": [{ f: file("a\r\nb\r") }, { f: file("a\r\nb") }],
  "lone CR, U+2028, NEL, form feed, BOM": [
    { f: file("\ufeffa\rb\u2028c\u0085d\fe\n2\n") },
    { f: file("a\rb\u2028c\u0085d\fE\n2\n\f\n") },
  ],
  "an empty file made": [{}, { f: file("") }],
  "an empty executable made": [{}, { f: file("", "100755") }],
  "an empty file removed": [{ f: file("") }, {}],
  "an empty file filled": [{ f: file("") }, { f: file("a\n") }],
  "a file emptied": [{ f: file("a\n") }, { f: file("") }],
  "an executable made and one removed": [{ g: file("b\n", "100755") }, { f: file("a\n", "100755") }],
  "mode alone": [
    { f: file("a\n"), g: file("", "100755") },
    { f: file("a\n", "100755"), g: file("") },
  ],
  "mode and content": [{ f: file("a\n") }, { f: file("b\n", "100755") }],
  "renamed as it is": [{ "a b": file("1\n2\n") }, { "d/ü\n": file("1\n2\n") }],
  "renamed empty": [{ a: file("") }, { b: file("") }],
  "renamed with mode": [{ a: file("1\n") }, { b: file("1\n", "100755") }],
  "renamed and changed": [{ a: file("1\n2\n3\n4\n") }, { "b\t": file("1\n2\n3\nfour\n", "100755") }],
  "two swapped": [
    { a: file("1\n"), b: file("2\n") },
    { a: file("2\n"), b: file("1\n") },
  ],
  "a file becomes a directory": [{ a: file("1\n2\n") }, { "a/b": file("1\n2\n3\n") }],
  "a directory becomes a file": [{ "a/b": file("1\n2\n"), "a/c": file("x\n") }, { a: file("1\n2\n") }],
  "a symlink moves": [{ l: link("x") }, { l: link("y/z") }],
  "a symlink made, one removed, one renamed": [
    { l: link("x"), n: link("n") },
    { k: link("x\n"), m: link("n") },
  ],
  "a file becomes a symlink": [{ f: file("a\nb\n") }, { f: link("b") }],
  "a symlink becomes an executable": [{ f: link("b") }, { f: file("a\nb", "100755") }],
  "a symlink to a directory becomes one": [
    { d: link("e"), "e/f": file("1\n") },
    { "d/f": file("2\n"), "e/f": file("1\n") },
  ],
  "lines that look like a patch": [
    { f: file("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-x\n+y\ndiff --git a/f b/f\n") },
    { f: file("-- a/f\n++ b/f\n@@ -1 +1 @@\n-x\n\\ No newline at end of file\n") },
  ],
  "a long line": [{ f: file(`${"x".repeat(200_000)}\nb\n`) }, { f: file(`${"x".repeat(200_001)}\nb\n`) }],
  "names of every kind": [
    Object.fromEntries(NAMES.filter((name) => name !== "deep/er.txt").map((name, n) => [name, file(`${n}\nsame\nlines\n`)])),
    Object.fromEntries(NAMES.filter((name) => name !== "deep/er.txt").map((name, n) => [name, file(`${n}!\nsame\nlines\n`)])),
  ],
  "names of every kind, mode alone": [
    Object.fromEntries(NAMES.map((name, n) => [name, file(`${n}\n`)])),
    Object.fromEntries(NAMES.map((name, n) => [name, file(`${n}\n`, "100755")])),
  ],
  "names of every kind, renamed": [
    Object.fromEntries(NAMES.map((name, n) => [name, file(`${n}\n`)])),
    Object.fromEntries(NAMES.map((name, n) => [`new ${name}`, file(`${n}\n`)])),
  ],
};

test.each(Object.entries(named))("%s", async (_name, [from, to]) => {
  const [a, b] = [new Map(Object.entries(from)), new Map(Object.entries(to))];
  expect(await tryCases([3, 0, 1].map((context) => ({ a, b, context })))).toEqual([]);
  // And back.
  expect(await tryCases([3].map((context) => ({ a: b, b: a, context })))).toEqual([]);
});

test("a patch reads like git's", async () => {
  const a = new Map([["a b", file("1\n2\n3\n4\n5\n6\n7\n8\n9\n")]]);
  const b = new Map([['new"', file("1\n2\n3\n4\nfive\n6\n7\n8\n9", "100755")]]);
  const [one] = await diffModels(a, b);
  expect(Buffer.from(one?.patch ?? "").toString()).toBe(
    [
      'diff --git a/a b "b/new\\""',
      "old mode 100644",
      "new mode 100755",
      "similarity index 70%",
      "rename from a b",
      'rename to "new\\""',
      "--- a/a b\t",
      '+++ "b/new\\""',
      "@@ -2,8 +2,8 @@",
      " 2",
      " 3",
      " 4",
      "-5",
      "+five",
      " 6",
      " 7",
      " 8",
      "-9",
      "+9",
      "\\ No newline at end of file",
      "",
    ].join("\n"),
  );
});
