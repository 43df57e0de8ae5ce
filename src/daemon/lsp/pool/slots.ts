import type { Clock } from "../../base/index.ts";
import type { Deadline } from "../session/types.ts";

/** Places for what may go on a few at a time. Who waits is served in the order of coming. */
export class Slots {
  readonly #clock: Clock;
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(clock: Clock, count: number) {
    this.#clock = clock;
    this.#free = count;
  }

  /** Takes a place, waiting for one. False when the deadline passed or the caller gave up first. The place is given back by `leave`. */
  enter(deadline: Deadline): Promise<boolean> {
    if (this.#free > 0) {
      this.#free -= 1;
      return Promise.resolve(true);
    }
    const left = deadline.atMs - this.#clock.monotonicMs();
    if (left <= 0 || deadline.signal.aborted) return Promise.resolve(false);
    return new Promise((resolve) => {
      const over = (entered: boolean): void => {
        cancel();
        deadline.signal.removeEventListener("abort", giveUp);
        const place = this.#waiting.indexOf(served);
        if (place !== -1) this.#waiting.splice(place, 1);
        resolve(entered);
      };
      const served = (): void => over(true);
      const giveUp = (): void => over(false);
      const cancel = this.#clock.after(left, giveUp);
      deadline.signal.addEventListener("abort", giveUp, { once: true });
      this.#waiting.push(served);
    });
  }

  leave(): void {
    const next = this.#waiting[0];
    if (next === undefined) this.#free += 1;
    else next();
  }
}
