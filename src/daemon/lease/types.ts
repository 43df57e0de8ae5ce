import type { RequestRow } from "../store/index.ts";

/** A live lease as callers see it; durations, never times. */
export interface Lease {
  readonly id: string;
  readonly holder: string;
  readonly intent: string;
  readonly paths: readonly string[];
  readonly leaseIncarnation: string;
  readonly leaseEpoch: number;
  readonly remainingMs: number;
  readonly ttlMs: number;
}

/** The fence a write carries. */
export interface Fence {
  readonly leaseIncarnation: string;
  readonly leaseEpoch: number;
}

/** What to acquire. */
export interface AcquireInput {
  readonly workspace: number;
  readonly principal: string;
  /** Canonical prefixes, none for the whole workspace. */
  readonly paths: readonly string[];
  /** Already defaulted and checked: 5,000 to 3,600,000. */
  readonly ttlMs: number;
  readonly intent: string;
  /** 0 to 60,000. */
  readonly waitMs: number;
  readonly signal?: AbortSignal;
  /** Builds the outcome row once the lease is known; written in the grant's transaction. */
  readonly request?: (lease: Lease) => RequestRow;
}

/**
 * Leases of all workspaces. State machine of one: held → ended (released, expired, broken); nothing leaves `ended`.
 * Overlapping scopes exclude each other; waiting is first come first served, all paths or none.
 */
export interface Leases {
  readonly incarnation: string;
  /** Gives every lease still held in the store its whole ttl. Called once per workspace, before it serves. */
  load(workspace: number): void;
  acquire(input: AcquireInput): Promise<Lease>;
  renew(workspace: number, leaseId: string, fence: Fence, ttlMs?: number): Lease;
  /** False when it was over already. */
  release(workspace: number, leaseId: string, fence: Fence): Promise<boolean>;
  breakLease(workspace: number, leaseId: string, request?: (lease: Lease) => RequestRow): Promise<Lease>;
  list(workspace: number): Lease[];
  find(leaseId: string): Lease | undefined;
  /**
   * Judges a write to canonical paths: LEASE_REQUIRED, FENCE_SUPERSEDED, LEASE_EXPIRED, LEASE_HELD in that precedence; all
   * paths must lie in the lease's scope. Renews the lease. Gives what the commit must re-check, or undefined without a fence.
   * `required`: whether this principal needs a lease.
   */
  judge(
    workspace: number,
    principal: string,
    paths: readonly string[],
    fence: Fence | undefined,
    required: boolean,
  ): { readonly leaseId: string; readonly leaseEpoch: number } | undefined;
  /** Drops the workspace's leases and waiters (closed or removed). */
  unload(workspace: number): void;
  /** Called at grant, end. */
  onChange(listener: (workspace: number) => void): () => void;
  close(): void;
}
