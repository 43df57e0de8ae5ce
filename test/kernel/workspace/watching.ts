import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, vi } from "vitest";
import {
  type Clock,
  nodeDirectoryWatch,
  nodeFs,
  noFailPoints,
  systemClock,
  systemRandom,
} from "../../../src/daemon/base/index.ts";
import { openRoot } from "../../../src/daemon/workspace/files/index.ts";
import {
  createWatcher,
  type OverflowReason,
  type Watcher,
  type WatcherDeps,
  type WatchHealth,
} from "../../../src/daemon/workspace/watch/index.ts";
import { atTeardown } from "../../helpers/teardown.ts";

/** Longest wait for something to be heard, real milliseconds: a hundred times what it takes. */
const PATIENCE_MS = 20_000;

/** Ten seconds in one: a poll comes after 200 ms, a batch settles after 20. */
export const quickClock: Clock = {
  wallMs: () => systemClock.wallMs(),
  monotonicMs: () => systemClock.monotonicMs() * 10,
  after: (ms, callback) => systemClock.after(ms / 10, callback),
};

/** A log that keeps nothing. */
export const quiet = { debug() {}, info() {}, warn() {}, error() {} };

/** What a watcher said, and a way to wait for it. */
export class Ear {
  readonly hints: (readonly string[])[] = [];
  readonly overflows: OverflowReason[] = [];
  readonly healths: WatchHealth[] = [];

  /** Forgets what was said so far. */
  forget(): void {
    this.hints.length = 0;
    this.overflows.length = 0;
  }

  /** Every path hinted since. */
  paths(): Set<string> {
    return new Set(this.hints.flat());
  }

  /** Whether whoever follows the hints looks at a path: it, its directory or everything was named. */
  covers(path: string): boolean {
    const cut = path.lastIndexOf("/");
    const said = this.paths();
    return this.overflows.length > 0 || said.has(path) || said.has(cut < 0 ? "" : path.slice(0, cut));
  }

  /** Resolves when all these paths are covered. */
  async hears(...paths: readonly string[]): Promise<void> {
    await this.until(() => expect(paths.filter((path) => !this.covers(path)).slice(0, 5)).toEqual([]));
  }

  async until(check: () => void): Promise<void> {
    await vi.waitFor(check, { timeout: PATIENCE_MS, interval: 10 });
  }
}

/** A watcher over a root that is not started, closed at teardown. */
export function watcherOf(root: string, kind: WatcherDeps["kind"], options: Partial<WatcherDeps> = {}): Watcher {
  const confined = openRoot(root, { fs: nodeFs, random: systemRandom, failPoints: noFailPoints });
  const watcher = createWatcher({
    kind,
    root: confined,
    path: root,
    ignored: (path) => /(^|\/)(\.git|ignored)(\/|$)/.test(path),
    fs: nodeFs,
    directories: nodeDirectoryWatch,
    // Not the others: a batch's 200 ms are part of what they promise.
    clock: kind === "polling" ? quickClock : systemClock,
    log: quiet,
    ...options,
  });
  atTeardown(async () => {
    await watcher.close();
    confined.close();
  });
  return watcher;
}

/** A started one, and what it says. */
export async function listen(
  root: string,
  kind: WatcherDeps["kind"],
  options: Partial<WatcherDeps> = {},
): Promise<{ watcher: Watcher; ear: Ear }> {
  const watcher = watcherOf(root, kind, options);
  const ear = new Ear();
  await watcher.start({
    hint: (paths) => void ear.hints.push(paths),
    overflow: (reason) => void ear.overflows.push(reason),
    health: (now) => void ear.healths.push(now),
  });
  return { watcher, ear };
}

/** How many directories this process has watches on, and how many descriptors; as Linux says. */
export function handlesHeld(): { readonly watches: number; readonly descriptors: number } {
  const numbers = readdirSync("/proc/self/fd");
  let watches = 0;
  for (const number of numbers) {
    try {
      watches += readFileSync(join("/proc/self/fdinfo", number), "latin1").match(/^inotify wd:/gm)?.length ?? 0;
    } catch {
      // The descriptor of this very listing is closed by now.
    }
  }
  return { watches, descriptors: numbers.length };
}
