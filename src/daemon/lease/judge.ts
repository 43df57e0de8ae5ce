import type { FenceCheck, Store } from "../store/index.ts";
import type { Book } from "./book.ts";
import { remaining, toCheck } from "./held.ts";
import type { Line } from "./line.ts";
import { fenceSuperseded, leaseExpired, leaseHeld, leaseRequired } from "./refusals.ts";
import { covers, overlap } from "./scope.ts";
import type { Fence } from "./types.ts";

/** What a judgement looks at. */
export interface JudgeParts {
  readonly store: Store;
  readonly workspace: number;
  readonly incarnation: string;
  readonly book: Book;
  readonly line: Line;
  /** Monotonic now. */
  readonly now: () => number;
  /** A fresh request id for a proposed call. */
  readonly requestId: () => string;
}

/** A write to be judged. */
export interface Write {
  readonly principal: string;
  readonly paths: readonly string[];
  readonly fence: Fence | undefined;
  /** Whether the principal must hold a lease. */
  readonly required: boolean;
}

/**
 * Judges a write: LEASE_REQUIRED, FENCE_SUPERSEDED, LEASE_EXPIRED, LEASE_HELD, the first that applies. Under a current
 * fence it renews the lease and gives what the commit must check again. It is the lease that holds, not the principal:
 * without its fence the holder is refused like anybody.
 */
export function judgeWrite(parts: JudgeParts, write: Write): FenceCheck | undefined {
  const { fence } = write;
  return fence === undefined ? withoutFence(parts, write) : withFence(parts, write, fence);
}

function withoutFence(parts: JudgeParts, { principal, paths, required }: Write): undefined {
  if (required) throw needsLease(parts, principal, paths, paths, false);
  const touches = (claim: { readonly paths: readonly string[] }) => paths.some((path) => overlap(claim.paths, [path]));
  const held = parts.book.held().find(touches);
  if (held !== undefined) throw leaseHeld(held, remaining(held, parts.now()));
  const { granting } = parts.line;
  if (granting !== undefined && touches(granting)) throw leaseHeld(granting, granting.input.ttlMs);
}

function withFence(parts: JudgeParts, { principal, paths }: Write, fence: Fence): FenceCheck {
  const { store, workspace, incarnation, book, line } = parts;
  if (fence.leaseIncarnation !== incarnation) throw fenceSuperseded("the lease table is another one", line.newest);
  const held = book.at(fence.leaseEpoch);
  // Ended leases are still in the store for a while; older ones have no scope to judge by.
  const rows = held === undefined ? store.read.leases(workspace) : [];
  const scope = held?.paths ?? rows.find((row) => row.epoch === fence.leaseEpoch)?.paths;
  const missing = scope === undefined ? [] : paths.filter((path) => !covers(scope, path));
  if (missing.length > 0) throw needsLease(parts, principal, paths, missing, held !== undefined);
  if (held === undefined) throw over(fence.leaseEpoch, line.newest, rows, scope ?? paths);
  book.renew(held);
  return toCheck(held);
}

/** Why a fence that is not held any more is refused. An epoch that was never granted can only come from another table. */
export function over(
  epoch: number,
  newest: number,
  rows: readonly { readonly epoch: number; readonly paths: readonly string[] }[],
  scope: readonly string[],
) {
  if (epoch > newest) return fenceSuperseded("no such lease was granted here", newest);
  const later = rows.some((row) => row.epoch > epoch && overlap(row.paths, scope));
  return later ? fenceSuperseded("a later lease took over", newest) : leaseExpired(epoch);
}

function needsLease(
  parts: JudgeParts,
  principal: string,
  paths: readonly string[],
  missing: readonly string[],
  hasLease: boolean,
) {
  return leaseRequired(principal, paths, missing, {
    workspace: parts.store.read.workspace(parts.workspace),
    requestId: parts.requestId(),
    hasLease,
  });
}
