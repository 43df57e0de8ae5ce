import { type Clock, GinError } from "../base/index.ts";

/** Longest run of work between two looks at other callers and the caller's own patience, in milliseconds. */
const SLICE_MS = 8;

/**
 * Paces long work on a thread that others need: between two items, `due()` says whether it is time, and `breathe()` lets the
 * others run. Time decides only when to yield, never what comes out.
 */
export class Pace {
  readonly #clock: Clock;
  readonly #signal: AbortSignal | undefined;
  #until: number;

  constructor(clock: Clock, signal: AbortSignal | undefined) {
    this.#clock = clock;
    this.#signal = signal;
    this.#until = this.#clock.monotonicMs() + SLICE_MS;
  }

  /** Whether the slice is over. */
  due(): boolean {
    return this.#clock.monotonicMs() >= this.#until;
  }

  /** Lets others run. Throws CANCELLED when the caller gave up. */
  async breathe(): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve));
    if (this.#signal?.aborted === true) throw new GinError("CANCELLED", "the diff was cancelled");
    this.#until = this.#clock.monotonicMs() + SLICE_MS;
  }
}
