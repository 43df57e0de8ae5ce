import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { type Fs, GinError, nodeCommands, nodeFs, systemClock } from "../../../src/daemon/base/index.ts";
import { type Commands, openStore, type Store } from "../../../src/daemon/store/index.ts";
import {
  createIgnoreRules,
  type IgnoreRules,
  readGit,
  type Watcher,
  type WatcherHooks,
} from "../../../src/daemon/workspace/index.ts";
import { atTeardown } from "../../helpers/teardown.ts";
import { tempDir } from "../../helpers/temp.ts";
import { hashOf } from "../../kernel/workspace/model.ts";
import { openSite, type Site, saveInput } from "../../kernel/workspace/site.ts";
import { imported, loggedOf, readTarget, shifted, treeOf, until } from "../../kernel/workspace/whole.ts";
import { collect, limits } from "../store/gc-model.ts";

const hash = (value: string): string => hashOf(Buffer.from(value));

let directory: string;
let root: string;
beforeEach(() => {
  directory = tempDir("outside");
  root = join(directory, "ws");
  mkdirSync(root);
});

function put(path: string, value: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), value);
}

async function open(options: Parameters<typeof openSite>[1] = {}): Promise<Site> {
  const site = await openSite(directory, { import: true, ...options });
  atTeardown(() => site.close());
  await imported(site);
  return site;
}

/** What the newest checkpoint touched: path, and what became of it. */
function newest(site: Site): [string, string][] {
  const { head } = site.workspace.state();
  return site.store.read
    .touched(head, 0, 100)
    .paths.map(({ path, before, after, renamedFrom }) => [
      path,
      renamedFrom !== undefined ? `from ${renamedFrom}` : after === null ? "gone" : before === null ? "new" : "changed",
    ]);
}

/** A watcher that hints when the test says so. */
function handWatcher(): Watcher & { hooks: () => WatcherHooks; refreshed: string[] } {
  let hooks: WatcherHooks | undefined;
  const refreshed: string[] = [];
  return {
    refreshed,
    hooks() {
      if (hooks === undefined) throw new Error("the watcher was not started");
      return hooks;
    },
    async start(given) {
      hooks = given;
    },
    async refresh(at) {
      refreshed.push(at);
    },
    flush() {},
    settled: async () => false,
    health: () => ({ kind: "native", state: "watching", directories: 1, note: "" }),
    async close() {},
  };
}

/** Ignores everything below `build/` and files ending in `.log`. */
const someIgnored: IgnoreRules = {
  ignored: (path) => path === "build" || path.startsWith("build/") || path.endsWith(".log"),
  changed: (path) => (path.endsWith(".gitignore") ? dirname(path).replace(/^\.$/, "") : undefined),
  listed: () => [],
  setOuter: () => false,
};

function generation(site: Site, wanted: number): Promise<void> {
  return until(site, () => site.workspace.state().generation >= wanted, `generation ${wanted}`);
}

