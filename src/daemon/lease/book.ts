import type { Clock } from "../base/index.ts";
import type { RequestRow, Store } from "../store/index.ts";
import type { Held } from "./held.ts";
import { overlap } from "./scope.ts";
import type { LeaseChangeName } from "./types.ts";

/** What a book tells of the leases in it. */
export interface BookEvents {
  /** A lease was granted (not: loaded), or went out of the book. Called before `ended`. */
  noted(change: LeaseChangeName, held: Held): void;
  /** Leases went out of the book: others may go ahead. */
  ended(): void;
}

/**
 * The held leases of one workspace. A lease in the book is `held`; taking it out is `ended` (released, broken, expired),
 * and nothing comes back. Expiry is judged by the monotonic clock at each look, so that an answer never rests on a timer
 * that is late; the timer only sees to it that those in line need not wait for a look.
 */
export class Book {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #events: BookEvents;
  readonly #byEpoch = new Map<number, Held>();
  /** Ended leases whose rows the store could not be told of; told again with the next. Until then a restart revives them. */
  #untold: string[] = [];
  #timer: { readonly at: number; readonly cancel: () => void } | undefined;

  #closed = false;

  constructor(store: Store, clock: Clock, events: BookEvents) {
    this.#store = store;
    this.#clock = clock;
    this.#events = events;
  }

  /** The leases held now, oldest first. */
  held(): Held[] {
    this.#expire();
    return [...this.#byEpoch.values()];
  }

  /** The held lease of that epoch. */
  at(epoch: number): Held | undefined {
    this.#expire();
    return this.#byEpoch.get(epoch);
  }

  /** The held lease of that id. */
  find(id: string): Held | undefined {
    return this.held().find((held) => held.id === id);
  }

  /** Enters a lease that was held before; its whole ttl runs from now. */
  enter(held: Held): void {
    // A grant may come back after its workspace was closed: the next one to open it reads it from the store.
    if (this.#closed) return;
    this.#byEpoch.set(held.epoch, held);
    this.renew(held);
  }

  /** Enters a lease that was just granted. The grant ended in the store whatever it overlaps, so that goes out of the book too. */
  grant(held: Held): void {
    if (this.#closed) return;
    const over = [...this.#byEpoch.values()].filter((other) => overlap(other.paths, held.paths));
    for (const other of over) this.#out(other, "superseded");
    this.enter(held);
    this.#events.noted("granted", held);
  }

  /** Gives a held lease its whole ttl from now. Keeps its epoch. */
  renew(held: Held): void {
    held.deadline = this.#clock.monotonicMs() + held.ttlMs;
    this.#watch(held.deadline);
  }

  /** Ends a lease at once, then tells the store; rejects when that cannot be done, and tells it again later. */
  async end(held: Held): Promise<void> {
    this.#out(held, "released");
    const told = this.#tell([held.id]);
    this.#events.ended();
    await told;
  }

  /** Ends a lease in the store first, with the request that asked for it, so that a failure leaves it held. */
  async endDurably(held: Held, request: RequestRow | undefined): Promise<void> {
    await this.#store.write("lease.end", request === undefined ? { ids: [held.id] } : { ids: [held.id], request });
    if (this.#out(held, "broken")) this.#events.ended();
  }

  /** Stops the timer and forgets everything; rows stay as they are. */
  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#byEpoch.clear();
  }

  /** Takes a lease out and tells how it ended; false when it was out already. */
  #out(held: Held, how: LeaseChangeName): boolean {
    if (!this.#byEpoch.delete(held.epoch)) return false;
    this.#events.noted(how, held);
    return true;
  }

  #expire(): void {
    const now = this.#clock.monotonicMs();
    const over = [...this.#byEpoch.values()].filter((held) => held.deadline <= now);
    if (over.length === 0) return;
    for (const held of over) this.#out(held, "expired");
    // Nobody waits for this answer; a failure is kept in #untold, and no grant depends on it (a grant ends what it overlaps).
    this.#tell(over.map((held) => held.id)).catch(() => {});
    this.#events.ended();
  }

  async #tell(ids: readonly string[]): Promise<void> {
    const all = [...this.#untold, ...ids];
    this.#untold = [];
    try {
      await this.#store.write("lease.end", { ids: all });
    } catch (error) {
      this.#untold.push(...all);
      throw error;
    }
  }

  /** One timer, for the earliest deadline. A renewal leaves it early; then it finds nothing and is set anew. */
  #watch(deadline: number): void {
    if (this.#timer !== undefined && this.#timer.at <= deadline) return;
    this.#timer?.cancel();
    const cancel = this.#clock.after(Math.max(0, deadline - this.#clock.monotonicMs()), () => {
      this.#timer = undefined;
      const next = Math.min(...this.held().map((held) => held.deadline));
      if (next !== Number.POSITIVE_INFINITY) this.#watch(next);
    });
    this.#timer = { at: deadline, cancel };
  }
}
