import { GinError, systemClock } from "../base/index.ts";
import { diffLines } from "./diff.ts";
import { unpackEdits } from "./edits.ts";
import { diffHunks } from "./hunks.ts";
import { countLines } from "./lines.ts";
import { TextWorker } from "./text-worker.ts";
import type { Differ } from "./types.ts";

/** Most bytes of both texts together that are diffed. */
const MAX_BYTES = 64 * 1024 * 1024;
/** Bytes of both texts up to which a diff is made at once. */
const INLINE_BYTES = 64 * 1024;
/** Lines of both up to which it is. Two unlike texts may cost the core's whole cap however short they are, some 15 ms. */
const INLINE_LINES = 1_500;

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
  /** Whether it is done here and now; throws what every diff throws before it begins. */
  const atOnce = (a: Uint8Array, b: Uint8Array, signal: AbortSignal | undefined): boolean => {
    if (closed || signal?.aborted === true) throw new GinError("CANCELLED", "the diff was cancelled");
    const bytes = a.length + b.length;
    if (bytes > MAX_BYTES) throw tooLarge();
    return bytes <= INLINE_BYTES && countLines(a) + countLines(b) <= INLINE_LINES;
  };
  return {
    async edits(a, b, signal) {
      if (atOnce(a, b, signal)) return diffLines(a, b);
      const packed = await worker.run("edits", { a, b }, signal);
      if (packed === undefined) throw tooLarge();
      return unpackEdits(packed);
    },
    async hunks(a, b, context, signal) {
      if (atOnce(a, b, signal)) return diffHunks(a, b, context);
      const hunks = await worker.run("hunks", { a, b, context: context ?? -1 }, signal);
      if (hunks === undefined) throw tooLarge();
      return hunks;
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