describe("a look at the whole tree", () => {
  it("records everything that changed outside as one checkpoint", async () => {
    for (const path of ["same", "changed", "gone", "mode", "dir/a", "dir/b", "old/x", "old/y"]) put(path, `${path}\n`);
    const site = await open();
    put("changed", "other\n");
    put("new/deep", "new\n");
    rmSync(join(root, "gone"));
    chmodSync(join(root, "mode"), 0o755);
    renameSync(join(root, "old"), join(root, "moved"));
    const state = await site.workspace.sync();
    expect(loggedOf(site)).toEqual([
      ["import", 8],
      ["external", 8],
    ]);
    expect(state).toEqual(site.workspace.state());
    expect(newest(site)).toEqual([
      ["changed", "changed"],
      ["gone", "gone"],
      ["mode", "changed"],
      ["moved/x", "from old/x"],
      ["moved/y", "from old/y"],
      ["new/deep", "new"],
      ["old/x", "gone"],
      ["old/y", "gone"],
    ]);
    expect(treeOf(site).mode).toBe(`${hash("mode\n")} x`);
    expect(Buffer.from(site.store.read.object(hash("new\n")) ?? []).toString()).toBe("new\n");
    expect((await site.workspace.sync()).generation).toBe(2);
  });

  it("takes files for directories, directories for files, and links for both", async () => {
    put("file", "f\n");
    put("dir/a", "a\n");
    put("dir/sub/b", "b\n");
    put("linked/c", "c\n");
    put("keep", "k\n");
    const site = await open();
    rmSync(join(root, "file"));
    put("file/inside", "i\n");
    rmSync(join(root, "dir"), { recursive: true });
    put("dir", "now a file\n");
    rmSync(join(root, "linked"), { recursive: true });
    symlinkSync("dir", join(root, "linked"));
    await site.workspace.sync();
    expect(treeOf(site)).toEqual({
      dir: hash("now a file\n"),
      "file/inside": hash("i\n"),
      keep: hash("k\n"),
      linked: `-> ${hash("dir")}`,
    });
    expect(loggedOf(site).length).toBe(2);
    rmSync(join(root, "linked"));
    put("linked/c", "c again\n");
    await site.workspace.sync();
    expect(treeOf(site)["linked/c"]).toBe(hash("c again\n"));
  });

  it("records a file that became a directory before the import saw it", async () => {
    put("a", "a\n");
    const site = await openSite(directory);
    atTeardown(() => site.close());
    await site.workspace.readHead("a", { authorise: () => {}, content: true });
    rmSync(join(root, "a"));
    put("a/b", "b\n");
    await site.workspace.readHead("a/b", { authorise: () => {}, content: true });
    expect(treeOf(site)).toEqual({ "a/b": hash("b\n") });
  });

  it("looks once for all who ask at the same time, and lets one of them give up", async () => {
    put("a", "a\n");
    const site = await open();
    put("b", "b\n");
    const end = new AbortController();
    const gaveUp = site.workspace.sync(end.signal).catch((thrown: unknown) => thrown);
    const others = [site.workspace.sync(), site.workspace.sync()];
    end.abort();
    expect(((await gaveUp) as GinError).reason).toBe("CANCELLED");
    expect((await Promise.all(others)).map((state) => state.generation)).toEqual([2, 2]);
  });

  it("answers only when also what it could not record at once is recorded", async () => {
    put("a", "a\n");
    mkdirSync(join(directory, "data"));
    const store = await openStore({ directory: join(directory, "data"), inline: true });
    let rounds = 0;
    let takes = false;
    const site = await open({
      store: {
        read: store.read,
        trees: store.trees,
        async write(command, value) {
          if (command === "commit" && takes && ++rounds <= 8) {
            // What was sent ahead of its checkpoint is gone before that is committed; gc leaves the newest content where it is.
            await store.write("objects", { objects: [{ sha256: hash(`${rounds}`), bytes: Buffer.from(`${rounds}`) }] });
            await collect(store, limits());
          }
          return store.write(command, value);
        },
        close: () => store.close(),
      },
    });
    put("a", "A\n");
    takes = true;
    const state = await site.workspace.sync();
    expect(treeOf(site)).toEqual({ a: hash("A\n") });
    expect([state, site.store.read.hasObject(hash("A\n"))]).toEqual([site.workspace.state(), true]);
    expect(rounds).toBeGreaterThan(1);
  });

  it("does not take what a save made for a change outside", async () => {
    put("a", "a\n");
    const site = await open();
    const saves = Array.from({ length: 20 }, (_, index) =>
      site.workspace.save(
        saveInput(site, `s${index}`, [{ path: `n${index}`, expect: "absent", content: Buffer.from(`${index}`) }]),
      ),
    );
    await Promise.all([site.workspace.sync(), ...saves, site.workspace.sync()]);
    await site.workspace.sync();
    expect(new Set(loggedOf(site).map(([cause]) => cause))).toEqual(new Set(["import", "save"]));
  });

  it("believes no file that is as new as the look, and none at all once the clock was set back", async () => {
    let ahead = 10_000;
    const opened: string[] = [];
    const fs: Fs = {
      ...nodeFs,
      openSync(path, flags, mode) {
        const target = readTarget(String(path));
        if ((flags & 0o10000000) === 0 && target === join(root, "a")) opened.push(target.slice(root.length + 1));
        return nodeFs.openSync(path, flags, mode);
      },
    };
    put("a", "a\n");
    const site = await open({ fs, clock: shifted(() => ahead) });
    await site.workspace.sync();
    expect(opened).toEqual(["a"]);
    ahead -= 3_600_000;
    await site.workspace.sync();
    expect(opened).toEqual(["a", "a"]);
    ahead = 0;
    await site.workspace.sync();
    await site.workspace.sync();
    // Its times are those of now by this clock: it is read each time.
    expect(opened.length).toBe(4);
  });

  it("believes nothing from before the clock was set back although that could not be written down at once", async () => {
    mkdirSync(join(directory, "data"));
    const store = await openStore({ directory: join(directory, "data"), inline: true });
    const cleared: boolean[] = [];
    let refuses = false;
    const refusing: Store = {
      read: store.read,
      trees: store.trees,
      write(command, value) {
        if (command === "looked") cleared.push((value as Commands["looked"]["in"]).clear);
        if (command !== "looked" || !refuses) return store.write(command, value);
        return Promise.reject(new GinError("DISK_FULL", "injected"));
      },
      close: () => store.close(),
    };
    let ahead = 10_000;
    put("a", "a\n");
    const site = await open({ store: refusing, clock: shifted(() => ahead) });
    await site.workspace.sync();
    cleared.length = 0;
    ahead -= 3_600_000;
    refuses = true;
    await site.workspace.sync();
    ahead += 3_600_000;
    refuses = false;
    await site.workspace.sync();
    await vi.waitFor(() => expect(cleared).toEqual([true, true]));
  });
});

