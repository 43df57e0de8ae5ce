import type { Deadline } from "../session/types.ts";
import { type Bound, whenOver } from "./within.ts";

/** How a holder stands to others. */
export type Hold = "shared" | "exclusive";

interface Waiter {
  readonly hold: Hold;
  admit(): void;
}

/**
 * Many may share it, or one has it alone. First come, first served: one that would be alone is not overtaken by those who come later, nor does one that gave up hold
 * up anybody.
 */
export class Gate {
  readonly #bound: Bound;
  readonly #queue: Waiter[] = [];
  #shared = 0;
  #exclusive = false;

  constructor(bound: Bound) {
    this.#bound = bound;
  }

  /** How many share it now. */
  get sharing(): number {
    return this.#shared;
  }

  /** Resolves with the way out, to be called once. Rejects with NOT_READY "timed_out" or CANCELLED. */
  enter(hold: Hold, deadline: Deadline): Promise<() => void> {
    return new Promise((resolve, reject) => {
      let end: (() => void) | undefined;
      let over = false;
      const waiter: Waiter = {
        hold,
        admit: () => {
          end?.();
          resolve(this.#wayOut(hold));
        },
      };
      end = whenOver(this.#bound, deadline, "waiting for others at the language server", (error) => {
        over = true;
        const place = this.#queue.indexOf(waiter);
        if (place >= 0) this.#queue.splice(place, 1);
        reject(error);
        this.#let();
      });
      if (over) return;
      this.#queue.push(waiter);
      this.#let();
    });
  }

  #wayOut(hold: Hold): () => void {
    return () => {
      if (hold === "shared") this.#shared -= 1;
      else this.#exclusive = false;
      this.#let();
    };
  }

  #let(): void {
    for (;;) {
      const next = this.#queue[0];
      if (next === undefined || this.#exclusive || (next.hold === "exclusive" && this.#shared > 0)) return;
      this.#queue.shift();
      if (next.hold === "shared") this.#shared += 1;
      else this.#exclusive = true;
      next.admit();
    }
  }
}
