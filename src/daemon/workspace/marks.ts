import type { Clock, FailPoints } from "../base/index.ts";
import type { Store } from "../store/index.ts";

/** How long a mark waits for a commit to travel with, in milliseconds. */
const WAIT_MS = 5;

/**
 * Saves known to be applied, whose mark travels with the next commit, or alone when none comes soon: a transaction of its own
 * would cost each save a second trip to the store's thread. A daemon killed before the mark arrives finds the save COMMITTED,
 * sees its files in place, and marks it then; so nothing waits for it.
 */
export class AppliedMarks {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #failPoints: FailPoints;
  readonly #onFailure: (cause: unknown) => void;
  #waiting: string[] = [];
  #cancel: (() => void) | undefined;

  constructor(deps: { store: Store; clock: Clock; failPoints: FailPoints }, onFailure: (cause: unknown) => void) {
    this.#store = deps.store;
    this.#clock = deps.clock;
    this.#failPoints = deps.failPoints;
    this.#onFailure = onFailure;
  }

  add(saves: readonly string[]): void {
    if (saves.length === 0) return;
    this.#waiting.push(...saves);
    this.#cancel ??= this.#clock.after(WAIT_MS, () => void this.flush());
  }

  /** Takes the waiting marks along with a commit; `giveBack` them when it fails. */
  take(): readonly string[] {
    this.#cancel?.();
    this.#cancel = undefined;
    const taken = this.#waiting;
    this.#waiting = [];
    return taken;
  }

  giveBack(saves: readonly string[]): void {
    this.add(saves);
  }

  /** Sends what waits by itself; resolves when the store has it. */
  async flush(): Promise<void> {
    const saves = this.take();
    if (saves.length === 0) return;
    try {
      this.#failPoints.hit("mark.before");
      await this.#store.write("applied", { saves });
      this.#failPoints.hit("mark.after");
    } catch (cause) {
      this.#onFailure(cause);
    }
  }
}
