import type { Merge3 } from "./merge3.ts";

/** What the merge worker is sent: one merge at a time. */
export interface MergeJob {
  readonly base: Uint8Array;
  readonly ours: Uint8Array;
  readonly theirs: Uint8Array;
}

/** What it answers: "ready" once after start, then a result a job. */
export type WorkerAnswer = { readonly kind: "ready" } | { readonly kind: "merged"; readonly result: Merge3 };
