import { type Clock, GinError } from "../../base/index.ts";

/** Longest stretch of work between two looks at other callers, in milliseconds. */
const SLICE_MS = 10;

/** Lets other callers run when a slice of work is over, and stops (CANCELLED) when nobody wants the answer any more. */
export class Pace {
  readonly #clock: Clock;
  readonly #signal: AbortSignal | undefined;
  #until: number;

  constructor(clock: Clock, signal: AbortSignal | undefined) {
    this.#clock = clock;
    this.#signal = signal;
    this.#until = clock.monotonicMs() + SLICE_MS;
  }

  /** Undefined inside a slice: nothing to wait for. */
  next(): Promise<void> | undefined {
    if (this.#signal?.aborted === true) throw new GinError("CANCELLED", "the undo was cancelled before it started");
    if (this.#clock.monotonicMs() < this.#until) return undefined;
    return new Promise((resolve) =>
      setImmediate(() => {
        this.#until = this.#clock.monotonicMs() + SLICE_MS;
        resolve();
      }),
    );
  }
}
