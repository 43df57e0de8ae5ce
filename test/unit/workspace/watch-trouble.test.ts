import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test, vi } from "vitest";
import { type DirectoryWatch, nodeDirectoryWatch, systemClock } from "../../../src/daemon/base/index.ts";
import type { OverflowReason } from "../../../src/daemon/workspace/watch/index.ts";
import { tempDir } from "../../helpers/temp.ts";
import { listen, watcherOf } from "../../kernel/workspace/watching.ts";
import { virtualClock } from "../lease/virtual-clock.ts";

let root: string;

beforeEach(() => {
  root = tempDir("watch");
  for (const path of ["a/b", "c"]) mkdirSync(join(root, path), { recursive: true });
});

/** A system that refuses the watches from the n-th on, until told otherwise; and how many are open. */
function limited(errno: string) {
  const state = { left: Number.POSITIVE_INFINITY, open: 0, flood: undefined as (() => void) | undefined };
  const directories: DirectoryWatch = {
    ...nodeDirectoryWatch,
    watch(path, listener) {
      if (state.left-- <= 0) throw Object.assign(new Error(errno), { code: errno, syscall: "watch" });
      const handle = nodeDirectoryWatch.watch(path, listener);
      let open = true;
      state.open++;
      return {
        close() {
          if (open) state.open--;
          open = false;
          handle.close();
        },
      };
    },
    onFlood(listener) {
      state.flood = listener;
      return () => {
        state.flood = undefined;
      };
    },
  };
  return { state, directories };
}

const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
};

test.each([
  ["ENOSPC", /sudo sysctl fs\.inotify\.max_user_watches=\d+$/],
  ["EMFILE", /sudo sysctl fs\.inotify\.max_user_instances=\d+$/],
  ["EINVAL", /^watching failed \(EINVAL\), so the disk is polled$/],
])("no watches left at the start (%s): it polls, says what mends it, and tries again", async (errno, note) => {
  const clock = virtualClock();
  const { state, directories } = limited(errno);
  state.left = 2;
  const { watcher, ear } = await listen(root, "native", { clock, directories });
  expect(watcher.health()).toMatchObject({ kind: "native", state: "polling", directories: 0 });
  expect(watcher.health().note).toMatch(note);
  expect(state.open).toBe(0);
  clock.advance(200);
  await settle();
  expect(ear.overflows).toEqual(["fault"]);
  for (let polls = 1; polls <= 3; polls++) {
    clock.advance(polls === 1 ? 2_000 : 60_000);
    await settle();
    expect(ear.overflows.filter((reason) => reason === "poll").length).toBe(polls);
  }
  state.left = Number.POSITIVE_INFINITY;
  clock.advance(300_000);
  await ear.until(() => expect(watcher.health()).toMatchObject({ state: "watching", directories: 4, note: "" }));
  const polled = ear.overflows.length;
  clock.advance(200);
  await settle();
  expect(ear.overflows.slice(polled)).toEqual(["fault"]);
  clock.advance(100_000);
  await settle();
  expect(ear.overflows.length).toBe(polled + 1);
});

test("no watches left for a directory made later: everything is looked at, then polled", async () => {
  const { state, directories } = limited("ENOSPC");
  const { watcher, ear } = await listen(root, "native", { directories });
  expect(watcher.health().directories).toBe(4);
  state.left = 1;
  mkdirSync(join(root, "new/deep/deeper"), { recursive: true });
  await ear.until(() => expect(watcher.health().state).toBe("polling"));
  await ear.until(() => expect(ear.overflows).toContain("fault"));
  expect(state.open).toBe(0);
});

test("a watch that ends by itself is set anew, the root's as well, and what is there is hinted", async () => {
  const listeners: ((errno: string) => void)[] = [];
  const directories: DirectoryWatch = {
    ...nodeDirectoryWatch,
    watch(path, listener) {
      listeners.push((errno) => listener.failed(errno));
      return nodeDirectoryWatch.watch(path, listener);
    },
  };
  const { ear, watcher } = await listen(root, "native", { directories });
  expect(listeners.length).toBe(4);
  for (const fail of listeners.slice(1)) fail("EIO");
  await ear.hears("a/any", "a/b/any", "c/any");
  expect(listeners.length).toBe(7);
  ear.forget();
  listeners[0]?.("EIO");
  await ear.until(() => expect(ear.overflows).toEqual(["flood"]));
  ear.forget();
  writeFileSync(join(root, "a/b/later"), "x");
  await ear.hears("a/b/later");
  expect(watcher.health()).toMatchObject({ state: "watching", directories: 4 });
});

