import { GinError, systemClock } from "../base/index.ts";
import { diffLines } from "./diff.ts";
import { unpackEdits } from "./edits.ts";
import { countLines, sameBytes } from "./lines.ts";
import { TextWorker } from "./text-worker.ts";
import type { Differ } from "./types.ts";

/** Most bytes of both texts together that are diffed. */
const MAX_BYTES = 64 * 1024 * 1024;
/** Bytes of both texts up to which a diff is made at once. */
const INLINE_BYTES = 128 * 1024;
/** Lines of both up to which it is: two unlike texts of so many lines take about 5 ms. */
const INLINE_LINES = 4_000;

/** How to make a differ. */
export interface DifferOptions {
  /** Entry file of the worker thread; by default found beside the bundle, or the source. */
  readonly worker?: URL;
}

/**
 * The differ of a daemon, with a thread of its own: a long diff never makes a save's merge wait. No time limit: steps are
 * bounded by the diff core, so the same texts give the same edits on a slow machine. Close it to end its thread.
 */
export function createDiffer(options: DifferOptions = {}): Differ {
  const worker = new TextWorker({ noun: "diff", entry: options.worker, clock: systemClock, limitMs: undefined });
  let closed = false;
  return {
    async edits(a, b, signal) {
      if (closed || signal?.aborted === true) throw new GinError("CANCELLED", "the diff was cancelled");
      const bytes = a.length + b.length;
      if (bytes > MAX_BYTES) throw tooLarge();
      if (sameBytes(a, b)) return [];
      if (bytes <= INLINE_BYTES && countLines(a) + countLines(b) <= INLINE_LINES) return diffLines(a, b);
      const packed = await worker.run("edits", { a, b }, signal);
      if (packed === undefined) throw tooLarge();
      return unpackEdits(packed);
    },
    async close() {
      closed = true;
      await worker.close();
    },
  };
}

function tooLarge(): GinError {
  return new GinError("TOO_LARGE", "the two texts are too large to compare by lines", undefined, {
    facts: { field: "content", limit: MAX_BYTES, unit: "bytes" },
  });
}
