import { GinError } from "./error.ts";
import type { Clock } from "./ports.ts";

/** Longest stretch of work between two looks at other callers, in milliseconds. */
const SLICE_MS = 10;

/**
 * Paces long work on a thread that others need, and ends it when nobody wants it any more. Time decides only when to yield, never what
 * comes out. Between two items: `await pace.next()`; where an await for each would cost, `if (pace.due()) await pace.breathe()`.
 */
export class Pace {
  readonly signal: AbortSignal | undefined;
  readonly #clock: Clock;
  #until: number;

  constructor(clock: Clock, signal: AbortSignal | undefined) {
    this.signal = signal;
    this.#clock = clock;
    this.#until = clock.monotonicMs() + SLICE_MS;
  }

  /** Throws CANCELLED when the caller gave up. */
  check(): void {
    if (this.signal?.aborted === true) throw new GinError("CANCELLED", "the caller gave up");
  }

  /** Whether the slice is over. */
  due(): boolean {
    return this.#clock.monotonicMs() >= this.#until;
  }

  /** Lets others run. Throws CANCELLED. */
  async breathe(): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve));
    this.check();
    this.#until = this.#clock.monotonicMs() + SLICE_MS;
  }

  /** Lets others run when the slice is over; undefined inside of one. Throws CANCELLED. */
  next(): Promise<void> | undefined {
    this.check();
    return this.due() ? this.breathe() : undefined;
  }
}
