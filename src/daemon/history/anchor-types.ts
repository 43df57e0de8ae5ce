import type { Hash } from "../store/index.ts";

/** Where anchored lines stand: all in place, all elsewhere, some there, none there, or history does not say. */
export type AnchorStanding = "same" | "moved" | "changed" | "gone" | "unknown";

/** Lines of a path as they were at a generation. */
export interface AnchoredLines {
  readonly workspace: number;
  readonly path: string;
  readonly generation: number;
  /** Of the content they were in. */
  readonly sha256: Hash;
  /** From 1, both inclusive; both 0 is the whole file. */
  readonly startLine: number;
  readonly endLine: number;
}

/** Where they are at a later generation. */
export interface AnchorPlace {
  readonly standing: AnchorStanding;
  /** "" when they are gone or unknown. */
  readonly path: string;
  /** First and last line that is left; both 0 for a whole file and when nothing is left. */
  readonly startLine: number;
  readonly endLine: number;
}

/** Follows anchored lines through history, checkpoint by checkpoint, by the line map that origin goes by; renames and undos too. */
export interface Anchors {
  /** Where lines stand at `generation`, which is not before theirs. `signal` stops it within 250 ms (CANCELLED). */
  follow(lines: AnchoredLines, generation: number, signal?: AbortSignal): Promise<AnchorPlace>;
}
