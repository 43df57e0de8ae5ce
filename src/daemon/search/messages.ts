import type { Refused } from "../base/index.ts";
import type { FileQuery, LineHit, LineQuery, Skipped } from "./types.ts";

/** What a search thread does, by name. */
export interface SearchJobs {
  /** Matching lines of the files that are this thread's, counted. */
  count: { readonly in: LineQuery; readonly out: Counted };
  /** The lines themselves, of files this thread counted. */
  show: { readonly in: { readonly query: LineQuery; readonly picks: readonly Pick[] }; readonly out: Shown };
  /** Both for a file that is given, whose bytes are handed over once. */
  given: { readonly in: LineQuery; readonly out: { readonly counted: Counted; readonly shown: Shown } };
  files: { readonly in: FileQuery; readonly out: { readonly files: readonly string[]; readonly total: number } };
}

export type SearchJobName = keyof SearchJobs;

/** Files with matches, by their places in the tree's listing, and how many lines match in each. */
export interface Counted {
  readonly places: Uint32Array;
  readonly counts: Uint32Array;
  readonly searched: number;
  readonly skipped: Skipped;
}

/** Matching lines `from` to `from + count` of one file. */
export interface Pick {
  readonly place: number;
  readonly from: number;
  readonly count: number;
}

/** One entry a pick, in order; entries and hits end early where the answer would be too long. */
export interface Shown {
  readonly files: readonly { readonly path: string; readonly hits: readonly LineHit[] }[];
}

/** A job as it is sent. `flags`: [stop, files looked into]. */
export type SearchJob = {
  readonly [K in SearchJobName]: {
    readonly id: number;
    readonly kind: K;
    readonly input: SearchJobs[K]["in"];
    readonly flags: Int32Array;
  };
}[SearchJobName];

/** What a thread is given at its start. */
export interface SearchThreadData {
  /** The store's data directory. */
  readonly directory: string;
  /** Number of this thread, and of all. */
  readonly part: number;
  readonly parts: number;
  /** Characters of contents it may keep. */
  readonly room: number;
}

/** What a thread answers; "stopped" when it was told to. */
export type SearchAnswer =
  | { readonly id: number; readonly kind: "done"; readonly result: SearchJobs[SearchJobName]["out"] }
  | { readonly id: number; readonly kind: "stopped" }
  | { readonly id: number; readonly kind: "refused"; readonly error: Refused };