describe("what is ignored", () => {
  it("is not scanned, is served without a checkpoint, and is tracked once it was saved", async () => {
    put("a", "a\n");
    put("build/out", "o\n");
    put("x.log", "log\n");
    const site = await open({ ignore: someIgnored });
    expect(Object.keys(treeOf(site))).toEqual(["a"]);
    const read = await site.workspace.readHead("build/out", { authorise: () => {}, content: true });
    expect(read.kind === "file" && [Buffer.from(read.bytes).toString(), read.state.generation]).toEqual(["o\n", 1]);
    expect(site.store.read.hasObject(hash("o\n"))).toBe(true);
    await site.workspace.save(saveInput(site, "s", [{ path: "build/out", expect: hash("o\n"), content: Buffer.from("O\n") }]));
    expect(loggedOf(site)).toEqual([
      ["import", 1],
      ["external", 1],
      ["save", 1],
    ]);
    put("build/out", "outside\n");
    put("build/other", "never seen\n");
    await site.workspace.sync();
    expect(newest(site)).toEqual([["build/out", "changed"]]);
  });

  it("stays tracked when it was before the rules said so", async () => {
    put("x.log", "one\n");
    const first = await openSite(directory, { import: true });
    await imported(first);
    await first.close();
    put("x.log", "two\n");
    const site = await open({ ignore: someIgnored });
    await site.workspace.sync();
    expect(treeOf(site)).toEqual({ "x.log": hash("two\n") });
  });
});

describe("hints of the watcher", () => {
  it("are looked at alone: files, directories by their entries, and gone directories by all that was below", async () => {
    put("a", "a\n");
    put("gone/deep/er", "g\n");
    put("other", "o\n");
    const watcher = handWatcher();
    const site = await open({ watcher });
    put("a", "A\n");
    put("dir/b", "b\n");
    put("dir/sub/c", "not hinted at\n");
    put("other", "not hinted at\n");
    rmSync(join(root, "gone"), { recursive: true });
    watcher.hooks().hint(["a", "dir", "gone", "nothing/here", ".git/index"]);
    await generation(site, 2);
    expect(newest(site)).toEqual([
      ["a", "changed"],
      ["dir/b", "new"],
      ["gone/deep/er", "gone"],
    ]);
    await watcher.hooks().overflow("flood");
    expect(newest(site)).toEqual([
      ["dir/sub/c", "new"],
      ["other", "changed"],
    ]);
  });

  it("of changed rules look at everything below, and have it watched anew", async () => {
    put("sub/a", "a\n");
    const watcher = handWatcher();
    const site = await open({ watcher, ignore: someIgnored });
    put("sub/deep/b", "b\n");
    put("sub/.gitignore", "x\n");
    put("elsewhere", "e\n");
    watcher.hooks().hint(["sub/.gitignore"]);
    await generation(site, 2);
    expect(newest(site).map(([path]) => path)).toEqual(["sub/.gitignore", "sub/deep/b"]);
    expect(watcher.refreshed).toEqual(["sub"]);
  });
});

