import type { Clock, FailPoints, Log, Random } from "../base/index.ts";
import type { Store, WorkspaceRow } from "../store/index.ts";
import type { ConfinedRoot } from "./files/index.ts";
import type { LeaseJudge, PathMerger } from "./types.ts";

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
}
