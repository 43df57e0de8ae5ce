import type { CauseName, Hash, PathChange } from "./types.ts";

/** A path changed by a checkpoint, and which. */
export interface PathTouch extends PathChange {
  readonly generation: number;
  readonly checkpoint: string;
  readonly cause: CauseName;
}

/** Spans of a path as of a generation that touched it. What the body says is history's. */
export interface SpanRow {
  readonly workspace: number;
  readonly path: string;
  readonly generation: number;
  /** Of the content the spans are of. */
  readonly sha256: Hash;
  readonly body: Uint8Array;
}

/** Transactions of spans. */
export interface OriginCommands {
  /** not durable: what is lost is computed again. A row of the same path and generation gives way; `forget` names generations of a row's path to drop. */
  spans: { in: { readonly rows: readonly SpanRow[]; readonly forget?: readonly number[] }; out: null };
}

/** Short reads about who touched a path. */
export interface OriginReads {
  /** Touches of exactly this path in generations (after, until], newest first. */
  touchesBefore(workspace: number, path: string, after: number, until: number, limit: number): PathTouch[];
  /** The same, oldest first. */
  touchesAfter(workspace: number, path: string, after: number, until: number, limit: number): PathTouch[];
  /** The touch of a path in one generation. */
  touchAt(workspace: number, path: string, generation: number): PathTouch | undefined;
  /** The newest rename onto this path in generations (after, until]. */
  renameOnto(
    workspace: number,
    path: string,
    after: number,
    until: number,
  ): { readonly generation: number; readonly from: string } | undefined;
  /** The newest kept spans of a path in generations up to `until`. */
  span(workspace: number, path: string, until: number): SpanRow | undefined;
  /** Newest generation up to `until` that touched exactly this path; undefined for none. */
  lastGeneration(workspace: number, path: string, until: number): number | undefined;
  /**
   * Newest generation up to `until` among the next `rows` touches of paths in [from, below), by path; `next` is where to go on,
   * undefined at the end.
   */
  lastGenerationBetween(
    workspace: number,
    from: string,
    below: string,
    until: number,
    rows: number,
  ): { readonly generation: number | undefined; readonly next: string | undefined };
}
