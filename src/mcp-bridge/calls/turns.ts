/** A mutation that was cancelled before its turn came: nothing was sent. */
export class NotStarted extends Error {
  constructor() {
    super("cancelled before it was sent");
    this.name = "NotStarted";
  }
}

/** How a mutation takes its turn. */
export interface TurnOptions {
  /** Gives the turn up while it waits; without effect once it runs. */
  readonly signal: AbortSignal;
  /** False: later ones need not wait for its end (a lease that is waited for must not keep its holder from releasing it). */
  readonly holds: boolean;
}

interface Waiting {
  start(): void;
}

/** Runs mutations one after the other in the order they came. One that waits can be taken back; one that runs finishes. */
export class Turns {
  readonly #waiting: Waiting[] = [];
  #held = false;
  #running = 0;
  #idle: (() => void)[] = [];

  /** Runs `work` at its turn. Rejects with NotStarted when it was cancelled before, else settles as `work`. */
  take<T>(work: () => Promise<T>, options: TurnOptions): Promise<T> {
    const { signal, holds } = options;
    return new Promise<T>((resolve, reject) => {
      const giveUp = (): void => {
        const at = this.#waiting.indexOf(waiting);
        if (at === -1) return;
        this.#waiting.splice(at, 1);
        reject(new NotStarted());
        this.#tellIdle();
      };
      const waiting: Waiting = {
        start: () => {
          signal.removeEventListener("abort", giveUp);
          this.#held = holds;
          this.#running += 1;
          const finished = work().finally(() => {
            this.#running -= 1;
            if (holds) this.#held = false;
            this.#next();
          });
          finished.then(resolve, reject);
        },
      };
      if (signal.aborted) {
        reject(new NotStarted());
        return;
      }
      signal.addEventListener("abort", giveUp, { once: true });
      this.#waiting.push(waiting);
      this.#next();
    });
  }

  /** Resolves when nothing runs or waits. */
  idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#idle.push(resolve);
      this.#tellIdle();
    });
  }

  #next(): void {
    while (!this.#held) {
      const next = this.#waiting.shift();
      if (next === undefined) break;
      next.start();
    }
    this.#tellIdle();
  }

  #tellIdle(): void {
    if (this.#running > 0 || this.#waiting.length > 0) return;
    const told = this.#idle;
    this.#idle = [];
    for (const resolve of told) resolve();
  }
}
