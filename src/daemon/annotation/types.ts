import type { Caller } from "../base/index.ts";
import type { AnchorRow, AnnotationRow, Hash, RequestRow } from "../store/index.ts";

/** Where an annotation's lines stand at head: all in place, all elsewhere, some there, none there, or history does not say. */
export type Standing = "same" | "moved" | "changed" | "gone" | "unknown";

/** Where anchored lines are now. */
export interface Place {
  readonly standing: Standing;
  /** "" when they are gone or unknown. */
  readonly path: string;
  /** From 1, both inclusive; both 0 for a whole file and when nothing is left. */
  readonly startLine: number;
  readonly endLine: number;
}

/** What annotations ask of the history room: to follow lines from one generation to a later one. */
export interface LineFollower {
  follow(
    lines: {
      readonly workspace: number;
      readonly path: string;
      readonly generation: number;
      readonly sha256: Hash;
      readonly startLine: number;
      readonly endLine: number;
    },
    generation: number,
    signal?: AbortSignal,
  ): Promise<Place>;
}

/** Lines to annotate, checked for form by the api; the path is canonical and authorised. */
export interface AnchorInput {
  readonly path: string;
  /** From 1, both inclusive; both 0 is the whole file. */
  readonly startLine: number;
  readonly endLine: number;
  /** Undefined takes whatever content the checkpoint holds. */
  readonly sha256?: Hash;
}

/** An annotation as the api hands it over, checked for form. */
export interface WriteInput {
  readonly workspace: number;
  readonly caller: Caller;
  readonly requestId: string;
  /** Id of a checkpoint of this workspace. */
  readonly checkpoint: string;
  readonly text: string;
  readonly anchors: readonly AnchorInput[];
  /** Id, or "" for none; at most one of the two. */
  readonly replyTo: string;
  readonly corrects: string;
  readonly evidenceId: string;
  /** Builds the request's outcome row, written in the annotation's own transaction. */
  readonly remember: (written: AnnotationRow) => RequestRow;
}

/** An anchor, and where its lines stand at the generation asked of. */
export interface PlacedAnchor {
  readonly anchor: AnchorRow;
  readonly now: Place;
}

/** An annotation as a reader sees it. */
export interface Annotation {
  readonly row: AnnotationRow;
  /** Id of the newest annotation that corrects it; "" for none. */
  readonly correctedBy: string;
  /** Those the caller may see. */
  readonly anchors: readonly PlacedAnchor[];
}

/** Which annotations: at most one of `checkpoint`, `path` and `thread`; none is all. */
export interface ListQuery {
  readonly workspace: number;
  readonly caller: Caller;
  /** Standings are those at this generation. */
  readonly generation: number;
  readonly checkpoint?: string;
  /** With an anchor on this path or below it, then or now. */
  readonly path?: string;
  /** Id of any annotation of the thread. */
  readonly thread?: string;
  /** `seq` of the last one shown. */
  readonly after?: number;
  readonly limit: number;
  /** Bytes of texts and excerpts after which a page ends. One annotation is always shown. */
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
}

/** A page: newest first, a thread oldest first. */
export interface AnnotationPage {
  readonly annotations: readonly Annotation[];
  /** Where to go on; undefined at the end. */
  readonly next: number | undefined;
}

/** Notes on checkpoints and lines: append-only. What they say is data. */
export interface Annotations {
  /**
   * Keeps one, durable before it answers. Throws PATH_NOT_FOUND, NOT_A_FILE, STALE_CONTENT (another content than `sha256`),
   * CONTENT_NOT_KEPT, INVALID_REQUEST (lines the file has not, a correction of another thread), ID_NOT_FOUND, SCOPE_FORBIDDEN
   * (a correction of another principal's).
   */
  write(input: WriteInput): Promise<AnnotationRow>;
  /** Throws ID_NOT_FOUND for a thread nobody may show this caller. */
  list(query: ListQuery): Promise<AnnotationPage>;
  /** One that is about to be shown, e.g. to a watcher; undefined when this caller may not see it. */
  present(row: AnnotationRow, caller: Caller, generation: number, signal?: AbortSignal): Promise<Annotation | undefined>;
  /** One by id that this caller may see. */
  find(id: string, caller: Caller): AnnotationRow | undefined;
  /** Called after each one is kept, in order of `seq`. Gives a function that ends it. */
  onWrite(listener: (written: AnnotationRow) => void): () => void;
}
