import type { Deadline } from "../session/types.ts";
import { type Bound, whenOver } from "./within.ts";

/** How a holder stands to others. */
export type Hold = "shared" | "exclusive";

interface Waiter {
  readonly hold: Hold;
  /** When it came. */
  readonly sinceMs: number;
  admit(): void;
}

/** Milliseconds for which those who come later wait behind one that would be alone; one of those before it may take minutes. */
const PATIENCE_MS = 2_000;

/**
 * Many may share it, or one has it alone. First come, first served: one that would be alone is not overtaken by those who come later as long as those before it end
 * soon, nor does one that gave up hold up anybody.
 */
export class Gate {
  readonly #bound: Bound;
  readonly #queue: Waiter[] = [];
  #shared = 0;
  #exclusive = false;

  constructor(bound: Bound) {
    this.#bound = bound;
  }

  /** Resolves with the way out, to be called once. Rejects with NOT_READY "timed_out" or CANCELLED. */
  enter(hold: Hold, deadline: Deadline): Promise<() => void> {
    return new Promise((resolve, reject) => {
      let end: (() => void) | undefined;
      let over = false;
      const { clock } = this.#bound;
      const impatient = hold === "exclusive" ? clock.after(PATIENCE_MS, () => this.#let()) : () => {};
      const waiter: Waiter = {
        hold,
        sinceMs: clock.monotonicMs(),
        admit: () => {
          impatient();
          end?.();
          resolve(this.#wayOut(hold));
        },
      };
      end = whenOver(this.#bound, deadline, "waiting for others at the language server", (error) => {
        over = true;
        impatient();
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
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      this.#queue.splice(this.#queue.indexOf(next), 1);
      if (next.hold === "shared") this.#shared += 1;
      else this.#exclusive = true;
      next.admit();
    }
  }

  /** Who may be let in now. */
  #next(): Waiter | undefined {
    if (this.#exclusive) return undefined;
    const now = this.#bound.clock.monotonicMs();
    for (const waiter of this.#queue) {
      if (waiter.hold === "shared" || this.#shared === 0) return waiter;
      if (now - waiter.sinceMs < PATIENCE_MS) return undefined;
    }
    return undefined;
  }
}
