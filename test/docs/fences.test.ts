import { expect, test } from "vitest";
import { blocksOf } from "./fences.ts";
import { sameOutput } from "./mask.ts";
import { openSession } from "./session.ts";

const fence = "```";

test("blocks are read in order with their outputs, kinds and reasons", () => {
  const markdown = [
    `${fence}sh`,
    "gin read a",
    fence,
    "",
    `${fence}output`,
    "hello",
    fence,
    "<!-- no-test: it installs packages -->",
    `${fence}sh no-test`,
    "npm ci",
    fence,
    `${fence}sh serve`,
    "gin serve",
    fence,
    `${fence}json`,
    "{}",
    fence,
  ].join("\n");
  expect(blocksOf(markdown)).toEqual([
    { line: 1, script: "gin read a", kind: "run", reason: "", output: "hello" },
    { line: 9, script: "npm ci", kind: "no-test", reason: "it installs packages", output: undefined },
    { line: 12, script: "gin serve", kind: "serve", reason: "", output: undefined },
  ]);
});

test("a shell block under another name is refused, so that no command escapes", () => {
  expect(() => blocksOf(`${fence}bash\nls\n${fence}`)).toThrow("line 1: write the fence as one of");
  expect(() => blocksOf(`${fence}output\nls\n${fence}`)).toThrow("no command before it");
  expect(() => blocksOf(`${fence}sh\nls`)).toThrow("never closed");
});

test("ids, hashes, times, ports and paths may differ; anything else may not", () => {
  const hash = "a".repeat(64);
  expect(sameOutput(`saved ck_0a1b2c3d4e ${hash}`, `saved ck_ffffffffff ${"b".repeat(64)}\n`)).toBe(true);
  expect(sameOutput("listening on 127.0.0.1:7400", "listening on 127.0.0.1:41233")).toBe(true);
  expect(sameOutput("at 2026-01-01T00:00:00Z in /home/you/x", "at 2027-03-04T11:22:33.123Z in /tmp/y/x")).toBe(true);
  expect(sameOutput("first\n…\nlast", "first\nmany\nmore\nlast")).toBe(true);
  expect(sameOutput("saved a.txt", "saved b.txt")).toBe(false);
  expect(sameOutput("first\n…\nlast", "first\nmany\nmore")).toBe(false);
});

test("a session keeps directory and exports from block to block, and fails with the first command that does", async () => {
  const session = openSession();
  expect(await session.run("mkdir sub && cd sub && export NAME=value")).toMatchObject({ code: 0 });
  expect(await session.run('basename "$PWD"; echo "$NAME" >&2')).toMatchObject({ code: 0, stdout: "sub\nvalue\n" });
  expect(await session.run("false\ntrue")).toMatchObject({ code: 1 });
});
