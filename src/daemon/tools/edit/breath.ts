import { GinError } from "../../base/index.ts";
import type { ReadContext } from "../types.ts";

/** Longest stretch of work between two looks at other callers, in milliseconds. */
const SLICE_MS = 10;

/** Lets other callers run, now and then, and hears of a cancel. */
export class Breath {
  readonly #context: Pick<ReadContext, "clock" | "signal">;
  #since: number;

  constructor(context: Pick<ReadContext, "clock" | "signal">) {
    this.#context = context;
    this.#since = context.clock.monotonicMs();
  }

  /** Gives way when the last time was long enough ago. Throws CANCELLED. */
  async take(): Promise<void> {
    if (this.#context.clock.monotonicMs() - this.#since < SLICE_MS) return;
    await new Promise<void>((resolve) => setImmediate(resolve));
    if (this.#context.signal.aborted) throw new GinError("CANCELLED", "the call was cancelled");
    this.#since = this.#context.clock.monotonicMs();
  }
}
