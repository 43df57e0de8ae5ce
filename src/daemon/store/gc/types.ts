/** Bounds of history, and what to do about them in one run of gc. */
export interface GarbageOptions {
  /** Wall milliseconds of now: age of checkpoints, and the grace of contents nothing names. */
  readonly nowMs: number;
  /** Bytes of history the host may keep. */
  readonly quotaBytes: number;
  /** Bytes of history to come down to; undefined comes down to nine tenths of the quota, and only when that is passed. */
  readonly targetBytes?: number;
  /** Checkpoints older than this go; a workspace's newest `checkpointCount` stay at most. */
  readonly checkpointMs: number;
  readonly checkpointCount: number;
  /** How long contents that nothing names are left alone; 0 for not at all. */
  readonly graceMs: number;
  /** Row-sized pieces of work in one slice; left out but in tests, it is what takes some 10 ms. */
  readonly slicePieces?: number;
  /** Finds out what would go, and removes nothing. */
  readonly dryRun: boolean;
}

/** What a run found and did. A dry run tells what it would have done. */
export interface GarbageReport {
  /** Of the store: live pages plus side store. */
  readonly beforeBytes: number;
  readonly afterBytes: number;
  /** Of history: the store without what heads, bases and open saves need. */
  readonly historyBeforeBytes: number;
  readonly historyAfterBytes: number;
  /** Contents nothing named. */
  readonly unreachableObjects: number;
  /** Contents of old generations that were given up. */
  readonly thinnedObjects: number;
  readonly removedCheckpoints: number;
}

/** A workspace whose history becomes thin: contents its generations before `to` alone need go. */
export interface Thinning {
  readonly workspace: number;
  /** `kept_from` before and after. */
  readonly from: number;
  readonly to: number;
}

/**
 * Where a run stands after a slice.
 * - `look`: finding out what is needed.
 * - `decided`: told once, with nothing changed yet: origins of what is going to be thinned can be kept now.
 * - `announced`: `kept_from` says what is going: reads under way may still be in it.
 * - `remove`: removing.
 * - `wait`: a backup copies the side store; ask again later.
 * - `done`.
 */
export type GarbageStep =
  | { readonly phase: "look" | "announced" | "remove" | "wait"; readonly durable: boolean }
  | { readonly phase: "decided"; readonly durable: boolean; readonly thinning: readonly Thinning[] }
  | { readonly phase: "done"; readonly durable: boolean; readonly report: GarbageReport }
  /** The run is not there (any more): another began, one of its slices failed, or it met damage. */
  | { readonly phase: "lost"; readonly durable: boolean; readonly damaged: boolean };

/** Commands of gc. A run lives in the store thread's memory: killed anywhere, the next one begins anew. */
export interface GarbageCommands {
  /** not durable. Begins a run; one under way is given up. */
  "gc.begin": { in: GarbageOptions; out: null };
  /** One slice of the run. `durable` as the step before asked for it: what is unlinked after it must be on disk. */
  "gc.step": { in: { readonly durable: boolean }; out: GarbageStep };
}
