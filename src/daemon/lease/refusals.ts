import { GinError, type Json } from "../base/index.ts";
import type { WorkspaceRow } from "../store/index.ts";
import type { Claim } from "./held.ts";
import { commonPrefixes } from "./scope.ts";

/** Shortest, usual and longest time to live of a lease, milliseconds; longest wait in line. */
export const TTL_MIN_MS = 5_000;
export const TTL_DEFAULT_MS = 600_000;
export const TTL_MAX_MS = 3_600_000;
export const WAIT_MAX_MS = 60_000;

/** LEASE_HELD: a claim of somebody else's overlaps. `remainingMs` is the claim's own. */
export function leaseHeld(claim: Claim, remainingMs: number): GinError {
  const facts = {
    lease_id: claim.id,
    holder: claim.holder,
    intent: claim.intent,
    remaining_ms: String(remainingMs),
    paths: claim.paths,
  };
  const message = `${scopeInWords(claim.paths)} under ${claim.id} of ${claim.holder}`;
  return new GinError("LEASE_HELD", message, undefined, { facts, retryAfterMs: remainingMs });
}

/** A claim's scope as a sentence begins with it: all its paths are among the facts. */
function scopeInWords([first, ...others]: readonly string[]): string {
  if (first === undefined) return "the whole workspace is";
  return others.length === 0 ? `${first} is` : `${first} and ${others.length} more are`;
}

/**
 * LEASE_REQUIRED, with the acquire call to make as it stands: its scope is that of all paths of the write, because a
 * write carries one fence. `missing` are the paths no lease of the caller's covers.
 */
export function leaseRequired(
  principal: string,
  paths: readonly string[],
  missing: readonly string[],
  at: { readonly workspace: WorkspaceRow | undefined; readonly requestId: string; readonly hasLease: boolean },
): GinError {
  const acquire: { [key: string]: Json } = {
    ...(at.workspace === undefined ? {} : { repository: at.workspace.repository, workspace: at.workspace.id }),
    request_id: at.requestId,
    paths: commonPrefixes(paths),
    ttl_ms: String(TTL_DEFAULT_MS),
  };
  const shown = missing.slice(0, 100);
  const message = at.hasLease ? `the lease does not cover ${missing[0] ?? ""}` : `${principal} must hold a lease to write here`;
  const suggestion = at.hasLease ? "release the lease, make the call in next_call, then save with its fence" : undefined;
  return new GinError("LEASE_REQUIRED", missing.length > 1 ? `${message} (${missing.length} paths)` : message, suggestion, {
    facts: { paths: shown },
    nextCall: { acquire_lease: acquire },
  });
}

/** FENCE_SUPERSEDED. `leaseEpoch` is the workspace's newest. */
export function fenceSuperseded(message: string, leaseEpoch: number): GinError {
  return new GinError("FENCE_SUPERSEDED", message, undefined, { facts: { lease_epoch: String(leaseEpoch) } });
}

/** LEASE_EXPIRED. `leaseEpoch` is the one that is over. */
export function leaseExpired(leaseEpoch: number): GinError {
  return new GinError("LEASE_EXPIRED", "the lease is over", undefined, { facts: { lease_epoch: String(leaseEpoch) } });
}

/** INVALID_REQUEST unless `value` is a whole number in [least, most]. */
export function mustBeWithin(field: string, value: number, least: number, most: number): void {
  if (Number.isSafeInteger(value) && value >= least && value <= most) return;
  const limit = value < least ? least : most;
  throw new GinError("INVALID_REQUEST", `${field} must be a whole number from ${least} to ${most}`, undefined, {
    facts: { field, limit: String(limit) },
  });
}
