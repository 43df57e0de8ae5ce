import type { FenceCheck, LeaseRow } from "../store/index.ts";
import type { Scope } from "./scope.ts";
import type { Lease } from "./types.ts";

/** Who wants what: a lease, or a place in line for one. */
export interface Claim {
  readonly id: string;
  readonly holder: string;
  readonly intent: string;
  readonly paths: Scope;
}

/** A lease in memory. It is held while the monotonic clock is before its deadline and nobody ended it. */
export interface Held extends Claim {
  readonly epoch: number;
  /** Milliseconds; what each renewal gives. */
  ttlMs: number;
  /** Monotonic milliseconds. */
  deadline: number;
}

/** The lease as callers see it at monotonic time `now`. */
export function toLease(held: Held, incarnation: string, now: number): Lease {
  const { id, holder, intent, paths, epoch, ttlMs } = held;
  return {
    id,
    holder,
    intent,
    paths,
    leaseIncarnation: incarnation,
    leaseEpoch: epoch,
    remainingMs: remaining(held, now),
    ttlMs,
  };
}

/** The lease's row. */
export function toRow(held: Held, workspace: number): LeaseRow {
  const { id, holder, intent, paths, epoch, ttlMs } = held;
  return { id, workspace, holder, intent, paths, epoch, ttlMs, state: "held" };
}

/** Whole milliseconds left, rounded up, so that a held lease never shows 0. */
export function remaining(held: Held, now: number): number {
  return Math.max(0, Math.ceil(held.deadline - now));
}

/** What the commit of a save judged under this lease checks again. */
export function toCheck(held: Held): FenceCheck {
  return { leaseId: held.id, leaseEpoch: held.epoch };
}
