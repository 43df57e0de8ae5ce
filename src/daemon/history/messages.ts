import type { Hunks } from "./hunks.ts";
import type { Merge3 } from "./merge3.ts";

/** What a text worker does, by name: what it is given and what it answers. Byte arrays are copied on the way in. */
export interface TextJobs {
  /** A three-way merge of texts. */
  merge: {
    readonly in: { readonly base: Uint8Array; readonly ours: Uint8Array; readonly theirs: Uint8Array };
    readonly out: Merge3;
  };
  /** A line diff; its hunks as four numbers each, see `packEdits`: thousands of objects would cost more to send than to find. */
  edits: { readonly in: { readonly a: Uint8Array; readonly b: Uint8Array }; readonly out: Uint32Array };
  /** A line diff printed. `context` is -1 for counts alone. */
  hunks: { readonly in: { readonly a: Uint8Array; readonly b: Uint8Array; readonly context: number }; readonly out: Hunks };
}

/** Name of a job. */
export type TextJobName = keyof TextJobs;

/** What a text worker is sent, one at a time. */
export type TextJob = { readonly [K in TextJobName]: { readonly kind: K; readonly input: TextJobs[K]["in"] } }[TextJobName];

/** What it answers: "ready" once after start, then a result a job. */
export type WorkerAnswer = { readonly kind: "ready" } | { readonly kind: "done"; readonly result: TextJobs[TextJobName]["out"] };
