import { lstatSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { aroundOf } from "../../src/daemon/around.ts";
import { type Log, noFailPoints, systemClock, systemRandom } from "../../src/daemon/base/index.ts";
import { createMerger } from "../../src/daemon/history/index.ts";
import { openStore, type Store } from "../../src/daemon/store/index.ts";
import { createWorkspace, type Workspace } from "../../src/daemon/workspace/index.ts";
import { repo } from "./daemon.ts";

const quiet: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** Writes `count` files of 0.5 to 8 KiB of text, 50 a directory, the same for the same count. */
export function plant(root: string, count: number): void {
  let state = 1;
  for (let index = 0; index < count; index++) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    const directory = join(root, `d${Math.floor(index / 1_000)}`, `e${Math.floor(index / 50) % 20}`);
    if (index % 50 === 0) mkdirSync(directory, { recursive: true });
    let text = `file ${index}\n`;
    while (text.length < 512 + (state % 7_680)) text += `line ${text.length} of ${index}, ${state}\n`;
    writeFileSync(join(directory, `f${index}.txt`), text);
  }
}

/** A store with one workspace over `root`, as a daemon on a running host has it; `slowSyncMs` is put into each commit. */
export async function openHost(data: string, root: string, slowSyncMs = 0): Promise<Store> {
  const store = await openStore({ directory: data, worker: pathToFileURL(join(repo, "dist", "store-worker.mjs")), slowSyncMs });
  if (store.read.workspaces().length > 0) return store;
  const { dev, ino } = lstatSync(root, { bigint: true });
  const row = {
    id: systemRandom.id("ws"),
    name: "ws",
    repository: systemRandom.id("rp"),
    repositoryName: "ws",
    root,
    device: String(dev),
    inode: String(ino),
    incarnation: systemRandom.id("in"),
    tree: store.trees.empty,
  };
  await store.write("workspace.create", { row });
  return store;
}

/** Takes the workspace over and opens it, as a daemon does at its start: it begins to import, or looks for what changed. */
export async function openWhole(store: Store): Promise<Workspace> {
  const incarnations = store.read.workspaces().map(({ incarnation }) => incarnation);
  await store.write("takeover", { machine: "m", hostIdentity: "h", incarnations, leaseIncarnation: systemRandom.id("li") });
  const [row] = store.read.workspaces();
  if (row === undefined) throw new Error("the store has no workspace");
  return createWorkspace({
    row,
    store,
    merger: createMerger({ worker: pathToFileURL(join(repo, "dist", "history-worker.mjs")) }),
    leases: { judge: () => undefined },
    clock: systemClock,
    random: systemRandom,
    failPoints: noFailPoints,
    log: quiet,
    boot: "bench",
    import: true,
    around: aroundOf(row, { watcher: "auto" }, { clock: systemClock, log: quiet }),
  });
}
