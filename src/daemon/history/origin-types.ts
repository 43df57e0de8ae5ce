import type { CauseName, Content, Hash } from "../store/index.ts";

/** The checkpoint a line comes from. */
export interface OriginFact {
  /** "ck_…". */
  readonly checkpoint: string;
  readonly generation: number;
  readonly cause: CauseName;
  /** "" when unknown: what was imported or changed outside. */
  readonly principal: string;
  readonly requestId: string;
  /** First line of its message, at most 200 characters. */
  readonly message: string;
  readonly timeMs: number;
}

/** Consecutive lines of one origin. */
export interface OriginSpan {
  /** From 1, both inclusive; both 0 for a content that is not text. */
  readonly startLine: number;
  readonly endLine: number;
  /** undefined: history does not say. */
  readonly origin: OriginFact | undefined;
}

/** Where every line of a file comes from. */
export interface FileOrigin {
  readonly sha256: Hash;
  /** False for symlinks, and for files with a NUL byte, above 32 MiB, or whose bytes are not kept: these have one span. */
  readonly text: boolean;
  /** 0 when it is not text. */
  readonly lineCount: number;
  /** In order, without gaps; none for an empty text. */
  readonly spans: readonly OriginSpan[];
}

/** What a question about origin may bring along. */
export interface OriginOptions {
  /** Stops it within 250 ms: CANCELLED. */
  readonly signal?: AbortSignal;
  /** The content's bytes, so that one that is only kept by reference has lines too. */
  readonly bytes?: Uint8Array;
}

/**
 * Who wrote which line. Derived from history alone: the same history gives the same spans on every machine. Computed when they are
 * first asked for, in slices and large diffs in a worker, and kept.
 */
export interface Origins {
  /** The lines of a path as it was at a generation; `content` is what its tree holds there. */
  file(workspace: number, path: string, generation: number, content: Content, options?: OriginOptions): Promise<FileOrigin>;
  /**
   * The last change of each path, or of anything below it, up to a generation; undefined where history does not say.
   * In the order given.
   */
  lastChanges(
    workspace: number,
    paths: readonly string[],
    generation: number,
    signal?: AbortSignal,
  ): Promise<(OriginFact | undefined)[]>;
  /**
   * For gc, before it drops anything about a path that generations up to `generation` hold: its contents, or the rows of
   * checkpoints and touched paths. Afterwards the spans of the path's newest state at or before `generation`, and of its newest
   * state of all, are in the store together with who made them, and need nothing of what came before.
   */
  keepSpans(workspace: number, path: string, generation: number, signal?: AbortSignal): Promise<void>;
}
