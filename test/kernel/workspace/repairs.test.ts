// What is left to do after a save, when the store or the disk refuses while it is done: nothing is lost, and it is tried again.
import {
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { type Clock, type Fs, GinError, type Log, nodeFs, systemClock } from "../../../src/daemon/base/index.ts";
import { openStore, type Store } from "../../../src/daemon/store/index.ts";
import { TEMP_PREFIX } from "../../../src/daemon/workspace/index.ts";
import { atTeardown } from "../../helpers/teardown.ts";
import { tempDir } from "../../helpers/temp.ts";
import { hashOf } from "./model.ts";
import { copyImage, openSite, quiet, type Site, saveInput } from "./site.ts";
import { loggedOf, readTarget, treeOf } from "./whole.ts";

const text = (value: string): Buffer => Buffer.from(value);
const hash = (value: string): string => hashOf(text(value));
const kept = (site: Site, value: string): boolean => site.store.read.hasObject(hash(value));
const onDisk = (directory: string): string => readFileSync(join(directory, "ws", "a"), "utf8");
const temps = (directory: string): string[] => readdirSync(join(directory, "ws")).filter((name) => name.startsWith(TEMP_PREFIX));
const patient = { timeout: 20_000, interval: 20 };

function aged(directory: string, value: string): void {
  mkdirSync(join(directory, "ws"), { recursive: true });
  writeFileSync(join(directory, "ws", "a"), value);
  utimesSync(join(directory, "ws", "a"), 1_700_000_000, 1_700_000_000);
}

const change = (site: Site, id: string, from: string, to: string) =>
  site.workspace.save(saveInput(site, id, [{ path: "a", expect: hash(from), content: text(to) }]));

/** Calls `what` at the first hit of a point. */
function once(point: string, what: () => void): { hit: (at: string) => void } {
  let armed = true;
  return {
    hit(at) {
      if (at !== point || !armed) return;
      armed = false;
      what();
    },
  };
}

/** The real file system that refuses to read what lies under a temp's name while `refuses`. */
function unreadable(refuses: () => boolean): Fs {
  return {
    ...nodeFs,
    openSync(path, flags, mode) {
      const reads = (flags & 0o10000103) === 0;
      if (reads && refuses() && readTarget(String(path)).includes(`/${TEMP_PREFIX}`))
        throw Object.assign(new Error("EIO: injected"), { code: "EIO", errno: -5, syscall: "open" });
      return nodeFs.openSync(path, flags, mode);
    },
  };
}

/** A store that refuses what `refuses`. */
async function refusing(directory: string, refuses: (command: string, value: unknown) => boolean): Promise<Store> {
  mkdirSync(join(directory, "data"), { recursive: true });
  const store = await openStore({ directory: join(directory, "data"), inline: true });
  return {
    read: store.read,
    trees: store.trees,
    write: (command, value) =>
      refuses(command, value) ? Promise.reject(new GinError("DISK_FULL", "injected")) : store.write(command, value),
    close: () => store.close(),
  };
}

/** Clocks that go twenty times as fast. */
const fast: Clock = {
  ...systemClock,
  monotonicMs: () => systemClock.monotonicMs() * 20,
  after: (ms, callback) => systemClock.after(ms / 20, callback),
};

describe("a displaced file that cannot be read", () => {
  it("stays in a recovery, as often as that comes, and what it holds is recorded when it can be", async () => {
    const [alive, killed] = [tempDir("unread"), tempDir("unread-killed")];
    aged(alive, "old");
    const displaced = once("apply.displaced", () => copyImage(alive, killed));
    const theirs = once("save.committed", () => writeFileSync(join(alive, "ws", "a"), "theirs"));
    const hit = (at: string): void => {
      theirs.hit(at);
      displaced.hit(at);
    };
    const first = await openSite(alive, { failPoints: { hit } });
    atTeardown(() => first.close());
    await change(first, "r1", "old", "ours");
    for (let start = 0; start < 2; start++) {
      const site = await openSite(killed, { fs: unreadable(() => true) });
      expect([kept(site, "theirs"), temps(killed).length, onDisk(killed)]).toEqual([false, 1, "ours"]);
      expect(site.store.read.lingering(site.workspace.rowid).map(({ path }) => path)).toEqual(["a"]);
      await site.close();
    }
    const last = await openSite(killed);
    atTeardown(() => last.close());
    expect([kept(last, "theirs"), onDisk(last.directory)]).toEqual([true, "ours"]);
  });

  it("stays after the save that displaced it, which is answered, and is recorded when it can be read", async () => {
    const directory = tempDir("unread-save");
    aged(directory, "old");
    let refuses = false;
    const theirs = once("save.committed", () => {
      writeFileSync(join(directory, "ws", "a"), "theirs");
      refuses = true;
    });
    const site = await openSite(directory, { failPoints: theirs, fs: unreadable(() => refuses), clock: fast });
    atTeardown(() => site.close());
    expect((await change(site, "r1", "old", "ours")).applyPending).toBe(false);
    expect([onDisk(directory), temps(directory).length, kept(site, "theirs")]).toEqual(["ours", 1, false]);
    refuses = false;
    await vi.waitFor(() => expect([kept(site, "theirs"), temps(directory)]).toEqual([true, []]), patient);
    expect((await change(site, "r2", "ours", "next")).state).toEqual(site.workspace.state());
  });

  it("is left for the next start when nobody tells who writes to it", async () => {
    const [alive, killed] = [tempDir("untold"), tempDir("untold-killed")];
    aged(alive, "old");
    const displaced = once("apply.displaced", () => copyImage(alive, killed));
    const first = await openSite(alive, { failPoints: displaced });
    atTeardown(() => first.close());
    await change(first, "r1", "old", "ours");
    const site = await openSite(killed, { rootOptions: { writers: "off" } });
    atTeardown(() => site.close());
    const [temp] = temps(killed);
    expect(temp).toBeDefined();
    writeFileSync(join(killed, "ws", temp ?? ""), "theirs, late");
    await vi.waitFor(() => expect([kept(site, "theirs, late"), temps(killed)]).toEqual([true, []]), patient);
  });
});

describe("a file too large to keep whose place a save took", () => {
  const LARGE = 256 * 1024 * 1024 + 1;
  const sizes = (directory: string): number[] => temps(directory).map((name) => lstatSync(join(directory, "ws", name)).size);

  /** A site where a large file comes to `a` after a save was decided, and a third one when `comes` first says so of a later moment. */
  async function crowded(directory: string, comes: (isThere: boolean) => boolean): Promise<Site> {
    aged(directory, "old");
    const at = join(directory, "ws", "a");
    let committed = false;
    let armed = true;
    const hit = (point: string): void => {
      if (point === "save.committed" && !committed) {
        committed = true;
        truncateSync(at, LARGE);
      }
      if (point !== "apply.displaced" || !committed || !armed || !comes(existsSync(at))) return;
      armed = false;
      writeFileSync(at, "third");
    };
    return openSite(directory, { failPoints: { hit }, clock: fast });
  }

  it("is kept when somebody is faster as it is to get its place back", async () => {
    const directory = tempDir("crowded");
    let placed = false;
    const site = await crowded(directory, (isThere) => {
      placed ||= isThere;
      return placed && !isThere;
    });
    expect((await change(site, "r1", "old", "ours")).applyPending).toBe(true);
    await vi.waitFor(() => expect(site.workspace.applyPending()).toBe(0), patient);
    expect([treeOf(site), onDisk(directory), kept(site, "ours")]).toEqual([{ a: hash("third") }, "third", true]);
    await site.close();
    expect(sizes(directory)).toEqual([LARGE]);
    const next = await openSite(directory);
    atTeardown(() => next.close());
    expect([sizes(directory), onDisk(directory)]).toEqual([[LARGE], "third"]);
  });

  it("gets its place back from a file that came there meanwhile, which is recorded", async () => {
    const directory = tempDir("crowded-removal");
    let hits = 0;
    const site = await crowded(directory, () => ++hits === 2);
    atTeardown(() => site.close());
    await site.workspace.save(saveInput(site, "r1", [{ path: "a", expect: hash("old"), delete: true }]));
    expect(lstatSync(join(directory, "ws", "a")).size).toBe(LARGE);
    await vi.waitFor(() => expect([kept(site, "third"), temps(directory)]).toEqual([true, []]), patient);
  });
});

describe("a store that refuses", () => {
  it("the record of a displaced edit stops the workspace, and the next start records it", async () => {
    const directory = tempDir("unrecorded");
    aged(directory, "old");
    const carries = (value: unknown): boolean => JSON.stringify(value).includes(hash("theirs"));
    const store = await refusing(directory, (command, value) => command === "commit" && carries(value));
    const theirs = once("save.committed", () => writeFileSync(join(directory, "ws", "a"), "theirs"));
    const site = await openSite(directory, { store, failPoints: theirs });
    expect((await change(site, "r1", "old", "ours")).rescued).toEqual([]);
    expect(site.workspace.status().status).toBe("stopped");
    await site.close();
    expect(temps(directory)).toHaveLength(1);
    const next = await openSite(directory);
    atTeardown(() => next.close());
    expect([kept(next, "theirs"), onDisk(directory)]).toEqual([true, "ours"]);
  });

  it("to let go of displaced files is asked again after twice the wait each time, and saves go on meanwhile", async (ctx) => {
    // Else it is let go after its grace, without a row.
    if (!(await tells())) return ctx.skip("needs koffi on Linux: else nobody tells who has a file open");
    const directory = tempDir("unsettled");
    aged(directory, "old");
    let refuses = true;
    const tried: number[] = [];
    const store = await refusing(directory, (command) => {
      if (command !== "linger" || !refuses) return false;
      tried.push(fast.monotonicMs());
      return true;
    });
    let fd = -1;
    const opens = once("save.committed", () => (fd = openSync(join(directory, "ws", "a"), "r+")));
    const site = await openSite(directory, { store, failPoints: opens, clock: fast });
    atTeardown(() => site.close());
    await change(site, "r1", "old", "ours");
    writeSync(fd, "theirs, late", 0);
    await vi.waitFor(() => expect(tried.length).toBeGreaterThanOrEqual(4), patient);
    // The look recorded what was written, so the head moved, although nothing could be let go.
    expect(kept(site, "theirs, late")).toBe(true);
    const outcome = await change(site, "r2", "ours", "next");
    expect([outcome.state, site.workspace.status().status]).toEqual([site.workspace.state(), "active"]);
    for (const [at, gap] of tried.slice(1, 4).map((time, at) => [at, time - (tried[at] ?? 0)] as const))
      expect([at, gap >= 500 * 2 ** at]).toEqual([at, true]);
    refuses = false;
    closeSync(fd);
    await vi.waitFor(() => expect(temps(directory)).toEqual([]), patient);
  });
});

it("two displaced files of one path, both written to late, are both recorded", async () => {
  const directory = tempDir("twice");
  aged(directory, "old");
  const open: number[] = [];
  const hit = (at: string): void => {
    if (at === "save.committed") open.push(openSync(join(directory, "ws", "a"), "r+"));
  };
  const failed: unknown[] = [];
  const log: Log = { ...quiet, error: (facts) => void failed.push(facts) };
  const site = await openSite(directory, { failPoints: { hit }, log });
  await change(site, "r1", "old", "ours");
  await change(site, "r2", "ours", "next");
  for (const [at, fd] of open.entries()) {
    writeSync(fd, `theirs ${at}`, 0);
    closeSync(fd);
  }
  await site.close();
  expect([failed, temps(directory)]).toEqual([[], []]);
  const next = await openSite(directory);
  atTeardown(() => next.close());
  expect([kept(next, "theirs 0"), kept(next, "theirs 1"), onDisk(directory)]).toEqual([true, true, "next"]);
});

it("a displaced file that is open at the end of the daemon is read once", async () => {
  const directory = tempDir("read-once");
  aged(directory, "old");
  let fd = -1;
  let looks = 0;
  const counting: Fs = {
    ...nodeFs,
    readSync(from, ...given) {
      if (readTarget(`/proc/self/fd/${from}`).includes(`/${TEMP_PREFIX}`)) looks++;
      return nodeFs.readSync(from, ...given);
    },
  };
  const opens = once("save.committed", () => (fd = openSync(join(directory, "ws", "a"), "r+")));
  // Its first look by itself is not due before the end.
  const still: Clock = { ...systemClock, monotonicMs: () => 0, after: (ms, callback) => systemClock.after(ms * 1_000, callback) };
  const site = await openSite(directory, { failPoints: opens, fs: counting, clock: still });
  await change(site, "r1", "old", "ours");
  looks = 0;
  await site.close();
  closeSync(fd);
  expect(looks).toBe(1);
});

describe("a committed path that waits for the disk", () => {
  /** A site with `a` saved and not on disk, because something was in the way when it was to be put there. */
  async function waiting(directory: string): Promise<Site> {
    aged(directory, "old");
    const at = join(directory, "ws", "a");
    const blocks = once("save.committed", () => {
      rmSync(at);
      mkdirSync(at);
    });
    const site = await openSite(directory, { failPoints: blocks });
    atTeardown(() => site.close());
    expect((await change(site, "r1", "old", "ours")).applyPending).toBe(true);
    return site;
  }

  it("gives way to what somebody else wrote there, and that is recorded without anybody asking", async () => {
    const directory = tempDir("waited");
    const site = await waiting(directory);
    rmSync(join(directory, "ws", "a"), { recursive: true });
    writeFileSync(join(directory, "ws", "a"), "theirs");
    await vi.waitFor(() => expect(site.workspace.applyPending()).toBe(0), patient);
    expect(treeOf(site)).toEqual({ a: hash("theirs") });
    expect([kept(site, "theirs"), kept(site, "ours"), onDisk(directory)]).toEqual([true, true, "theirs"]);
    expect(loggedOf(site).at(-1)).toEqual(["external", 1]);
  });

  it("is gone where somebody else's directory stands", async () => {
    const directory = tempDir("waited-directory");
    const site = await waiting(directory);
    await vi.waitFor(() => expect(site.workspace.applyPending()).toBe(0), patient);
    expect([treeOf(site), kept(site, "ours")]).toEqual([{}, true]);
  });
});

/** Whether this machine tells who has a file open. */
async function tells(): Promise<boolean> {
  return import("koffi").then(
    () => process.platform === "linux",
    () => false,
  );
}
