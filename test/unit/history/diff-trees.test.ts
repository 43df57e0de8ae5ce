import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../../src/daemon/base/index.ts";
import { diffTrees } from "../../../src/daemon/history/tree-diff.ts";
import { createTrees } from "../../../src/daemon/store/trees/index.ts";
import { runCommand } from "../../helpers/process.ts";
import { chance } from "../../helpers/random.ts";
import { scaled } from "../../helpers/scale.ts";
import { tempDir } from "../../helpers/temp.ts";
import { diffModels, file, type Held, Kept, link, type Model, writeModel } from "./patch-trees.ts";
import { smallestScripts } from "./scripts-count.ts";
import { randomEdit, randomText } from "./texts.ts";

const model = (held: Record<string, Held>): Model => new Map(Object.entries(held));
const numbered = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => `line ${from + n}\n`).join("");

/** Differences in short: "status old→new". */
async function short(a: Record<string, Held>, b: Record<string, Held>): Promise<string[]> {
  return (await diffModels(model(a), model(b))).map(
    ({ status, path, oldPath, similarity }) => `${status} ${oldPath === "" ? path : `${oldPath}→${path} ${similarity}`}`,
  );
}

describe("what differs between two trees", () => {
  test("is what a walk over both finds, in byte order, below every prefix", () => {
    const random = chance("tree diff");
    const names = ["a", "a-", "a.b", "b", "ä", "\u{1f600}", "\uffee", "z", ...Array.from({ length: 300 }, (_, n) => `f${n}`)];
    const path = () => Array.from({ length: 1 + random.int(3) }, () => random.pick(names)).join("/");
    for (let n = 0; n < scaled(40); n += 1) {
      const kept = new Kept();
      const leaves = (paths: string[]) => paths.filter((one) => !paths.some((other) => other.startsWith(`${one}/`)));
      const a = leaves([...new Set(Array.from({ length: random.int(600) }, path))]);
      const b = leaves([...new Set([...a.filter(() => random.maybe(0.9)), ...Array.from({ length: random.int(20) }, path)])]);
      const [from, to] = [a, b].map((paths) => new Map(paths.map((one) => [one, file(String(random.int(20)))])));
      if (from === undefined || to === undefined) throw new Error("two sides");
      for (const [one, held] of to) if (random.maybe(0.9)) to.set(one, from.get(one) ?? held);
      const [x, y] = [kept.put(from), kept.put(to)];
      for (const prefix of ["", "a", "z", "b/f1", a[0] ?? "a"]) {
        const before = new Map([...kept.trees.walk(x, prefix)].map((one) => [one.path, one.content]));
        const after = new Map([...kept.trees.walk(y, prefix)].map((one) => [one.path, one.content]));
        const wanted = [...new Set([...before.keys(), ...after.keys()])]
          .filter((one) => before.get(one)?.sha256 !== after.get(one)?.sha256)
          .sort((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)))
          .map((one) => ({ path: one, before: before.get(one) ?? null, after: after.get(one) ?? null }));
        expect([...kept.trees.diff(x, y, prefix)]).toEqual(wanted);
      }
    }
  });

  test("opens only the nodes on the way to it", () => {
    const kept = new Map<string, Uint8Array>();
    const opened: string[] = [];
    const make = () =>
      createTrees((hash) => {
        opened.push(hash);
        return kept.get(hash);
      });
    const content = (text: string) => ({ kind: "file", sha256: text.padStart(64, "0"), size: 1, executable: false }) as const;
    const paths = Array.from({ length: 20_000 }, (_, n) => ({ path: `d${n % 50}/e${n % 7}/f${n}`, after: content(String(n)) }));
    const trees = make();
    const a = trees.change(trees.empty, paths);
    for (const { hash, data } of a.nodes) kept.set(hash, data);
    const b = trees.change(a.root, [{ path: "d3/e3/f3", after: content("f") }]);
    for (const { hash, data } of b.nodes) kept.set(hash, data);
    opened.length = 0;
    expect([...make().diff(a.root, b.root, "")]).toHaveLength(1);
    // Root, d3, e3 on both sides; those of more than 128 entries are one node deeper.
    expect(opened.length).toBeLessThanOrEqual(12);
    opened.length = 0;
    expect([...make().diff(a.root, a.root, "")]).toEqual([]);
    expect(opened).toEqual([]);
  });
});

