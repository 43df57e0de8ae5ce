import { type Clock, GinError, type Random } from "../base/index.ts";
import type { Store } from "../store/index.ts";
import { Book } from "./book.ts";
import { Changes } from "./changes.ts";
import { type Held, remaining, toLease } from "./held.ts";
import { judgeWrite, over } from "./judge.ts";
import { Line } from "./line.ts";
import { fenceSuperseded, leaseHeld, mustBeWithin, TTL_MAX_MS, TTL_MIN_MS, WAIT_MAX_MS } from "./refusals.ts";
import type { Fence, Lease, Leases } from "./types.ts";

/** What leases stand on. */
export interface LeasesParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  /** Changes kept of each workspace; CHANGES_KEPT unless a test wants fewer. */
  readonly changesKept?: number;
}

/** One loaded workspace. */
interface Entry {
  readonly book: Book;
  readonly line: Line;
}

/**
 * The leases of a daemon, on the store's rows and the monotonic clock. Call after the store's takeover, which may have
 * minted a new lease incarnation.
 */
export function createLeases({ store, clock, random, changesKept }: LeasesParts): Leases {
  const { leaseIncarnation: incarnation } = store.read.facts();
  const entries = new Map<number, Entry>();
  const listeners = new Set<(workspace: number) => void>();
  const changes = new Changes(random, changesKept);
  const changed = (workspace: number) => {
    for (const listener of listeners) listener(workspace);
  };
  const seen = (held: Held): Lease => toLease(held, incarnation, clock.monotonicMs());
  const entry = (workspace: number): Entry => {
    const found = entries.get(workspace);
    if (found === undefined) throw new GinError("WORKSPACE_NOT_FOUND", "the workspace is not open");
    return found;
  };
  const drop = (workspace: number, { book, line }: Entry) => {
    entries.delete(workspace);
    line.close();
    book.close();
    changed(workspace);
  };

  /** The held lease that id and fence name together, or undefined when it is over; LEASE_HELD for a fence that is not its own. */
  const own = ({ book }: Entry, leaseId: string, fence: Fence): Held | undefined => {
    const held = fence.leaseIncarnation === incarnation ? book.find(leaseId) : undefined;
    if (held !== undefined && held.epoch !== fence.leaseEpoch) throw leaseHeld(held, remaining(held, clock.monotonicMs()));
    return held;
  };
  /** The row of a lease that is not held: ID_NOT_FOUND when there never was one in this workspace. */
  const past = (workspace: number, leaseId: string) => {
    const row = store.read.lease(leaseId);
    if (row?.workspace !== workspace)
      throw new GinError("ID_NOT_FOUND", "no such lease here", undefined, { facts: { id: leaseId } });
    return row;
  };

  return {
    incarnation,
    changes,
    load(workspace) {
      if (entries.has(workspace)) return;
      const row = store.read.workspace(workspace);
      if (row === undefined) throw new GinError("WORKSPACE_NOT_FOUND", "no such workspace");
      const book = new Book(store, clock, {
        noted: (change, held) => changes.note(workspace, change, seen(held)),
        ended: () => {
          changed(workspace);
          line.advance();
        },
      });
      const granted = () => changed(workspace);
      const line = new Line({ store, clock, random, book, workspace, incarnation, granted }, row.leaseEpoch);
      entries.set(workspace, { book, line });
      for (const { id, holder, intent, paths, epoch, ttlMs, state } of store.read.leases(workspace)) {
        if (state === "held") book.enter({ id, holder, intent, paths, epoch, ttlMs, deadline: 0 });
      }
    },
    async acquire(input) {
      mustBeWithin("ttl_ms", input.ttlMs, TTL_MIN_MS, TTL_MAX_MS);
      mustBeWithin("wait_ms", input.waitMs, 0, WAIT_MAX_MS);
      return entry(input.workspace).line.join(input);
    },
    renew(workspace, leaseId, fence, ttlMs) {
      if (ttlMs !== undefined) mustBeWithin("ttl_ms", ttlMs, TTL_MIN_MS, TTL_MAX_MS);
      const at = entry(workspace);
      const held = own(at, leaseId, fence);
      if (held === undefined) {
        if (fence.leaseIncarnation !== incarnation) throw fenceSuperseded("the lease table is another one", at.line.newest);
        throw over(fence.leaseEpoch, at.line.newest, store.read.leases(workspace), past(workspace, leaseId).paths);
      }
      if (ttlMs !== undefined) held.ttlMs = ttlMs;
      at.book.renew(held);
      return seen(held);
    },
    async release(workspace, leaseId, fence) {
      const at = entry(workspace);
      const held = own(at, leaseId, fence);
      if (held !== undefined) await at.book.end(held);
      else past(workspace, leaseId);
      return held !== undefined;
    },
    async breakLease(workspace, leaseId, request) {
      const { book } = entry(workspace);
      const held = book.find(leaseId);
      if (held === undefined) {
        past(workspace, leaseId);
        throw new GinError("ID_NOT_FOUND", "the lease is over already", undefined, { facts: { id: leaseId } });
      }
      const lease = seen(held);
      await book.endDurably(held, request?.(lease));
      return lease;
    },
    list: (workspace) => entries.get(workspace)?.book.held().map(seen) ?? [],
    find(leaseId) {
      for (const { book } of entries.values()) {
        const held = book.find(leaseId);
        if (held !== undefined) return seen(held);
      }
      return undefined;
    },
    judge(workspace, principal, paths, fence, required) {
      const parts = {
        ...entry(workspace),
        store,
        workspace,
        incarnation,
        now: () => clock.monotonicMs(),
        requestId: () => random.id("rq"),
      };
      return judgeWrite(parts, { principal, paths, fence, required });
    },
    unload(workspace) {
      const found = entries.get(workspace);
      if (found !== undefined) drop(workspace, found);
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close() {
      for (const [workspace, found] of entries) drop(workspace, found);
    },
  };
}
