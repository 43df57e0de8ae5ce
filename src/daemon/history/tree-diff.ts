import { type Clock, Pace } from "../base/index.ts";
import type { Hash, TreeDifference, Trees } from "../store/index.ts";
import { findRenames, type RenamedDifference, type RenameSources } from "./renames.ts";

/** Two trees to compare, and what of them. */
export interface TreePair {
  readonly trees: Trees;
  readonly from: Hash;
  readonly to: Hash;
  /** Only this path and what lies below it; "" is all. */
  readonly prefix: string;
  /** Whether the asker may know of a path; what is renamed across that border shows as what is seen of it. */
  readonly visible: (path: string) => boolean;
}

/** What search for renames needs beside the clock and the signal. */
export type RenameHelp = Omit<RenameSources, "clock" | "signal">;

/**
 * What differs between two trees, renames paired, in byte order of the new paths (a deleted file's is its old one). In slices;
 * `signal` stops it (CANCELLED).
 */
export async function diffTrees(
  pair: TreePair,
  help: RenameHelp,
  clock: Clock,
  signal?: AbortSignal,
): Promise<RenamedDifference[]> {
  const pace = new Pace(clock, signal);
  const found: TreeDifference[] = [];
  for (const difference of pair.trees.diff(pair.from, pair.to, pair.prefix)) {
    if (pair.visible(difference.path)) found.push(difference);
    if (pace.due()) await pace.breathe();
  }
  return findRenames(found, { ...help, clock, signal });
}