describe("renames", () => {
  const text = numbered(0, 20);
  test.each<[string, Record<string, Held>, Record<string, Held>, string[]]>([
    ["equal content pairs", { a: file(text) }, { b: file(text) }, ["renamed a→b 100"]],
    ["with another mode", { a: file(text) }, { b: file(text, "100755") }, ["renamed a→b 100"]],
    ["half alike pairs", { a: file(text) }, { b: file(numbered(10, 30)) }, ["renamed a→b 50"]],
    ["less does not", { a: file(text) }, { b: file(numbered(11, 31)) }, ["deleted a", "added b"]],
    [
      "equal before alike",
      { a: file(text), b: file(`${text}x\n`) },
      { c: file(text), d: file(text) },
      ["renamed a→c 100", "renamed b→d 98"],
    ],
    [
      "the most alike first",
      { a: file(numbered(0, 20)), b: file(numbered(5, 25)) },
      { c: file(numbered(6, 26)) },
      ["deleted a", "renamed b→c 94"],
    ],
    [
      "the same file name where contents are equal",
      { "x/one": file(text), "x/two": file(text) },
      { "y/one": file(text), "y/two": file(text) },
      ["renamed x/one→y/one 100", "renamed x/two→y/two 100"],
    ],
    [
      "a link only with its target",
      { a: link("t"), b: link("u") },
      { c: link("t"), d: link("v") },
      ["deleted b", "renamed a→c 100", "added d"],
    ],
    ["never a link with a file", { a: link("t") }, { b: file("t") }, ["deleted a", "added b"]],
    ["binary contents too", { a: file("\0".repeat(500)) }, { b: file(`${"\0".repeat(500)}x`) }, ["renamed a→b 89"]],
    ["CRLF and LF are alike", { a: file(text) }, { b: file(text.replaceAll("\n", "\r\n")) }, ["renamed a→b 88"]],
  ])("%s", async (_name, a, b, wanted) => {
    expect(await short(a, b)).toEqual(wanted);
  });

  test("what a save said decides between equals, and is only a hint", async () => {
    const kept = new Kept();
    const same = file(text);
    const from = kept.put(model({ a: same, b: same }));
    const to = kept.put(model({ c: same, d: file("no like\n") }));
    const said = new Map([
      ["c", "b"],
      ["d", "a"],
    ]);
    const found = await diffTrees(
      { trees: kept.trees, from, to, prefix: "", visible: () => true },
      { bytes: (hash) => kept.bytes(hash), renamedFrom: (path) => said.get(path) },
      systemClock,
    );
    expect(found.map(({ path, oldPath, after }) => [path, oldPath, after === null])).toEqual([
      ["a", "", true],
      ["c", "b", false],
      ["d", "", false],
    ]);
  });

  test("what may not be seen is no side of a rename", async () => {
    const kept = new Kept();
    const pair = {
      trees: kept.trees,
      from: kept.put(model({ "secret/a": file(text) })),
      to: kept.put(model({ "open/a": file(text) })),
      prefix: "",
      visible: (path: string) => path.startsWith("open/"),
    };
    const found = await diffTrees(pair, { bytes: (hash) => kept.bytes(hash), renamedFrom: () => undefined }, systemClock);
    expect(found).toMatchObject([{ path: "open/a", oldPath: "", before: null }]);
  });

  test("over a thousand of a side only equal contents pair, and two thousand alike files stay cheap", async () => {
    const many = (count: number, tag: string) =>
      Object.fromEntries(
        Array.from({ length: count }, (_, n) => [`${tag}${n}`, file(`${numbered(0, 30)}own ${n % 50}\n${tag}`)] as const),
      );
    expect((await short(many(1_001, "a"), many(1_001, "b"))).filter((one) => one.startsWith("renamed"))).toEqual([]);
    const started = performance.now();
    const found = await short(many(400, "a"), many(400, "b"));
    expect(found.filter((one) => one.startsWith("renamed"))).toHaveLength(400);
    expect(performance.now() - started).toBeLessThan(10_000);
  });
});

