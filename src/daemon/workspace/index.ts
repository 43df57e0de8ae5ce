// The door of workspace: one directory, its head, and the only way to change a file.
import { type Fs, nodeFs } from "../base/index.ts";
import { WorkspaceActor } from "./actor.ts";
import { beginTerm, endedInOrder } from "./clean-end.ts";
import type { WorkspaceDeps } from "./deps.ts";
import { type ConfinedRoot, openRoot, type RootOptions } from "./files/index.ts";
import { type Recovered, recover } from "./recovery.ts";
import type { Workspace } from "./types.ts";

export type { WorkspaceDeps } from "./deps.ts";
export {
  type ConfinedRoot,
  checkPath,
  type FileStat,
  type FilesFeatures,
  guardOf,
  isSensitive,
  openRoot,
  type RootOptions,
  TEMP_PREFIX,
} from "./files/index.ts";
export { type GitEntry, type GitReader, readGit } from "./git/index.ts";
export { createIgnoreRules, type IgnoreRules } from "./ignore/index.ts";
export { keptBase } from "./kept-base.ts";
export { CAPTURE_BYTES, CHANGE_BYTES, QUEUED_SAVES, WHOLE_READ_BYTES } from "./limits.ts";
export { notReady } from "./not-ready.ts";
export type { Recovered } from "./recovery.ts";
export type * from "./types.ts";
export { createWatcher, type Watcher, type WatcherHooks, type WatchHealth } from "./watch/index.ts";

/** How to open a workspace; `fs` and `rootOptions` are for tests and the host's configuration. */
export interface OpenWorkspaceDeps extends Omit<WorkspaceDeps, "root" | "durability"> {
  /** Default "default": applied files are synced in the background, the journal keeps their contents until then. */
  readonly durability?: WorkspaceDeps["durability"];
  readonly rootOptions?: RootOptions;
  readonly fs?: Fs;
  /** Told what recovery found, before anybody is served. */
  readonly onRecovered?: (recovered: Recovered) => void;
  /** Makes what stands on the opened root; asked before it is recovered, so that git is asked meanwhile. What it gives wins over the same field here. */
  readonly around?: (root: ConfinedRoot) => Promise<Pick<WorkspaceDeps, "watcher" | "ignore" | "git">>;
}

/**
 * Opens a row's directory, recovers it from its open saves, and takes it into service. The caller holds the store's lock and
 * the claim on the root, and has taken the workspace over (a fresh epoch in `row`). Rejects with a GinError:
 * WORKSPACE_MISSING_ROOT when the directory is gone, else whatever recovery could not do.
 */
export async function createWorkspace(deps: OpenWorkspaceDeps): Promise<Workspace> {
  const { row, random, failPoints, log } = deps;
  // First of all: opening a root makes temps already.
  const said = await beginTerm(deps);
  const root = openRoot(row.root, { fs: deps.fs ?? nodeFs, random, failPoints }, deps.rootOptions);
  try {
    const around = await deps.around?.(root);
    const whole: WorkspaceDeps = { ...deps, root, durability: deps.durability ?? "default", ...around };
    const recovered = await recover(whole, endedInOrder(whole, said));
    log.info({ workspace: row.id, ...recovered.counts }, "workspace recovered");
    deps.onRecovered?.(recovered);
    return new WorkspaceActor(whole, recovered);
  } catch (thrown) {
    root.close();
    throw thrown;
  }
}
