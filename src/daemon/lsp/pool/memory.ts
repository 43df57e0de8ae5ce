import type { Clock, Log } from "../../base/index.ts";
import type { Entry } from "./entry.ts";
import type { PoolDeps } from "./types.ts";

/** Milliseconds between two looks while anything runs. */
const LOOK_MS = 5_000;

/** What the budget needs of the pool. */
export interface BudgetParts extends Pick<PoolDeps, "resident" | "memoryBytes"> {
  readonly clock: Clock;
  readonly log: Log;
  readonly entries: () => Iterable<Entry>;
  /** Ends one that nobody asks. */
  readonly end: (entry: Entry, why: string) => Promise<void>;
}

/**
 * Holds all servers together to a budget of resident memory: what was used least recently goes first, never one that is being asked, and by
 * itself never the one used last, which the next question would only start again.
 */
export class Budget {
  readonly #parts: BudgetParts;
  #cancel: (() => void) | undefined;
  #closed = false;

  constructor(parts: BudgetParts) {
    this.#parts = parts;
  }

  /** Looks from now on, as long as anything runs. */
  watch(): void {
    if (this.#cancel !== undefined || this.#closed) return;
    this.#cancel = this.#parts.clock.after(LOOK_MS, () => {
      this.#cancel = undefined;
      void this.#look();
    });
  }

  /** Makes room for one more. False while what is being asked takes all there is. */
  async room(): Promise<boolean> {
    await this.#measure();
    for (;;) {
      if (this.#sum() <= this.#parts.memoryBytes) return true;
      const oldest = this.#idle()[0];
      if (oldest === undefined) return false;
      await this.#parts.end(oldest, "another one needs its memory");
    }
  }

  close(): void {
    this.#closed = true;
    this.#cancel?.();
    this.#cancel = undefined;
  }

  async #look(): Promise<void> {
    try {
      await this.#measure();
      while (this.#sum() > this.#parts.memoryBytes) {
        const newest = Math.max(...this.#running().map((entry) => entry.usedMs));
        const oldest = this.#idle().find((entry) => entry.usedMs < newest);
        if (oldest === undefined) break;
        await this.#parts.end(oldest, "all of them take more memory than they may");
      }
    } catch (err) {
      this.#parts.log.warn({ err }, "the memory of language servers could not be measured");
    }
    if (this.#running().length > 0) this.watch();
  }

  async #measure(): Promise<void> {
    const running = this.#running();
    const leaders = running.flatMap(({ session }) => (session.pid === undefined ? [] : [session.pid]));
    const bytes = await this.#parts.resident(leaders);
    for (const entry of running) entry.bytes = bytes.get(entry.session.pid ?? 0) ?? 0;
  }

  #running(): Entry[] {
    return [...this.#parts.entries()].filter(({ session }) => session.pid !== undefined);
  }

  /** Those nobody asks, least recently used first. */
  #idle(): Entry[] {
    return this.#running()
      .filter(({ users, session }) => users === 0 && session.state !== "stopping")
      .sort((one, other) => one.usedMs - other.usedMs);
  }

  #sum(): number {
    return this.#running().reduce((sum, { bytes, session }) => (session.state === "stopping" ? sum : sum + bytes), 0);
  }
}
