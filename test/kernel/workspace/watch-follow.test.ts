import { spawn } from "node:child_process";
import { once } from "node:events";
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { chance } from "../../helpers/random.ts";
import { scaled } from "../../helpers/scale.ts";
import { atTeardown } from "../../helpers/teardown.ts";
import { tempDir } from "../../helpers/temp.ts";
import { virtualClock } from "../../unit/lease/virtual-clock.ts";
import { listen, quickClock, watcherOf } from "./watching.ts";

const STEPS = scaled(1_000);

/** What stands at a path: a directory, a file's text, a link's target; undefined is nothing. */
function lookAt(path: string): string | undefined {
  try {
    const stat = lstatSync(path);
    if (stat.isDirectory()) return "directory";
    return stat.isSymbolicLink() ? `-> ${readlinkSync(path)}` : `= ${readFileSync(path, "utf8")}`;
  } catch {
    return undefined;
  }
}

function namesIn(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

/** Knows a tree by following hints alone, just as they are promised: nothing is looked at that was not hinted. */
class Follower {
  readonly view = new Map<string, string>();
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  hint(path: string): void {
    // A batch is unordered: what was below a directory may be hinted after the symlink that stands there now.
    if (!this.#reaches(path)) {
      this.#drop(path);
      return;
    }
    if (path !== "" && !this.#one(path)) return;
    // A directory: its own entries; those that are known directories stay as they are.
    const below = path === "" ? "" : `${path}/`;
    const names = new Set(namesIn(join(this.#root, path)));
    for (const known of [...this.view.keys()])
      if (known.startsWith(below) && !known.slice(below.length).includes("/") && !names.has(known.slice(below.length)))
        this.#drop(known);
    for (const name of names) {
      const child = below + name;
      if (this.view.get(child) === "directory" && lookAt(join(this.#root, child)) === "directory") continue;
      if (this.#one(child)) this.hint(child);
    }
  }

  all(): void {
    this.view.clear();
    this.hint("");
  }

  /** Whether only directories lead to a path: what is seen through a symlink is not of this tree. */
  #reaches(path: string): boolean {
    const above = path.split("/").slice(0, -1);
    return above.every((_, index) => lookAt(join(this.#root, ...above.slice(0, index + 1))) === "directory");
  }

  /** Takes a path as it is; true when it is a directory. */
  #one(path: string): boolean {
    const now = lookAt(join(this.#root, path));
    if (now !== "directory") this.#drop(path);
    // Nobody follows hints into what he does not know: its directory is hinted as well.
    if (now === undefined) return false;
    this.view.set(path, now);
    return now === "directory";
  }

  #drop(path: string): void {
    this.view.delete(path);
    for (const known of [...this.view.keys()]) if (known.startsWith(`${path}/`)) this.view.delete(known);
  }
}

/** All of a tree, symlinks not followed. */
function disk(root: string): Map<string, string> {
  const found = new Follower(root);
  found.all();
  return found.view;
}

/** A process that works on the tree as people, agents and package managers do, from a seed. */
const WORKER = `
const fs = require("fs");
let s = Number(process.argv[1]);
const next = () => { s = (s + 0x6d2b79f5) | 0; let t = Math.imul(s ^ (s >>> 15), 1 | s); t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t; return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32; };
const int = (n) => Math.floor(next() * n);
const name = () => "abcdef"[int(6)];
const path = () => Array.from({ length: 1 + int(4) }, name).join("/");
const quietly = (act) => { try { act(); } catch {} };
for (let step = 0; step < Number(process.argv[2]); step++) {
  const p = path();
  quietly([
    () => { fs.mkdirSync(p + "/..", { recursive: true }); fs.writeFileSync(p, "v" + step); },
    () => fs.writeFileSync(p, "v" + step),
    () => fs.appendFileSync(p, "+" + step),
    () => fs.mkdirSync(p, { recursive: true }),
    () => fs.rmSync(p, { recursive: true }),
    () => fs.renameSync(p, path()),
    () => { fs.renameSync(p, "../away"); fs.renameSync("../away", path()); },
    () => { fs.writeFileSync("../temp", "t" + step); fs.renameSync("../temp", p); },
    () => fs.symlinkSync(path(), p),
    () => { for (let i = 0; i < 40; i++) { fs.mkdirSync(p + "/d" + (i % 5), { recursive: true }); fs.writeFileSync(p + "/d" + (i % 5) + "/f" + i, "b" + step); } },
  ][int(10)]);
  if (next() < 0.02) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, int(60));
}`;

test("what was below a directory is hinted in one batch with the symlink that took its place, and is not looked for through it", async () => {
  const root = join(tempDir("follow"), "root");
  for (const path of ["c/c", "f/c/d"]) mkdirSync(join(root, path), { recursive: true });
  const follower = new Follower(root);
  const { watcher, ear } = await listen(root, "native", { ignored: () => false, clock: virtualClock() });
  follower.all();
  // Heard of first, so that the root's entries are handed out before those of c.
  writeFileSync(join(root, "a"), "first");
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
  rmSync(join(root, "c"), { recursive: true });
  symlinkSync("f", join(root, "c"));
  expect(await watcher.settled()).toBe(true);
  expect(ear.hints).toEqual([["a", "c", "c/c"]]);
  for (const path of ear.paths()) follower.hint(path);
  expect(follower.view).toEqual(disk(root));
});

describe.each(["native", "chokidar"] as const)("%s", (kind) => {
  test(`whoever follows the hints knows the disk after ${STEPS} steps of two processes`, async () => {
    const random = chance(`follow ${kind}`);
    const root = join(tempDir("follow"), "root");
    mkdirSync(root);
    writeFileSync(join(root, "a"), "first");
    const follower = new Follower(root);
    let asked = 0;
    const watcher = watcherOf(root, kind, {
      ignored: () => false,
      // Looks at everything come once a minute: here every six seconds. They find what the system did not tell of.
      clock: quickClock,
    });
    await watcher.start({
      hint: (paths) => {
        for (const path of paths) follower.hint(path);
      },
      overflow: () => {
        asked++;
        follower.all();
      },
      health: () => {},
    });
    follower.all();
    const workers = [0, 1].map(() => {
      const child = spawn(process.execPath, ["-e", WORKER, String(random.int(2 ** 31)), String(STEPS)], {
        cwd: root,
        stdio: "inherit",
      });
      atTeardown(() => void child.kill("SIGKILL"));
      return once(child, "exit");
    });
    await Promise.all(workers);
    // Five seconds after quiet is what is promised; a busy machine gets more.
    const until = performance.now() + 30_000;
    const same = (): boolean => {
      const now = disk(root);
      return now.size === follower.view.size && [...now].every(([path, what]) => follower.view.get(path) === what);
    };
    while (!same() && performance.now() < until) await new Promise((resolve) => setImmediate(resolve));
    console.log(
      `follow ${kind}: ${follower.view.size} paths, ${asked} looks at everything, ${watcher.health().directories} directories`,
    );
    const now = disk(root);
    const missed = [...now].filter(([path, what]) => follower.view.get(path) !== what);
    const stale = [...follower.view.keys()].filter((path) => !now.has(path));
    expect({ missed, stale }, `seed ${random.seed}`).toEqual({ missed: [], stale: [] });
    expect(watcher.health().state).toBe("watching");
  });
});
