import { readlinkSync } from "node:fs";
import { type Clock, systemClock } from "../../../src/daemon/base/index.ts";
import type { ImportProgress } from "../../../src/daemon/workspace/index.ts";
import type { Site } from "./site.ts";

/** Waits for the end of the first look at the whole tree. */
export async function imported(site: Pick<Site, "workspace">, withinMs = 60_000): Promise<ImportProgress> {
  const until = performance.now() + withinMs;
  for (;;) {
    const progress = site.workspace.importProgress();
    if (progress.done) return progress;
    if (performance.now() > until) throw new Error(`not imported: ${JSON.stringify(progress)}`);
    // A turn of the loop that the import goes on in; its end is told by nothing else.
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** What is recorded: by path the hash, " x" behind an executable file's, "-> " before a symlink's. */
export function treeOf(site: Pick<Site, "workspace" | "store">, tree = site.workspace.tree()): Record<string, string> {
  return Object.fromEntries(
    [...site.store.trees.walk(tree, "")].map(({ path, content }) => [
      path,
      content.kind === "symlink" ? `-> ${content.sha256}` : content.executable ? `${content.sha256} x` : content.sha256,
    ]),
  );
}

/** The log, oldest first: cause and number of paths. */
export function loggedOf(site: Pick<Site, "workspace" | "store">): [string, number][] {
  return site.store.read
    .checkpoints({ workspace: site.workspace.rowid, limit: 10_000 })
    .reverse()
    .map((one) => [one.cause, site.store.read.touched(one.id, 0, 0).count]);
}

/** The machine's clocks, with the wall clock `ms` ahead. */
export function shifted(ms: number | (() => number)): Clock {
  return { ...systemClock, wallMs: () => systemClock.wallMs() + (typeof ms === "number" ? ms : ms()) };
}

/** The path behind a name in procfs, as the files room uses it. */
export function readTarget(path: string): string {
  const found = /^\/proc\/self\/fd\/\d+/.exec(path);
  return found === null ? path : readlinkSync(found[0]) + path.slice(found[0].length);
}

/** Waits until something holds of a workspace, asked whenever its head has moved; then whoever waited for that move has had its turn as well. */
export async function until(site: Pick<Site, "workspace">, holds: () => boolean, what: string, withinMs = 20_000): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const late = setTimeout(() => end(() => reject(new Error(`not within ${withinMs} ms: ${what}`))), withinMs);
    const off = site.workspace.onChange(() => holds() && end(() => setImmediate(resolve)));
    function end(told: () => void): void {
      clearTimeout(late);
      off();
      told();
    }
    if (holds()) end(resolve);
  });
}
