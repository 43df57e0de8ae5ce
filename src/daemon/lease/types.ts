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

/** How a lease changed: began, or ended in one of four ways; superseded is ended by a later grant over its paths. */
export type LeaseChangeName = "granted" | "released" | "expired" | "broken" | "superseded";

/** One change of one lease. */
export interface LeaseChange {
  /** Grows by at least one a change, in this daemon's life. */
  readonly seq: number;
  readonly change: LeaseChangeName;
  /** As it was at the change. */
  readonly lease: Lease;
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
  /** What happened to leases since this daemon started; renewals are no change. */
  readonly changes: {
    /** Names this daemon's life: sequence numbers of another one mean nothing in it. */
    readonly life: string;
    /** Sequence number of the newest change of any workspace; 0 before the first. */
    readonly newest: number;
    /** Changes of a workspace after a sequence number, oldest first; undefined when some of them are not kept any more. */
    after(workspace: number, seq: number, limit: number): readonly LeaseChange[] | undefined;
  };
  /** Called at grant, end, and when a workspace is unloaded. */
  onChange(listener: (workspace: number) => void): () => void;
  close(): void;
}
