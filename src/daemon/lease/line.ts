import { type Clock, GinError, type Random, toGinError } from "../base/index.ts";
import type { Store } from "../store/index.ts";
import type { Book } from "./book.ts";
import { type Claim, type Held, remaining, toLease, toRow } from "./held.ts";
import { leaseHeld } from "./refusals.ts";
import { overlap, tidy } from "./scope.ts";
import type { AcquireInput, Lease } from "./types.ts";

/**
 * A place in line. States: waiting → granting → granted or failed; waiting → refused (its time is up), cancelled, or
 * failed (the workspace closed). Once granting, it is not stopped any more: the store is writing the grant.
 */
interface Waiter extends Claim {
  readonly input: AcquireInput;
  readonly resolve: (lease: Lease) => void;
  readonly reject: (error: GinError) => void;
  /** Takes back its timer and its ear on the signal. */
  readonly leave: () => void;
}

/** What a line needs to know of its workspace. */
export interface LineParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly book: Book;
  readonly workspace: number;
  readonly incarnation: string;
  /** Called after a grant was written or failed. */
  readonly granted: () => void;
}

/**
 * The line of those who want a lease on one workspace: first come, first served. A waiter goes ahead when nothing held and
 * nobody before it in line overlaps its scope, so disjoint work passes and nobody is overtaken by what it waits for.
 * One grant is written at a time, in the order of lease epochs.
 */
export class Line {
  readonly #parts: LineParts;
  readonly #waiting: Waiter[] = [];
  #granting: Waiter | undefined;
  #newest: number;

  /** `newest`: the workspace's lease epoch so far. */
  constructor(parts: LineParts, newest: number) {
    this.#parts = parts;
    this.#newest = newest;
  }

  /** The newest lease epoch that was granted. */
  get newest(): number {
    return this.#newest;
  }

  /** The claim whose grant is being written: its scope is taken already. */
  get granting(): (Claim & { readonly input: AcquireInput }) | undefined {
    return this.#granting;
  }

  /** Joins the line. Rejects with LEASE_HELD, CANCELLED, BUSY, or what the store said. */
  join(input: AcquireInput): Promise<Lease> {
    const claim = { id: this.#parts.random.id("ls"), holder: input.principal, intent: input.intent, paths: tidy(input.paths) };
    return new Promise((resolve, reject) => {
      if (input.signal?.aborted === true) {
        reject(new GinError("CANCELLED", "the acquire was cancelled"));
        return;
      }
      const held = this.#parts.book.held();
      const blocker = this.#blocker(held, claim.paths, this.#waiting.length);
      if (blocker !== undefined && input.waitMs === 0) {
        reject(this.#refusal(blocker));
        return;
      }
      const stop = blocker === undefined ? () => {} : this.#parts.clock.after(input.waitMs, () => this.#timeUp(waiter));
      const cancel = () => this.#drop(waiter, new GinError("CANCELLED", "the acquire was cancelled while it waited"));
      const leave = () => {
        stop();
        input.signal?.removeEventListener("abort", cancel);
      };
      const waiter: Waiter = { ...claim, input, resolve, reject, leave };
      input.signal?.addEventListener("abort", cancel, { once: true });
      this.#waiting.push(waiter);
      this.advance();
    });
  }

  /** Grants whoever can be granted. Called whenever something ended. */
  advance(): void {
    // Looked at before anything else: the look may end leases, which calls here again.
    const held = this.#parts.book.held();
    if (this.#granting !== undefined) return;
    const at = this.#waiting.findIndex((waiter, index) => this.#blocker(held, waiter.paths, index) === undefined);
    const [next] = at < 0 ? [] : this.#waiting.splice(at, 1);
    if (next === undefined) return;
    next.leave();
    this.#granting = next;
    void this.#grant(next);
  }

  /** Fails everybody who waits; a grant being written is finished. */
  close(): void {
    for (const waiter of this.#waiting.splice(0)) {
      waiter.leave();
      waiter.reject(new GinError("BUSY", "the workspace is closing"));
    }
  }

  async #grant(waiter: Waiter): Promise<void> {
    try {
      waiter.resolve(await this.#write(waiter));
    } catch (error) {
      waiter.reject(toGinError(error));
    }
    this.#granting = undefined;
    this.advance();
    this.#parts.granted();
  }

  /** Writes the grant; answers only when it and its epoch are durable. */
  async #write(waiter: Waiter): Promise<Lease> {
    const { store, book, workspace, incarnation } = this.#parts;
    const { id, holder, intent, paths, input } = waiter;
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const held: Held = { id, holder, intent, paths, epoch: this.#newest + 1, ttlMs: input.ttlMs, deadline: input.ttlMs };
      const lease = toLease(held, incarnation, 0);
      const request = input.request?.(lease);
      const row = toRow(held, workspace);
      if (await store.write("lease.grant", request === undefined ? { lease: row } : { lease: row, request })) {
        this.#newest = held.epoch;
        book.grant(held);
        return lease;
      }
      // The table moved on without us (a grant that finished after the workspace was closed and opened again).
      const now = store.read.workspace(workspace);
      if (now === undefined) throw new GinError("WORKSPACE_NOT_FOUND", "the workspace is gone");
      this.#newest = now.leaseEpoch;
    }
    throw new GinError("INTERNAL", "the store refused the next lease epoch twice");
  }

  /** Whose time is up is refused, unless only the store keeps it waiting: then it is granted next and nothing can come before it. */
  #timeUp(waiter: Waiter): void {
    const held = this.#parts.book.held();
    const blocker = this.#blocker(held, waiter.paths, this.#waiting.indexOf(waiter));
    if (blocker !== undefined) this.#drop(waiter, this.#refusal(blocker));
  }

  #drop(waiter: Waiter, error: GinError): void {
    const at = this.#waiting.indexOf(waiter);
    if (at < 0) return;
    this.#waiting.splice(at, 1);
    waiter.leave();
    waiter.reject(error);
    this.advance();
  }

  /** What keeps a scope at `place` in line from going ahead: something held, or somebody before it. */
  #blocker(held: readonly Held[], paths: readonly string[], place: number): Held | Waiter | undefined {
    const holding = held.find((other) => overlap(other.paths, paths));
    if (holding !== undefined) return holding;
    if (this.#granting !== undefined && overlap(this.#granting.paths, paths)) return this.#granting;
    return this.#waiting.find((other, index) => index < place && overlap(other.paths, paths));
  }

  #refusal(blocker: Held | Waiter): GinError {
    const { clock } = this.#parts;
    return leaseHeld(blocker, "deadline" in blocker ? remaining(blocker, clock.monotonicMs()) : blocker.input.ttlMs);
  }
}
