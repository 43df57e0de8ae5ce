import type { Clock } from "../base/index.ts";
import { SLICE_MS } from "./limits.ts";

/** Lets other callers run between slices of long work: `await slice.pause()` costs nothing until the slice is used up. */
export class Slice {
  readonly #clock: Clock;
  #until: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#until = clock.monotonicMs() + SLICE_MS;
  }

  /** Undefined (do not wait) while time is left; else a promise for the next turn of the event loop. */
  pause(): Promise<void> | undefined {
    if (this.#clock.monotonicMs() < this.#until) return undefined;
    return new Promise((resolve) => {
      setImmediate(() => {
        this.#until = this.#clock.monotonicMs() + SLICE_MS;
        resolve();
      });
    });
  }
}
