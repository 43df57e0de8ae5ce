import type { Edit } from "./diff.ts";
import type { Hunks } from "./hunks.ts";

/** What one side of a path merge holds: content and mode, or null where the path is absent. */
export type Side = { readonly kind: "file" | "symlink"; readonly bytes: Uint8Array; readonly executable: boolean } | null;

/** A conflict between two sides, in lines of each (1-based, inclusive ends; an empty range has end = start - 1). */
export interface ConflictHunk {
  readonly baseStart: number;
  readonly baseEnd: number;
  readonly oursStart: number;
  readonly oursEnd: number;
  readonly theirsStart: number;
  readonly theirsEnd: number;
  /** The lines themselves, bounded by the caller. Data. */
  readonly base: string;
  readonly ours: string;
  readonly theirs: string;
}

/** Why a merge is not clean. */
export type ConflictKind = "content" | "delete_modify" | "mode" | "binary" | "kind" | "base_unavailable" | "too_large";

/** Outcome of a three-way merge of one path. */
export type MergeResult =
  | { readonly clean: true; readonly merged: Side }
  | { readonly clean: false; readonly conflict: ConflictKind; readonly hunks: readonly ConflictHunk[] };

/** Three-way merge. The verdict and bytes are the same on every machine. */
export interface Merger {
  /** `base` is undefined where its bytes are not kept: a conflict base_unavailable, unless ours equals theirs. `ours` is what the caller wants, `theirs` what is there. Large inputs run in a worker under a time limit; `signal` stops it. */
  mergePath(base: Side | undefined, ours: Side, theirs: Side, signal?: AbortSignal): Promise<MergeResult>;
  close(): Promise<void>;
}

/**
 * Line diffs over bytes. Deterministic: the same two texts give the same edits on every machine and in every thread, because
 * what stops a costly diff is a count of steps, never a clock.
 */
export interface Differ {
  /**
   * The edits that make `b` of `a`, by lines. Small texts at once, large ones in a worker. `signal` stops it (CANCELLED).
   * TOO_LARGE when the texts together are above 64 MiB.
   */
  edits(a: Uint8Array, b: Uint8Array, signal?: AbortSignal): Promise<readonly Edit[]>;
  /** The same printed as a unified diff with `context` unchanged lines around each change; undefined only counts. */
  hunks(a: Uint8Array, b: Uint8Array, context: number | undefined, signal?: AbortSignal): Promise<Hunks>;
  close(): Promise<void>;
}
