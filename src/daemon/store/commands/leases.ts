import type { LeaseRow } from "../types.ts";
import type { Handler, Work } from "../work.ts";
import { mustPutRequest } from "./put.ts";

/** True when one of the scopes lies in the other's, component by component; no paths is the whole workspace. */
export function scopesOverlap(one: readonly string[], other: readonly string[]): boolean {
  if (one.length === 0 || other.length === 0) return true;
  return one.some((left) => other.some((right) => inside(left, right) || inside(right, left)));
}

function inside(path: string, prefix: string): boolean {
  return prefix === "" || path === prefix || path.startsWith(`${prefix}/`);
}

/**
 * Grants a lease under the workspace's next lease epoch, or gives false. Held leases it overlaps end in the same
 * transaction, so that a fence that is still held was never superseded.
 */
export const grant: Handler<"lease.grant"> = {
  durable: true,
  run(work, { lease, request }) {
    const { changes } = work
      .statement("UPDATE workspace SET lease_epoch = ? WHERE rowid = ? AND lease_epoch = ?")
      .run(lease.epoch, lease.workspace, lease.epoch - 1);
    if (changes === 0) return false;
    endOverlapped(work, lease);
    work
      .statement("INSERT INTO lease(id, workspace, holder, intent, paths, epoch, ttl_ms, state) VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
      .run(
        lease.id,
        lease.workspace,
        lease.holder,
        lease.intent,
        JSON.stringify(lease.paths),
        lease.epoch,
        lease.ttlMs,
        lease.state,
      );
    mustPutRequest(work, request);
    return true;
  },
};

function endOverlapped(work: Work, lease: LeaseRow): void {
  const held = work.statement("SELECT id, paths FROM lease WHERE workspace = ? AND state = 'held'").all(lease.workspace) as {
    id: string;
    paths: string;
  }[];
  for (const { id, paths } of held) {
    if (scopesOverlap(JSON.parse(paths) as string[], lease.paths)) endOne(work, id);
  }
}

/** Released, expired or broken; nothing leaves "ended". */
export const end: Handler<"lease.end"> = {
  durable: (value) => value.request !== undefined,
  run(work, { ids, request }) {
    for (const id of ids) endOne(work, id);
    mustPutRequest(work, request);
    return null;
  },
};

function endOne(work: Work, id: string): void {
  work.statement("UPDATE lease SET state = 'ended' WHERE id = ?").run(id);
}
