import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { beforeEach, expect, test } from "vitest";
import { type Fs, nodeFs, noFailPoints, systemRandom } from "../../../src/daemon/base/index.ts";
import { openRoot } from "../../../src/daemon/workspace/files/index.ts";
import { createIgnoreRules, type IgnoreRules } from "../../../src/daemon/workspace/ignore/index.ts";
import { atTeardown } from "../../helpers/teardown.ts";
import { tempDir } from "../../helpers/temp.ts";

let root: string;
let rules: IgnoreRules;

beforeEach(() => {
  root = tempDir("ignore");
  const confined = openRoot(root, { fs: nodeFs, random: systemRandom, failPoints: noFailPoints });
  atTeardown(() => confined.close());
  rules = createIgnoreRules({ root: confined, path: root, fs: nodeFs });
});

const put = (path: string, text = ""): void => {
  mkdirSync(join(root, path, ".."), { recursive: true });
  writeFileSync(join(root, path), text);
};

test("nearer rules win, a directory that is ignored takes what is in it along", () => {
  put(".gitignore", "*.log\nbuild/\n");
  put("a/.gitignore", "!keep.log\n");
  expect(rules.ignored("x.log", false)).toBe(true);
  expect(rules.ignored("a/x.log", false)).toBe(true);
  expect(rules.ignored("a/keep.log", false)).toBe(false);
  expect(rules.ignored("build", true)).toBe(true);
  expect(rules.ignored("build", false)).toBe(false);
  expect(rules.ignored("a/build/deep/file.ts", false)).toBe(true);
  expect(rules.ignored("", true)).toBe(false);
});

test("a directory taken back by a nearer file is not ignored by the rule further out", () => {
  put(".gitignore", "build\n");
  put("a/.gitignore", "!build\n");
  expect(rules.ignored("a/build", true)).toBe(false);
  expect(rules.ignored("a/build/x", false)).toBe(false);
});

test(".git, gin's temps and directories of other repositories are never tracked, whatever the rules say", () => {
  put(".gitignore", "!.git\n!.gin-tmp-*\n!sub\n");
  mkdirSync(join(root, "sub/.git"), { recursive: true });
  put("module/.git", "gitdir: ../x\n");
  expect(rules.ignored(".git", true)).toBe(true);
  expect(rules.ignored(".git/HEAD", false)).toBe(true);
  expect(rules.ignored("a/.gin-tmp-0123", false)).toBe(true);
  expect(rules.ignored("sub", true)).toBe(true);
  expect(rules.ignored("sub/x", false)).toBe(true);
  expect(rules.ignored("module/x", false)).toBe(true);
});

test("a changed .gitignore gives the directory to look at again; an unchanged one nothing", () => {
  put("a/.gitignore", "x\n");
  expect(rules.ignored("a/x", false)).toBe(true);
  expect(rules.changed("a/.gitignore")).toBeUndefined();
  put("a/.gitignore", "y\n");
  expect(rules.changed("a/.gitignore")).toBe("a");
  expect(rules.ignored("a/x", false)).toBe(false);
  expect(rules.ignored("a/y", false)).toBe(true);
  rmSync(join(root, "a/.gitignore"));
  expect(rules.changed("a/.gitignore")).toBe("a");
  expect(rules.ignored("a/y", false)).toBe(false);
  expect(rules.changed("a/file.ts")).toBeUndefined();
});

test("a directory replaced by another one with other rules is decided anew", () => {
  put("a/.gitignore", "x\n");
  put("b/.gitignore", "y\n");
  expect(rules.ignored("a/x", false)).toBe(true);
  renameSync(join(root, "a"), join(root, "old"));
  renameSync(join(root, "b"), join(root, "a"));
  expect(rules.changed("a")).toBe("a");
  expect(rules.ignored("a/x", false)).toBe(false);
  expect(rules.ignored("a/y", false)).toBe(true);
});

test("a repository that comes or goes below the root moves the boundary", () => {
  put("sub/x");
  expect(rules.ignored("sub/x", false)).toBe(false);
  mkdirSync(join(root, "sub/.git"));
  expect(rules.changed("sub/.git")).toBe("sub");
  expect(rules.ignored("sub/x", false)).toBe(true);
  rmSync(join(root, "sub/.git"), { recursive: true });
  expect(rules.changed("sub/.git")).toBe("sub");
  expect(rules.ignored("sub/x", false)).toBe(false);
});

test("rules behind a symlink, in a directory of that name or of a huge size are none", () => {
  put("rules", "x\n");
  symlinkSync("../rules", join(root, "rules-link"));
  mkdirSync(join(root, "a"));
  symlinkSync("../rules", join(root, "a/.gitignore"));
  mkdirSync(join(root, "b/.gitignore"), { recursive: true });
  put("c/.gitignore", `${"x\n".repeat(600_000)}`);
  for (const directory of ["a", "b", "c"]) expect(rules.ignored(`${directory}/x`, false)).toBe(false);
});

test("hostile patterns cost a product of lengths, not an exponent", () => {
  const names = Array.from({ length: 40 }, (_, index) => `${"a".repeat(200)}${index}`);
  put(".gitignore", [`${"*a".repeat(200)}b`, `/${"**/a*".repeat(60)}/b`, `${"[a-z]*".repeat(60)}!`].join("\n"));
  const started = performance.now();
  for (const name of names) expect(rules.ignored(`${name}/${name}/${name}/${name}`, false)).toBe(false);
  // Some 30 ms; a backtracking matcher would not return in a lifetime.
  expect(performance.now() - started).toBeLessThan(5_000);
});