test("a flood asks for a look at everything", async () => {
  const clock = virtualClock();
  const { state, directories } = limited("ENOSPC");
  const { ear, watcher } = await listen(root, "native", { clock, directories });
  state.flood?.();
  clock.advance(200);
  await settle();
  expect(ear.overflows).toEqual(["flood"]);
  expect(watcher.health().state).toBe("watching");
});

test("a minute after it told of something a look at everything is asked for, and none where nothing happens", async () => {
  const clock = virtualClock();
  const { ear } = await listen(root, "native", { clock });
  clock.advance(60_000);
  await settle();
  expect(ear.overflows).toEqual([]);
  writeFileSync(join(root, "a/b/file"), "changed");
  await vi.waitFor(() => {
    clock.advance(200);
    expect(ear.covers("a/b/file")).toBe(true);
  });
  clock.advance(60_000);
  await settle();
  expect(ear.overflows).toEqual(["poll"]);
  clock.advance(60_000);
  await settle();
  expect(ear.overflows).toEqual(["poll"]);
});

test("polls wait twenty times as long as a look took, 2 s to 60 s, and never overlap", async () => {
  const clock = virtualClock();
  let done: (() => void) | undefined;
  const asked: { at: number; reason: OverflowReason }[] = [];
  const poller = watcherOf(root, "polling", { clock });
  await poller.start({
    hint: () => {},
    health: () => {},
    overflow: (reason) => {
      asked.push({ at: clock.monotonicMs(), reason });
      return new Promise((resolve) => {
        done = resolve;
      });
    },
  });
  const look = async (ms: number): Promise<void> => {
    clock.advance(ms);
    done?.();
    await settle();
  };
  clock.advance(2_000);
  await look(500);
  clock.advance(9_999);
  expect(asked.map(({ at }) => at)).toEqual([2_000]);
  clock.advance(1);
  await look(10_000);
  clock.advance(60_000);
  expect(asked.map(({ at }) => at)).toEqual([2_000, 12_500, 82_500]);
  await poller.close();
  done?.();
});

test("what changes while it starts is heard of, and closing while it starts leaves nothing", async () => {
  for (let index = 0; index < 300; index++) mkdirSync(join(root, `d${index}/x`), { recursive: true });
  const { state, directories } = limited("ENOSPC");
  let told = 0;
  // A clock on which every look is past its slice, so that the start gives way after each directory.
  let now = 0;
  const clock = { ...systemClock, monotonicMs: () => (now += 20) };
  const watcher = watcherOf(root, "native", { directories, clock });
  const started = watcher.start({ hint: () => told++, overflow: () => void told++, health: () => {} });
  await settle();
  expect(watcher.health()).toMatchObject({ state: "starting" });
  expect(state.open).toBeGreaterThan(0);
  await watcher.close();
  await started;
  writeFileSync(join(root, "a/x"), "x");
  await settle();
  expect([state.open, told, watcher.health().state]).toEqual([0, 0, "closed"]);
});

test("a directory that another takes the place of while it is walked leads no watch to what was below it", async () => {
  for (let index = 0; index < 100; index++) mkdirSync(join(root, `a/b${index}`));
  mkdirSync(join(root, "a/y"));
  const directories: DirectoryWatch = {
    ...nodeDirectoryWatch,
    directoriesIn: (path) => nodeDirectoryWatch.directoriesIn(path).sort(),
  };
  // A clock on which every step is past its slice, so that each gives way.
  let now = 0;
  const clock = { ...systemClock, monotonicMs: () => (now += 20) };
  const { ear, watcher } = await listen(root, "native", { directories, clock });
  const refreshed = watcher.refresh("");
  await settle();
  renameSync(join(root, "a"), join(root, "z"));
  mkdirSync(join(root, "a/y"), { recursive: true });
  await refreshed;
  // The root, a, a/y, c, z, and the 102 in z.
  await ear.until(() => expect(watcher.health().directories).toBe(107));
  await ear.hears("z/y/any", "a/y/any");
  ear.forget();
  writeFileSync(join(root, "a/y/file"), "x");
  await ear.hears("a/y/file");
});

test("a directory whose end is told by the name of an earlier watch on it is watched anew when its path comes back", async () => {
  const listeners: Parameters<DirectoryWatch["watch"]>[1][] = [];
  const directories: DirectoryWatch = {
    ...nodeDirectoryWatch,
    directoriesIn: (path) => nodeDirectoryWatch.directoriesIn(path).sort(),
    watch(path, listener) {
      listeners.push(listener);
      return nodeDirectoryWatch.watch(path, listener);
    },
  };
  const { ear } = await listen(root, "native", { directories });
  expect(listeners.length).toBe(4);
  // The root, a, a/b, c: what stands at c afterwards may have the inode and the time of birth of the one that went.
  listeners[3]?.event("1000000", true);
  listeners[0]?.event("c", true);
  await ear.until(() => expect(listeners.length).toBe(5));
});
