import type { Clock } from "../base/index.ts";

const WINDOW_MS = 60_000;
const FREE_FAILURES = 10;
/** Remotes remembered at a time; the longest known one is forgotten first. */
const REMOTES = 1024;

/** Failures of a remote within its window. */
interface Count {
  readonly sinceMs: number;
  failures: number;
}

/**
 * Counts failed authentications of each remote. Only failures are slowed down: on loopback every agent has the same
 * address, so refusing good tokens too would let one confused agent lock out the others, and 256 random bits need no
 * lock-out against guessing.
 */
export class BackOff {
  readonly #clock: Clock;
  readonly #counts = new Map<string, Count>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts one failure; gives the milliseconds to wait before the next try, 0 for the first ten of a minute. */
  failed(remote: string): number {
    const now = this.#clock.monotonicMs();
    let count = this.#counts.get(remote);
    if (count === undefined || now - count.sinceMs >= WINDOW_MS) {
      this.#counts.delete(remote);
      count = { sinceMs: now, failures: 0 };
      this.#counts.set(remote, count);
      const oldest = this.#counts.keys().next();
      if (this.#counts.size > REMOTES && oldest.done !== true) this.#counts.delete(oldest.value);
    }
    count.failures++;
    return count.failures <= FREE_FAILURES ? 0 : Math.ceil(WINDOW_MS - (now - count.sinceMs));
  }
}
