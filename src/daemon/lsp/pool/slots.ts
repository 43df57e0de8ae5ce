import type { Clock } from "../../base/index.ts";
import { whenOver } from "../session/over.ts";
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
    return new Promise((resolve) => {
      let end = (): void => {};
      const served = (): void => over(true);
      const over = (entered: boolean): void => {
        end();
        this.#waiting.splice(this.#waiting.indexOf(served), 1);
        resolve(entered);
      };
      this.#waiting.push(served);
      end = whenOver(this.#clock, deadline, () => over(false));
    });
  }

  leave(): void {
    const next = this.#waiting[0];
    if (next === undefined) this.#free += 1;
    else next();
  }
}
