import { cpSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type FailPoints, type Log, noFailPoints, systemClock, systemRandom } from "../../../src/daemon/base/index.ts";
import { createMerger } from "../../../src/daemon/history/index.ts";
import { openStore, type Store } from "../../../src/daemon/store/index.ts";
import {
  createWorkspace,
  type LeaseJudge,
  type OpenWorkspaceDeps,
  type Recovered,
  type SaveInput,
  type Workspace,
} from "../../../src/daemon/workspace/index.ts";

/** A log that forgets. */
export const quiet: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** Nobody holds a lease. */
export const noLeases: LeaseJudge = { judge: () => undefined };

/** Memory-backed directory where there is one: crash images are copied and recovered thousands of times. */
export const fastTemp: string = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

const merger = createMerger();

/** A store and a directory, as one daemon's term of ownership sees them. */
export interface Site {
  readonly directory: string;
  readonly store: Store;
  readonly workspace: Workspace;
  readonly recovered: Recovered;
  close(): Promise<void>;
}

/** Opens (making it when new) the workspace under `directory`: `data/` and `ws/`. */
export async function openSite(
  directory: string,
  options: { readonly failPoints?: FailPoints; readonly boot?: string; readonly store?: Store } & Partial<
    Pick<
      OpenWorkspaceDeps,
      "fs" | "leases" | "durability" | "rootOptions" | "clock" | "import" | "ignore" | "watcher" | "git" | "log" | "around"
    >
  > = {},
): Promise<Site> {
  const data = join(directory, "data");
  const root = join(directory, "ws");
  mkdirSync(data, { recursive: true });
  mkdirSync(root, { recursive: true });
  const store = options.store ?? (await openStore({ directory: data, inline: true }));
  if (store.read.workspaces().length === 0) {
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
  }
  await store.write("takeover", {
    machine: "m",
    hostIdentity: "h",
    incarnations: [systemRandom.id("in")],
    leaseIncarnation: systemRandom.id("li"),
  });
  const found = store.read.workspaces()[0];
  if (found === undefined) throw new Error("no workspace");
  let recovered: Recovered | undefined;
  const workspace = await createWorkspace({
    row: { ...found, root },
    store,
    leases: options.leases ?? noLeases,
    merger,
    clock: options.clock ?? systemClock,
    random: systemRandom,
    failPoints: options.failPoints ?? noFailPoints,
    log: options.log ?? quiet,
    boot: options.boot ?? "boot-1",
    ...(options.durability === undefined ? {} : { durability: options.durability }),
    ...(options.rootOptions === undefined ? {} : { rootOptions: options.rootOptions }),
    ...(options.fs === undefined ? {} : { fs: options.fs }),
    ...(options.import === undefined ? {} : { import: options.import }),
    ...(options.ignore === undefined ? {} : { ignore: options.ignore }),
    ...(options.watcher === undefined ? {} : { watcher: options.watcher }),
    ...(options.git === undefined ? {} : { git: options.git }),
    ...(options.around === undefined ? {} : { around: options.around }),
    onRecovered: (what) => (recovered = what),
  });
  return {
    directory,
    store,
    workspace,
    recovered: recovered as unknown as Recovered,
    async close() {
      await workspace.close();
      await store.close();
    },
  };
}

/** A save with the request's row, as the api hands it over; `over` changes any of it. */
export function saveInput(
  site: Pick<Site, "workspace">,
  requestId: string,
  edits: SaveInput["edits"],
  over: Partial<SaveInput> = {},
): SaveInput {
  return {
    principal: "tester",
    requestId,
    leaseRequired: false,
    edits,
    onConflict: "refuse",
    message: "",
    dryRun: false,
    cause: "save",
    authorise: () => {},
    remember: (outcome) => ({
      scope: site.workspace.rowid,
      principal: "tester",
      id: requestId,
      operation: "Save",
      digest: "00".repeat(32),
      outcome: "committed",
      answer: Buffer.from(outcome.checkpoint),
      timeMs: 0,
    }),
    ...over,
  };
}

/** Copies what a killed process would leave: the store's file and log (not its shared memory), the side files, the tree. */
export function copyImage(from: string, to: string): void {
  cpSync(from, to, { recursive: true, verbatimSymlinks: true, filter: (path) => !path.endsWith("-shm") });
}

/** Every file below a directory by relative path; hidden temps too. */
export function diskFiles(root: string, prefix = ""): Map<string, { bytes: Buffer; executable: boolean }> {
  const found = new Map<string, { bytes: Buffer; executable: boolean }>();
  for (const entry of readdirSync(join(root, prefix), { withFileTypes: true })) {
    const path = prefix === "" ? entry.name : `${prefix}/${entry.name}`;
    if (entry.isDirectory()) for (const [below, file] of diskFiles(root, path)) found.set(below, file);
    else if (entry.isFile())
      found.set(path, { bytes: readFileSync(join(root, path)), executable: (lstatSync(join(root, path)).mode & 0o100) !== 0 });
  }
  return found;
}
