import { type Clock, GinError } from "../base/index.ts";

/** Longest stretch on the main thread, in milliseconds, before others have a turn. */
const SLICE_MS = 20;

/** Keeps long work on the main thread in slices, and ends it when it is not wanted any more. */
export class Pace {
  readonly signal: AbortSignal | undefined;
  readonly #clock: Clock;
  #until: number;

  constructor(clock: Clock, signal: AbortSignal | undefined) {
    this.#clock = clock;
    this.signal = signal;
    this.#until = clock.monotonicMs() + SLICE_MS;
  }

  /** Throws CANCELLED when nobody wants the answer any more. */
  check(): void {
    if (this.signal?.aborted === true) throw new GinError("CANCELLED", "the caller gave up");
  }

  /** To be awaited between two pieces of work: lets others run when the slice is used up. Throws CANCELLED. */
  async turn(): Promise<void> {
    this.check();
    if (this.#clock.monotonicMs() < this.#until) return;
    await new Promise<void>((resolve) => setImmediate(resolve));
    this.#until = this.#clock.monotonicMs() + SLICE_MS;
    this.check();
  }
}
