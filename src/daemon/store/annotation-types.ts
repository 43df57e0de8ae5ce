import type { Hash, RequestRow } from "./types.ts";

/** Lines an annotation is about, as they stood at its checkpoint. */
export interface AnchorRow {
  readonly path: string;
  /** From 1, both inclusive; both 0 is the whole file. */
  readonly startLine: number;
  readonly endLine: number;
  /** Of the file's content then. */
  readonly sha256: Hash;
  /** The lines as they were, cut. Data. */
  readonly text: string;
}

/** An annotation as it was written; nothing changes it. */
export interface AnnotationRow {
  /** Order of writing within the store; 0 until it is written. */
  readonly seq: number;
  /** "an_…". */
  readonly id: string;
  readonly workspace: number;
  readonly checkpoint: string;
  readonly principal: string;
  readonly requestId: string;
  /** Data. */
  readonly text: string;
  /** Id of the one that began the thread. */
  readonly thread: string;
  /** "" when it answers none, or corrects none. */
  readonly replyTo: string;
  readonly corrects: string;
  readonly evidenceId: string;
  readonly timeMs: number;
  readonly anchors: readonly AnchorRow[];
}

/** Transactions of annotations. */
export interface AnnotationCommands {
  /** durable. Gives its `seq`. The rows of a request are written in the same transaction. */
  "annotation.write": {
    in: { readonly annotation: AnnotationRow; readonly request?: RequestRow };
    out: { readonly seq: number };
  };
}

/** Which annotations of a workspace: all, or those of one of the three. */
export interface AnnotationQuery {
  readonly workspace: number;
  readonly checkpoint?: string;
  /** With an anchor on this path, below it, or on what was renamed, over any number of steps, to one of these. */
  readonly path?: string;
  readonly thread?: string;
  /** Oldest first; default newest first. */
  readonly ascending?: boolean;
  /** Only those after this `seq` in the order asked for. */
  readonly after?: number;
  readonly limit: number;
}

/** Short reads of annotations. */
export interface AnnotationReads {
  annotation(id: string): AnnotationRow | undefined;
  annotations(query: AnnotationQuery): AnnotationRow[];
  /** Id of the newest annotation that corrects this one; "" for none. */
  correctedBy(id: string): string;
}
