import type { Clock, FailPoints, Log, Random } from "../base/index.ts";
import type { Store, WorkspaceRow } from "../store/index.ts";
import type { ConfinedRoot } from "./files/index.ts";
import type { GitReader } from "./git/index.ts";
import type { IgnoreRules } from "./ignore/index.ts";
import type { LeaseJudge, PathMerger } from "./types.ts";
import type { Watcher } from "./watch/index.ts";

/** What a workspace is built from. */
export interface WorkspaceDeps {
  readonly row: WorkspaceRow;
  readonly root: ConfinedRoot;
  readonly store: Store;
  readonly leases: LeaseJudge;
  readonly merger: PathMerger;
  readonly clock: Clock;
  readonly random: Random;
  readonly failPoints: FailPoints;
  readonly log: Log;
  /** Boot id of the machine. */
  readonly boot: string;
  /** "strict" answers a save only when its files and directories are synced. */
  readonly durability: "default" | "strict";
  /** Whether the whole tree is imported, and looked at again at each start. Default false: then only paths that are read or saved are. */
  readonly import?: boolean;
  /** Tells of changes outside; closed with the workspace. Default none. */
  readonly watcher?: Watcher;
  /** What is not tracked by itself. Default: everything is, except where another repository begins. */
  readonly ignore?: IgnoreRules;
  /** The repository whose work tree the directory is in; closed with the workspace. Default none. A promise never rejects: nobody is kept waiting for git before it is needed. */
  readonly git?: GitReader | Promise<GitReader | undefined>;
}