test("rules from outside are weaker than any file's, and may be replaced", () => {
  put(".gitignore", "!a\n");
  rules.setOuter({ prefix: "sub", files: [{ directory: "", text: "a\nb\n/sub/c\n/d\n" }], ignoreCase: true });
  expect(rules.ignored("a", false)).toBe(false);
  expect(rules.ignored("B", false)).toBe(true);
  expect(rules.ignored("c", false)).toBe(true);
  expect(rules.ignored("d", false)).toBe(false);
  rules.setOuter({ prefix: "", files: [], ignoreCase: false });
  expect(rules.ignored("b", false)).toBe(false);
});

test.each(["EMFILE", "ENFILE", "ENOMEM", "EIO"])(
  "rules that a busy system does not let read (%s) are those that were read before, and are read when it does",
  (errno) => {
    let fails = false;
    const fs: Fs = {
      ...nodeFs,
      openSync(path, flags, mode) {
        if (fails && String(path).endsWith(".gitignore")) throw Object.assign(new Error(errno), { code: errno, syscall: "open" });
        return nodeFs.openSync(path, flags, mode);
      },
    };
    const confined = openRoot(root, { fs, random: systemRandom, failPoints: noFailPoints });
    atTeardown(() => confined.close());
    const busy = createIgnoreRules({ root: confined, path: root, fs: nodeFs });
    put("a/.gitignore", "x\n");
    put("b/.gitignore", "x\n");
    expect(busy.ignored("a/x", false)).toBe(true);
    fails = true;
    expect([busy.changed("a/.gitignore"), busy.listed("a", new Set([".gitignore"]))]).toEqual([undefined, []]);
    expect([busy.ignored("a/x", false), busy.ignored("b/x", false)]).toEqual([true, false]);
    fails = false;
    expect([busy.ignored("a/x", false), busy.ignored("b/x", false)]).toEqual([true, true]);
  },
);

test("rules from outside that are the same ones decide nothing anew, and say so", () => {
  const outer = (text: string) => ({ prefix: "", files: [{ directory: "", text }], ignoreCase: false });
  expect(rules.setOuter(outer("a\n"))).toBe(true);
  expect(rules.setOuter(outer("a\n"))).toBe(false);
  expect(rules.setOuter(outer("b\n"))).toBe(true);
  expect([rules.ignored("a", false), rules.ignored("b", false)]).toEqual([false, true]);
});

test("who lists a directory goes by the rules that are in it now, and is told when they are others", () => {
  put("a/.gitignore", "x\n");
  put("b/file");
  expect([rules.ignored("a/x", false), rules.ignored("b/x", false)]).toEqual([true, false]);
  expect(rules.listed("a", new Set([".gitignore"]))).toEqual([]);
  put("a/.gitignore", "y\n");
  put("b/.gitignore", "x\n");
  expect(rules.listed("", new Set(["a", "b"]))).toEqual([]);
  expect(rules.listed("a", new Set([".gitignore"]))).toEqual(["a"]);
  expect(rules.listed("b", new Set([".gitignore", "file"]))).toEqual(["b"]);
  expect([rules.ignored("a/x", false), rules.ignored("a/y", false), rules.ignored("b/x", false)]).toEqual([false, true, true]);
  rmSync(join(root, "a/.gitignore"));
  expect(rules.listed("a", new Set())).toEqual(["a"]);
  expect(rules.ignored("a/y", false)).toBe(false);
  expect(rules.listed("a", new Set())).toEqual([]);
});

test("who lists a directory is told where another repository began and ended", () => {
  put("sub/x");
  expect(rules.ignored("sub/x", false)).toBe(false);
  mkdirSync(join(root, "sub/.git"));
  expect(rules.listed("sub", new Set([".git", "x"]))).toEqual(["sub"]);
  expect(rules.ignored("sub/x", false)).toBe(true);
  rmSync(join(root, "sub/.git"), { recursive: true });
  // Of one that is ignored nobody lists more than its name.
  expect(rules.listed("", new Set(["sub"]))).toEqual(["sub"]);
  expect(rules.ignored("sub/x", false)).toBe(false);
});

const COME_AND_GO = 50_000;

test.each<[string, (path: string) => void]>([
  ["ruled out", () => {}],
  ["told of as gone", (path) => rules.changed(path)],
  ["told of by what is in the one above", () => rules.listed("", new Set())],
])(`${COME_AND_GO} directories that come and go leave nothing behind: %s`, (how, goes) => {
  put(".gitignore", "ruled*\n");
  const name = how === "ruled out" ? "ruled" : "tracked";
  const round = (count: number): void => {
    for (let index = 0; index < count; index++) {
      rules.ignored(`${name}-${index}/below/file`, false);
      goes(`${name}-${index}`);
    }
  };
  round(100);
  const before = heldBytes();
  round(COME_AND_GO);
  // Two of them a round, at some 300 bytes each, would be 30 MB.
  expect(heldBytes() - before).toBeLessThan(4_000_000);
});

/** Bytes of live objects. */
function heldBytes(): number {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  return getHeapStatistics().used_heap_size;
}
