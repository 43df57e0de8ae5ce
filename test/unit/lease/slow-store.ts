import { GinError } from "../../../src/daemon/base/index.ts";
import { overlap } from "../../../src/daemon/lease/scope.ts";
import type { Commands, FenceCheck, LeaseRow, Store } from "../../../src/daemon/store/index.ts";

/** A save that was committed, or a grant that was written, in the order of the store. */
export type Event =
  | { readonly kind: "grant"; readonly epoch: number; readonly paths: readonly string[] }
  | { readonly kind: "save"; readonly epoch: number; readonly path: string };

/**
 * The lease transactions of the store in memory, each done when the test says so: between a call and its effect anything
 * may happen. (The real store does them in its thread; here a race is a choice.) `checksFence: false` is the mutant that
 * trusts the judgement made before.
 */
export class SlowStore {
  readonly log: Event[] = [];
  readonly #checksFence: boolean;
  #rows: LeaseRow[] = [];
  #newest = 0;
  #queue: { readonly run: () => void; readonly fail: (error: Error) => void }[] = [];

  constructor(checksFence: boolean) {
    this.#checksFence = checksFence;
  }

  /** The store as the lease room uses it. */
  readonly store = {
    read: {
      facts: () => ({ leaseIncarnation: "li_1" }),
      workspace: () => ({ leaseEpoch: this.#newest, id: "ws_1", repository: "rp_1" }),
      leases: () => [...this.#rows],
      lease: (id: string) => this.#rows.find((row) => row.id === id),
    },
    write: (command: string, value: unknown) =>
      this.#later(() =>
        command === "lease.grant"
          ? this.#grant((value as Commands["lease.grant"]["in"]).lease)
          : this.#end((value as Commands["lease.end"]["in"]).ids),
      ),
  } as unknown as Store;

  /** Sends a save's commit. True when it was committed. */
  commit(check: FenceCheck, path: string): Promise<boolean> {
    return this.#later(() => {
      const held = this.#rows.some((row) => row.id === check.leaseId && row.epoch === check.leaseEpoch && row.state === "held");
      if (held || !this.#checksFence) this.log.push({ kind: "save", epoch: check.leaseEpoch, path });
      return held || !this.#checksFence;
    });
  }

  /** Transactions sent and not done. */
  get pending(): number {
    return this.#queue.length;
  }

  /** Does the next transaction. */
  step(): void {
    this.#queue.shift()?.run();
  }

  /** The next transaction fails, with nothing done. */
  failNext(): void {
    this.#queue.shift()?.fail(new GinError("DISK_FULL", "full"));
  }

  /** The daemon dies: what was not done never will be. */
  crash(): void {
    this.#queue = [];
  }

  #later<T>(run: () => T): Promise<T> {
    return new Promise((resolve, fail) => this.#queue.push({ run: () => resolve(run()), fail }));
  }

  #grant(lease: LeaseRow): boolean {
    if (lease.epoch !== this.#newest + 1) return false;
    this.#newest = lease.epoch;
    this.#rows = [
      ...this.#rows.map((row) => (row.state === "held" && overlap(row.paths, lease.paths) ? ended(row) : row)),
      lease,
    ];
    this.log.push({ kind: "grant", epoch: lease.epoch, paths: lease.paths });
    return true;
  }

  #end(ids: readonly string[]): null {
    this.#rows = this.#rows.map((row) => (ids.includes(row.id) ? ended(row) : row));
    return null;
  }
}

const ended = (row: LeaseRow): LeaseRow => ({ ...row, state: "ended" });
