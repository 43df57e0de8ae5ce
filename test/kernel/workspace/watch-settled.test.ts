import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { nodeFs } from "../../../src/daemon/base/index.ts";
import { chance } from "../../helpers/random.ts";
import { scaled } from "../../helpers/scale.ts";
import { tempDir } from "../../helpers/temp.ts";
import { diskTree, openLiving } from "./living.ts";
import { hashOf } from "./model.ts";
import { listen } from "./watching.ts";
import { treeOf } from "./whole.ts";

let directory: string;
let root: string;
beforeEach(() => {
  directory = tempDir("settled");
  root = join(directory, "ws");
  mkdirSync(root);
});

function put(path: string, value: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), value);
}

it(`settling records all that was done before it: ${scaled(150)} bursts of changes, by this process and by another`, async () => {
  const random = chance("settled");
  for (let index = 0; index < 40; index++) put(`d${index % 5}/e${index % 3}/f${index}`, `${index}\n`);
  const site = await openLiving(directory);
  const place = (): string =>
    Array.from({ length: 1 + random.int(4) }, () => random.pick(["d0", "d1", "d2", "new", "x", "y"])).join("/");
  const file = (): string => `${place()}/${random.pick(["one", "two", "three"])}`;
  const changes: readonly (() => void)[] = [
    () => put(file(), `${random.next()}\n`),
    () => mkdirSync(join(root, place()), { recursive: true }),
    () => rmSync(join(root, random.maybe(0.5) ? file() : place()), { recursive: true, force: true }),
    () => renameSync(join(root, place()), join(root, place())),
    () => chmodSync(join(root, file()), random.maybe(0.5) ? 0o755 : 0o644),
    () => symlinkSync("one", join(root, file())),
  ];
  for (let burst = 0; burst < scaled(150); burst++) {
    for (let count = 1 + random.int(12); count > 0; count--) {
      try {
        random.pick(changes)();
      } catch (thrown) {
        // What it was to be done to was not there, or in the way.
        if ((thrown as NodeJS.ErrnoException).syscall === undefined) throw thrown;
      }
    }
    if (burst % 15 === 0)
      execFileSync("sh", ["-c", `mkdir -p by/other/${burst} && echo ${burst} > by/other/${burst}/file`], { cwd: root });
    const state = await site.workspace.settle();
    expect(treeOf(site), `burst ${burst} of seed ${random.seed}`).toEqual(diskTree(root));
    expect(state).toEqual(site.workspace.state());
  }
  // Nothing new: no look, no checkpoint.
  const before = site.workspace.state();
  expect(await site.workspace.settle()).toEqual(before);
}, 120_000);

it("settling beside one who writes all the time comes to an end, with all that was there before", async () => {
  put("a", "a\n");
  const site = await openLiving(directory);
  let going = true;
  let count = 0;
  const writer = (async () => {
    for (; going; count++) {
      put(`storm/${count % 40}/${count % 1_000}`, `${count}\n`);
      await new Promise((resolve) => setImmediate(resolve));
    }
  })();
  try {
    for (let round = 0; round < 20; round++) {
      put("mine", `${round}\n`);
      const made = Math.min(count, 1_000);
      await site.workspace.settle();
      const tree = treeOf(site);
      expect(tree.mine).toBe(hashOf(Buffer.from(`${round}\n`)));
      expect(
        Array.from({ length: made }, (_, index) => `storm/${index % 40}/${index}`).filter((path) => tree[path] === undefined),
      ).toEqual([]);
    }
  } finally {
    going = false;
    await writer;
  }
}, 120_000);

it("a large file that is put off is looked at all the same when somebody has to know", async () => {
  put("a", "a\n");
  const site = await openLiving(directory);
  put("large", "x".repeat(40_000_000));
  await site.workspace.settle();
  put("large", "y".repeat(40_000_000));
  await site.workspace.settle();
  expect(treeOf(site)).toEqual(diskTree(root));
}, 60_000);

it("a watcher that cannot know says so: it polls, is off, is chokidar's, has lost its root, or the file system is shared with other machines", async () => {
  put("a/one", "1\n");
  for (const kind of ["polling", "off", "chokidar"] as const) {
    const { watcher } = await listen(root, kind);
    expect(await watcher.settled(), kind).toBe(false);
  }
  const shared = await listen(root, "native", { fs: { ...nodeFs, fsTypeSync: () => 0x6969 } });
  expect(await shared.watcher.settled()).toBe(false);
  const { watcher, ear } = await listen(root, "native");
  expect(await watcher.settled()).toBe(true);
  put("deep/er/file", "x\n");
  expect(await watcher.settled()).toBe(true);
  expect(["deep", "deep/er", "deep/er/file"].filter((path) => !ear.covers(path))).toEqual([]);
  renameSync(root, `${root}-gone`);
  expect(await watcher.settled()).toBe(false);
  expect(existsSync(root) ? readdirSync(root) : []).toEqual([]);
});
