import { appendFileSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { scaled } from "../../helpers/scale.ts";
import { tempDir } from "../../helpers/temp.ts";
import { handlesHeld, listen } from "./watching.ts";

let home: string;
let root: string;

beforeEach(() => {
  home = tempDir("watch");
  root = join(home, "root");
  mkdirSync(join(root, "a/b"), { recursive: true });
  mkdirSync(join(root, "ignored/deep"), { recursive: true });
  writeFileSync(join(root, "a/one"), "1");
  writeFileSync(join(root, "a/b/two"), "2");
});

const put = (path: string, text = "x"): void => {
  mkdirSync(join(root, path, ".."), { recursive: true });
  writeFileSync(join(root, path), text);
};

describe.each(["native", "chokidar", "polling"] as const)("%s", (kind) => {
  test("a file made, changed, replaced, renamed and deleted", async () => {
    const { watcher, ear } = await listen(root, kind);
    expect(watcher.health()).toMatchObject({ kind, state: kind === "polling" ? "polling" : "watching", note: "" });
    put("a/b/new");
    await ear.hears("a/b/new");
    ear.forget();
    appendFileSync(join(root, "a/one"), "more");
    await ear.hears("a/one");
    ear.forget();
    writeFileSync(join(home, "beside"), "other");
    renameSync(join(home, "beside"), join(root, "a/one"));
    await ear.hears("a/one");
    ear.forget();
    renameSync(join(root, "a/one"), join(root, "a/b/moved"));
    await ear.hears("a/one", "a/b/moved");
    ear.forget();
    unlinkSync(join(root, "a/b/moved"));
    await ear.hears("a/b/moved");
  });

  test("a directory made at once with files deep in it, and later writes there", async () => {
    const { ear } = await listen(root, kind);
    put("c/d/e/file");
    await ear.hears("c", "c/d", "c/d/e", "c/d/e/file");
    ear.forget();
    put("c/d/e/later");
    await ear.hears("c/d/e/later");
  });

  test("a directory moved in, moved within and moved out; what is written there afterwards", async () => {
    mkdirSync(join(home, "tree/deep"), { recursive: true });
    writeFileSync(join(home, "tree/deep/file"), "x");
    const { ear } = await listen(root, kind);
    renameSync(join(home, "tree"), join(root, "a/tree"));
    await ear.hears("a/tree", "a/tree/deep", "a/tree/deep/file");
    ear.forget();
    renameSync(join(root, "a/tree"), join(root, "moved"));
    await ear.hears("a/tree", "moved", "moved/deep/file");
    ear.forget();
    put("moved/deep/later");
    await ear.hears("moved/deep/later");
    ear.forget();
    renameSync(join(root, "moved"), join(home, "out"));
    await ear.hears("moved");
    ear.forget();
    writeFileSync(join(home, "out/deep/silent"), "x");
    put("a/loud");
    await ear.hears("a/loud");
    if (kind !== "polling") expect([...ear.paths()].filter((path) => path.includes("deep"))).toEqual([]);
  });

  test("a directory replaced by another of its name", async () => {
    put("a/b/old");
    const { ear } = await listen(root, kind);
    mkdirSync(join(home, "other/sub"), { recursive: true });
    writeFileSync(join(home, "other/sub/new"), "x");
    renameSync(join(root, "a/b"), join(home, "gone"));
    renameSync(join(home, "other"), join(root, "a/b"));
    await ear.hears("a/b/old", "a/b/sub/new");
    ear.forget();
    put("a/b/sub/later");
    await ear.hears("a/b/sub/later");
    rmSync(join(root, "a/b"), { recursive: true });
    put("a/b/again");
    await ear.hears("a/b/again");
  });

  test(`${scaled(10_000)} files made in a burst, over many new directories: each directory is hinted`, async () => {
    const { ear } = await listen(root, kind);
    const directories = Array.from({ length: 100 }, (_, index) => `burst/${index % 10}/d${index}`);
    for (const path of directories) mkdirSync(join(root, path), { recursive: true });
    for (let index = 0; index < scaled(10_000); index++) writeFileSync(join(root, `${directories[index % 100]}/f${index}`), "x");
    await ear.hears(...directories.map((path) => `${path}/any`));
    // Hints stay few: a directory stands for its many names.
    const most = Math.max(...ear.hints.map((paths) => paths.length), 0);
    expect(most).toBeLessThanOrEqual(27_000);
    ear.forget();
    put(`${directories[42]}/later`);
    await ear.hears(`${directories[42]}/later`);
  });

  test("a tree of two hundred levels, there before and made later", async () => {
    const deep = (top: string): string => `${top}/${Array.from({ length: 200 }, () => "d").join("/")}`;
    put(`${deep("old")}/file`);
    const { ear } = await listen(root, kind);
    put(`${deep("old")}/new`);
    await ear.hears(`${deep("old")}/new`);
    ear.forget();
    put(`${deep("fresh")}/file`);
    await ear.hears(`${deep("fresh")}/file`);
    ear.forget();
    put(`${deep("fresh")}/later`);
    await ear.hears(`${deep("fresh")}/later`);
  });

  test("symlinks to directories are files to it, loops do not hold it up", async () => {
    symlinkSync("..", join(root, "a/up"));
    symlinkSync(".", join(root, "a/self"));
    symlinkSync(home, join(root, "a/out"));
    const { ear } = await listen(root, kind);
    writeFileSync(join(home, "outside"), "x");
    symlinkSync("b", join(root, "a/new-link"));
    await ear.hears("a/new-link");
    ear.forget();
    put("a/b/x");
    await ear.hears("a/b/x");
    if (kind !== "polling") expect([...ear.paths()].filter((path) => /(up|self|out)\//.test(path))).toEqual([]);
  });

  test("names with newlines, spaces, other scripts, and bytes that are no UTF-8", async () => {
    const { ear } = await listen(root, kind);
    const odd = ["a/line\nbreak", "a/ space ", "a/日本\u0301", "new\ndirectory/file", "a/'\"\\"];
    for (const path of odd) put(path);
    writeFileSync(Buffer.concat([Buffer.from(join(root, "a/b/")), Buffer.from([0xff, 0xfe])]), "x");
    put("a/b/beside");
    await ear.hears(...odd, "a/b/beside");
  });

  test("what is ignored is silent, also when it is new, and gin's own temps", async () => {
    const { ear } = await listen(root, kind);
    put("ignored/deep/file");
    put("a/ignored/new/file");
    put(".git/HEAD");
    put("a/.gin-tmp-00");
    put("a/.gin-tmp-11/x");
    put("a/loud");
    await ear.hears("a/loud");
    if (kind === "polling") return expect(ear.hints).toEqual([]);
    expect([...ear.paths()].filter((path) => /ignored|\.git|gin-tmp/.test(path))).toEqual([]);
  });

  test("what rules are read from is told of though the rules hide it, but not where it is in what is ignored", async () => {
    const { ear } = await listen(root, kind, { ignored: (path) => /(^|\/)(\.git|\.gitignore|ignored)(\/|$)/.test(path) });
    const heard = async (path: string): Promise<void> => {
      if (kind === "polling") await ear.until(() => expect(ear.overflows.length).toBeGreaterThan(0));
      else await ear.until(() => expect(ear.paths()).toContain(path));
      ear.forget();
    };
    for (const path of [".gitignore", "a/.gitignore"]) {
      put(path, "one");
      await heard(path);
      appendFileSync(join(root, path), "two");
      await heard(path);
      writeFileSync(join(home, "beside"), "three");
      renameSync(join(home, "beside"), join(root, path));
      await heard(path);
      unlinkSync(join(root, path));
      await heard(path);
    }
    put("a/.git", "gitdir: elsewhere");
    await heard("a/.git");
    unlinkSync(join(root, "a/.git"));
    await heard("a/.git");
    put("a/b/.git/HEAD");
    await heard("a/b/.git");
    put("ignored/.gitignore");
    put("a/loud");
    await ear.hears("a/loud");
    expect([...ear.paths()].filter((path) => /ignored\/|HEAD/.test(path))).toEqual([]);
  });

  test("what was ignored is watched after a refresh, and the other way round", async () => {
    let hidden = "ignored";
    const { watcher, ear } = await listen(root, kind, { ignored: (path) => path.split("/").includes(hidden) });
    hidden = "b";
    await watcher.refresh("");
    put("ignored/deep/file");
    await ear.hears("ignored/deep/file");
    ear.forget();
    put("a/b/silent");
    put("a/loud");
    await ear.hears("a/loud");
    if (kind !== "polling") expect(ear.paths()).not.toContain("a/b/silent");
  });

  test("the root moved away is lost and said; the same one back is watched again", async () => {
    const { watcher, ear } = await listen(root, kind);
    renameSync(root, join(home, "away"));
    await ear.until(() => expect(watcher.health().state).toBe("lost"));
    expect(watcher.health()).toMatchObject({ directories: 0 });
    expect(watcher.health().note).not.toContain(home);
    expect(ear.overflows.at(-1)).toBe("root");
    ear.forget();
    writeFileSync(join(home, "away/a/meanwhile"), "x");
    renameSync(join(home, "away"), root);
    await ear.until(() => expect(ear.overflows).toContain("root"));
    expect(watcher.health().state).toBe(kind === "polling" ? "polling" : "watching");
    ear.forget();
    put("a/b/after");
    await ear.hears("a/b/after");
  });

  test("another directory at the root's path is not taken for it", async () => {
    const { watcher, ear } = await listen(root, kind);
    renameSync(root, join(home, "away"));
    mkdirSync(root);
    await ear.until(() => expect(watcher.health().state).toBe("lost"));
    rmSync(root, { recursive: true });
    await ear.until(() => expect(watcher.health().note).not.toBe(""));
    expect(watcher.health().state).toBe("lost");
  });

  test("closing leaves no handle and says nothing more, also while it starts", async (ctx) => {
    if (process.platform !== "linux") ctx.skip("handles are counted by Linux's procfs");
    for (let index = 0; index < 50; index++) put(`many/${index}/file`);
    const before = handlesHeld();
    const { watcher, ear } = await listen(root, kind);
    if (kind !== "polling") expect(handlesHeld().watches - before.watches).toBeGreaterThanOrEqual(50);
    await watcher.close();
    await watcher.close();
    expect(watcher.health().state).toBe("closed");
    const heard = ear.hints.length + ear.overflows.length;
    put("a/unheard");
    await ear.until(() => expect(handlesHeld().watches).toBe(before.watches));
    // The confined root's own, and the one libuv keeps for good.
    expect(handlesHeld().descriptors - before.descriptors).toBeLessThanOrEqual(3);
    expect(ear.hints.length + ear.overflows.length).toBe(heard);
  });
});

test("off notices nothing and says so", async () => {
  const { watcher, ear } = await listen(root, "off");
  put("a/x");
  await watcher.refresh("");
  watcher.flush();
  expect(watcher.health()).toMatchObject({ kind: "off", state: "off", directories: 0 });
  expect([ear.hints, ear.overflows]).toEqual([[], []]);
});

test("auto is native on Linux and chokidar elsewhere", async () => {
  const one = await listen(root, "auto", { platform: "linux" });
  const other = await listen(mkdtempSync(join(home, "o-")), "auto", { platform: "darwin" });
  expect([one.watcher.health().kind, other.watcher.health().kind]).toEqual(["native", "chokidar"]);
});
