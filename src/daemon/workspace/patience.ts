import type { Clock } from "../base/index.ts";

/** A look at one path that took longer, in milliseconds, is not repeated at each hint. */
const SLOW_MS = 50;
/** How many times as long as it took nothing is looked at, and at most how long, in milliseconds. */
const TIMES = 20;
const LONGEST_MS = 60_000;

/**
 * Puts off hints at paths whose last look took long: a large file that grows all the time would else be read from its beginning all the time.
 * What is put off is not forgotten, and a look at everything does not wait.
 */
export class Patience {
  readonly #clock: Clock;
  readonly #again: (path: string) => void;
  readonly #until = new Map<string, number>();
  readonly #timers = new Map<string, () => void>();

  /** `again` is called when a path that was put off may be looked at. */
  constructor(clock: Clock, again: (path: string) => void) {
    this.#clock = clock;
    this.#again = again;
  }

  /** How long a look at a path took. */
  took(path: string, ms: number): void {
    if (ms >= SLOW_MS) this.#until.set(path, this.#clock.monotonicMs() + Math.min(ms * TIMES, LONGEST_MS));
  }

  /** Whether the path has to wait; then `again` is told when it has. */
  putsOff(path: string): boolean {
    const until = this.#until.get(path);
    if (until === undefined) return false;
    const left = until - this.#clock.monotonicMs();
    if (left <= 0) {
      this.#until.delete(path);
      return false;
    }
    if (!this.#timers.has(path))
      this.#timers.set(
        path,
        this.#clock.after(left, () => {
          this.#timers.delete(path);
          this.#until.delete(path);
          this.#again(path);
        }),
      );
    return true;
  }

  /** The paths that wait; they wait no longer. */
  take(): string[] {
    const waiting = [...this.#timers.keys()];
    this.close();
    for (const path of waiting) this.#until.delete(path);
    return waiting;
  }

  close(): void {
    for (const cancel of this.#timers.values()) cancel();
    this.#timers.clear();
  }
}