describe("what has no patch", () => {
  const diffOne = async (a: Held | undefined, b: Held | undefined) => {
    const [one] = await diffModels(model(a === undefined ? {} : { f: a }), model(b === undefined ? {} : { f: b }));
    return `${one?.status} ${one?.noPatch || "patch"} ${one?.binary ? "binary" : "text"} +${one?.added} -${one?.removed}`;
  };
  const latin1 = (value: string, mode: Held["mode"] = "100644"): Held => ({ mode, bytes: Buffer.from(value, "latin1") });
  test.each<[string, Held | undefined, Held | undefined, string]>([
    ["text", file("a\n"), file("b\n"), "modified patch text +1 -1"],
    ["binary", file("a\0"), file("b\0"), "modified binary binary +0 -0"],
    ["text that became binary", file("a\n"), file("a\n\0"), "modified binary binary +0 -0"],
    ["binary that became text", file("a\n\0"), file("a\n"), "modified binary binary +0 -0"],
    ["a binary that came", undefined, file("\0"), "added binary binary +0 -0"],
    ["Latin-1", latin1("gr\xfcn\n"), latin1("gr\xfcn!\n"), "modified not_utf8 binary +0 -0"],
    ["Latin-1 that went", latin1("\xfc"), undefined, "deleted not_utf8 binary +0 -0"],
    ["the mode of a binary", file("\0"), file("\0", "100755"), "mode patch text +0 -0"],
    ["a link to a name that is no UTF-8", link("a"), latin1("\xfc", "120000"), "modified not_utf8 binary +0 -0"],
    ["a binary that became a link", file("\0"), link("a"), "type binary binary +1 -0"],
    ["over the limit", file("a\n"), file("x".repeat(1_000_001)), "modified too_large text +0 -0"],
  ])("%s", async (_name, a, b, wanted) => {
    expect(await diffOne(a, b)).toBe(wanted);
  });
});

test("line counts are git's wherever the scripts are equally short, and never longer where git's are the shortest", async () => {
  const random = chance("numstat");
  const directory = tempDir("numstat");
  const a = new Map<string, Held>();
  const b = new Map<string, Held>();
  const count = scaled(600);
  for (let n = 0; n < count; n += 1) {
    const words = random.pick([3, 12, 100_000]);
    const text = randomText(random, random.pick([5, 40, 120]), words);
    const utf8 = (value: string) => Buffer.from(value.replaceAll("\xe9", "e"), "latin1");
    a.set(`f${n}`, { mode: "100644", bytes: utf8(text) });
    b.set(`f${n}`, { mode: "100644", bytes: utf8(randomEdit(random, text, 1 + random.int(5), words)) });
  }
  writeModel(join(directory, "a"), a);
  writeModel(join(directory, "b"), b);
  writeFileSync(join(directory, "home"), "");
  const { stdout } = await runCommand("git", ["diff", "--no-index", "--numstat", "-z", "a", "b"], {
    cwd: directory,
    env: { HOME: directory, GIT_CONFIG_NOSYSTEM: "1" },
  });
  const git = new Map<string, string>();
  const parts = stdout.split("\0");
  for (let at = 0; at + 2 < parts.length; at += 3)
    git.set(parts[at + 1]?.slice(2) ?? "", (parts[at] ?? "").trim().replace("\t", " "));
  const longer: string[] = [];
  let differ = 0;
  const found = await diffModels(a, b, undefined);
  for (const { path, added, removed } of found) {
    if (git.get(path) === `${added} ${removed}`) continue;
    differ += 1;
    const [before, after] = [a.get(path)?.bytes ?? Buffer.alloc(0), b.get(path)?.bytes ?? Buffer.alloc(0)];
    // Both rebuild the same text, so added minus removed agrees: the sum decides which script is shorter.
    const shortest =
      before
        .toString("latin1")
        .split(/(?<=\n)/)
        .filter(Boolean).length - smallestScripts(before, after).kept;
    if (removed !== shortest) longer.push(`${path}: git ${git.get(path)}, gin ${added} ${removed}`);
  }
  console.log(`numstat: ${found.length} changed files, ${differ} where git's script is longer`);
  expect(found.length).toBe(git.size);
  expect(longer).toEqual([]);
});
