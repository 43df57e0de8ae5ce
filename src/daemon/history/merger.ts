import { type Clock, GinError, systemClock } from "../base/index.ts";
import { countLines } from "./lines.ts";
import { mergeSides } from "./merge-path.ts";
import { merge3 } from "./merge3.ts";
import { TextWorker } from "./text-worker.ts";
import type { Merger } from "./types.ts";

/** Bytes of the three texts together above which a merge goes to the worker: below, it takes some 10 ms. */
const INLINE_BYTES = 256 * 1024;
/** Lines together above which it does: short lines cost more than their bytes. */
const INLINE_LINES = 12_000;

/** How to make a merger. */
export interface MergerOptions {
  /** Entry file of the worker thread; by default found beside the bundle, or the source. */
  readonly worker?: URL;
  /** For the time limit; the machine's by default. */
  readonly clock?: Clock;
  /** Longest time one merge may run in the worker; past it the conflict is too_large. Default 2,000 ms. */
  readonly limitMs?: number;
}

/** The three-way merger of a daemon. Close it to end its thread. */
export function createMerger(options: MergerOptions = {}): Merger {
  const worker = new TextWorker({
    noun: "merge",
    entry: options.worker,
    clock: options.clock ?? systemClock,
    limitMs: options.limitMs ?? 2_000,
  });
  return {
    async mergePath(base, ours, theirs, signal) {
      const stopped = () => {
        if (signal?.aborted === true) throw new GinError("CANCELLED", "the merge was cancelled");
      };
      stopped();
      return mergeSides(base, ours, theirs, async (b, o, t) => {
        if (b.length + o.length + t.length <= INLINE_BYTES && countLines(b) + countLines(o) + countLines(t) <= INLINE_LINES)
          return merge3(b, o, t);
        return worker.run("merge", { base: b, ours: o, theirs: t }, signal);
      });
    },
    close: () => worker.close(),
  };
}
