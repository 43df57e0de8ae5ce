import type { Clock } from "../../base/index.ts";

/** Shortest and longest milliseconds between the end of one look and the next. */
export const POLL_LEAST_MS = 2_000;
export const POLL_MOST_MS = 60_000;
/** A look may take a twentieth of the time. */
const SHARE = 20;

/** Asks for a look at everything again and again; the longer looks take, the seldomer. */
export class Polling {
  readonly #clock: Clock;
  readonly #look: () => Promise<void>;
  #least = POLL_LEAST_MS;
  #cancel: (() => void) | undefined;
  #on = false;
  /** Grows with each start, so that a look of an earlier one sets no timer. */
  #run = 0;

  constructor(clock: Clock, look: () => Promise<void>) {
    this.#clock = clock;
    this.#look = look;
  }

  /** `least`: shortest milliseconds between two looks. Started again, only that changes. */
  start(least = POLL_LEAST_MS): void {
    this.#least = least;
    if (this.#on) return;
    this.#on = true;
    this.#run++;
    this.#next(least);
  }

  stop(): void {
    this.#on = false;
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #next(ms: number): void {
    this.#cancel = this.#clock.after(ms, () => void this.#once());
  }

  async #once(): Promise<void> {
    const run = this.#run;
    const started = this.#clock.monotonicMs();
    await this.#look();
    if (this.#on && run === this.#run) this.#next(Math.max(this.#least, pause(this.#clock.monotonicMs() - started)));
  }
}

/** Milliseconds to wait after a look that took so long. */
export function pause(took: number): number {
  return Math.min(POLL_MOST_MS, Math.max(POLL_LEAST_MS, took * SHARE));
}