describe("rules that changed without a hint", () => {
  /** Ignore rules as they are on disk. */
  const withRules = (watcher: Watcher | undefined): Parameters<typeof openSite>[1] => ({
    around: async (confined) => ({
      ignore: createIgnoreRules({ root: confined, path: root, fs: nodeFs }),
      ...(watcher === undefined ? {} : { watcher }),
    }),
  });

  const rulesOfBefore = (): void => {
    put(".gitignore", "x\n");
    put("sub/.gitignore", "x\n");
    for (const path of ["x", "y", "sub/x", "sub/y"]) put(path, "one\n");
  };

  const otherRules = (): void => {
    put("sub/.gitignore", "z\n");
    rmSync(join(root, ".gitignore"));
    put("sub/z", "hidden now\n");
    put("z", "z\n");
  };

  it("are gone by at a sync, where nothing watches", async () => {
    rulesOfBefore();
    const site = await open(withRules(undefined));
    expect(Object.keys(treeOf(site))).toEqual([".gitignore", "sub/.gitignore", "sub/y", "y"]);
    otherRules();
    await site.workspace.sync();
    expect(Object.keys(treeOf(site))).toEqual(["sub/.gitignore", "sub/x", "sub/y", "x", "y", "z"]);
  });

  it.each(["flood", "poll"] as const)("are gone by when everything is looked at (%s), and watched by", async (reason) => {
    rulesOfBefore();
    const watcher = handWatcher();
    const site = await open(withRules(watcher));
    otherRules();
    await watcher.hooks().overflow(reason);
    expect(Object.keys(treeOf(site))).toEqual(["sub/.gitignore", "sub/x", "sub/y", "x", "y", "z"]);
    put("sub/.gitignore", "none\n");
    await watcher.hooks().overflow(reason);
    expect(Object.keys(treeOf(site))).toEqual(["sub/.gitignore", "sub/x", "sub/y", "sub/z", "x", "y", "z"]);
    await site.workspace.sync();
    expect(watcher.refreshed).toEqual(["", "sub"]);
  });

  it("of the repository are read anew after a minute, and everything is watched by them; while they stay nothing is", async () => {
    execFileSync("git", ["init", "-q", root]);
    put(".git/info/exclude", "x\n");
    put("x", "x\n");
    const watcher = handWatcher();
    let ahead = 0;
    const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + ahead };
    const site = await open({
      clock,
      around: async (confined) => {
        const found = await readGit(root, { commands: nodeCommands, fs: nodeFs, clock, env: process.env });
        if (found.kind !== "work-tree") throw new Error(`no work tree: ${found.note}`);
        return { ignore: createIgnoreRules({ root: confined, path: root, fs: nodeFs }), watcher, git: found.git };
      },
    });
    ahead += 60_000;
    await site.workspace.sync();
    expect([Object.keys(treeOf(site)), watcher.refreshed]).toEqual([[], []]);
    put(".git/info/exclude", "y\n");
    ahead += 60_000;
    await site.workspace.sync();
    expect([Object.keys(treeOf(site)), watcher.refreshed]).toEqual([["x"], [""]]);
  });
});

it("does not read a large file anew at each hint while reading it takes long, and reads it in the end", async () => {
  const large = (end: string): void => writeFileSync(join(root, "large"), Buffer.alloc(6 * 1024 * 1024, end));
  large("1");
  const slow: Fs = {
    ...nodeFs,
    read: async (...call) => {
      await new Promise((resolve) => setTimeout(resolve, 15)); // How slow this disk is: the test itself waits for generations.
      return nodeFs.read(...call);
    },
  };
  const watcher = handWatcher();
  const site = await open({ watcher, fs: slow });
  large("2");
  watcher.hooks().hint(["large"]);
  await generation(site, 2);
  const from = performance.now();
  large("3");
  watcher.hooks().hint(["large"]);
  watcher.hooks().hint(["large"]);
  await generation(site, 3);
  expect(performance.now() - from).toBeGreaterThan(1_000);
  large("4");
  expect((await site.workspace.sync()).generation).toBe(4);
});

describe("a start", () => {
  it("looks for what changed while nobody did", async () => {
    put("a", "a\n");
    put("b", "b\n");
    const first = await openSite(directory, { import: true });
    await imported(first);
    await first.close();
    put("a", "A\n");
    rmSync(join(root, "b"));
    const site = await open();
    await generation(site, 2);
    expect(newest(site)).toEqual([
      ["a", "changed"],
      ["b", "gone"],
    ]);
  });

  it("is told at once when the root is gone, records no deletions, and goes on when it is back", async () => {
    put("a", "a\n");
    const site = await open();
    renameSync(root, `${root}-away`);
    const refusal = await site.workspace.sync().catch((thrown: unknown) => thrown);
    expect(refusal instanceof GinError && refusal.reason).toBe("WORKSPACE_MISSING_ROOT");
    expect(site.workspace.status().status).toBe("missing");
    expect(site.workspace.importProgress().note).toContain("gone");
    mkdirSync(root);
    const replaced = await site.workspace.sync().catch((thrown: unknown) => thrown);
    expect(replaced instanceof GinError && replaced.reason).toBe("WORKSPACE_MISSING_ROOT");
    rmSync(root, { recursive: true });
    renameSync(`${root}-away`, root);
    put("b", "b\n");
    expect((await site.workspace.sync()).generation).toBe(2);
    expect(newest(site)).toEqual([["b", "new"]]);
    expect(existsSync(join(root, "a")) && readFileSync(join(root, "a"), "utf8")).toBe("a\n");
  });
});
