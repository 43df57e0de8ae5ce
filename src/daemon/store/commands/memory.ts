import { GinError } from "../../base/index.ts";
import {
  MEMORY_CHANGES_KEPT,
  type MemoryBucket,
  type MemoryChangeRow,
  type MemoryQuota,
  type MemoryRow,
  memoryBytes,
} from "../memory-types.ts";
import type { Handler, Work } from "../work.ts";
import { mustPutRequest } from "./put.ts";

interface Standing extends Omit<MemoryColumns, "scope_id"> {
  readonly scopeId: string;
}

interface MemoryColumns {
  readonly seq: number;
  readonly scope: MemoryRow["scope"];
  readonly scope_id: string;
  readonly key: string;
  readonly kind: MemoryRow["kind"];
  readonly bytes: number;
  readonly pinned: number;
  readonly created_ms: number;
  readonly expires_ms: number;
}

type Change = Omit<MemoryChangeRow, "seq">;

const STANDING = "SELECT seq, scope, scope_id, key, kind, bytes, pinned, created_ms, expires_ms FROM memory";

/** Keeps an entry with its request's outcome. */
export const save: Handler<"memory.save"> = {
  durable: true,
  run(work, { row, quota, request }) {
    const { scope, scopeId, key, kind, principal, updatedMs: nowMs } = row;
    const stood = standing(work, row, key);
    if (stood !== undefined) take(work, stood);
    // What had expired was not there any more for anybody.
    const old = stood !== undefined && (stood.pinned === 1 || stood.expires_ms === 0 || stood.expires_ms > nowMs);
    const pinned = row.pinned || (old && stood.pinned === 1);
    const bytes = memoryBytes(row);
    makeRoom(work, row, bytes, quota);
    const { lastInsertRowid } = work
      .statement(
        "INSERT INTO memory(scope, scope_id, key, value, bytes, kind, pinned, principal, request_id, created_ms, updated_ms, expires_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      )
      .run(
        scope,
        scopeId,
        key,
        row.value,
        bytes,
        kind,
        pinned ? 1 : 0,
        principal,
        row.requestId,
        old ? stood.created_ms : row.createdMs,
        nowMs,
        pinned ? 0 : row.expiresMs,
      );
    count(work, row, bytes);
    note(work, { scope, scopeId, key, kind, change: "saved", principal, timeMs: nowMs });
    mustPutRequest(work, request);
    return { seq: Number(lastInsertRowid), pinned };
  },
};

/** Deletes an entry, if it is there. */
export const forget: Handler<"memory.forget"> = {
  durable: true,
  run(work, { bucket, key, principal, timeMs, request }) {
    const stood = standing(work, bucket, key);
    if (stood !== undefined) remove(work, stood, "forgotten", principal, timeMs);
    mustPutRequest(work, request);
    return { removed: stood !== undefined };
  },
};

/** Deletes entries as they were read, all or none. */
export const collect: Handler<"memory.collect"> = {
  durable: true,
  run(work, { seqs, principal, timeMs, request }) {
    const find = work.statement(`${STANDING} WHERE seq = ?`);
    const found = seqs.map((seq) => find.get(seq) as MemoryColumns | undefined);
    // Looked at before anything is deleted: nothing has to be undone.
    if (found.includes(undefined)) return false;
    for (const one of found) if (one !== undefined) remove(work, standingOf(one), "expired", principal, timeMs);
    mustPutRequest(work, request);
    return true;
  },
};

function standing(work: Work, { scope, scopeId }: MemoryBucket, key: string): Standing | undefined {
  const row = work.statement(`${STANDING} WHERE scope = ? AND scope_id = ? AND key = ?`).get(scope, scopeId, key);
  return row === undefined ? undefined : standingOf(row as MemoryColumns);
}

function standingOf({ scope_id: scopeId, ...same }: MemoryColumns): Standing {
  return { ...same, scopeId };
}

/** For a repository that is given up: what was noted of its project goes with it. */
export function forgetProject(work: Work, repository: string): void {
  const bytes = used(work, "project", repository);
  work.statement("DELETE FROM memory WHERE scope = 'project' AND scope_id = ?").run(repository);
  count(work, { scope: "project", scopeId: repository }, -bytes);
}

/** Throws QUOTA_EXCEEDED unless `bytes` more fit, once what expired has given way. */
function makeRoom(work: Work, row: MemoryRow, bytes: number, quota: MemoryQuota): void {
  const { scope, scopeId } = row;
  if (used(work, scope, scopeId) + bytes > quota.bucketBytes) {
    dropExpired(work, row, row);
    if (used(work, scope, scopeId) + bytes > quota.bucketBytes) throw full("the scope's memory is full", quota.bucketBytes);
  }
  if (used(work, "", "") + bytes > quota.totalBytes) {
    dropExpired(work, row, undefined);
    if (used(work, "", "") + bytes > quota.totalBytes) throw full("the host's memory is full", quota.totalBytes);
  }
}

function full(message: string, limit: number): GinError {
  return new GinError("QUOTA_EXCEEDED", message, "forget entries that are not needed any more", { facts: { limit } });
}

function dropExpired(work: Work, { principal, updatedMs }: MemoryRow, bucket: MemoryBucket | undefined): void {
  const where = bucket === undefined ? "" : "AND scope = ? AND scope_id = ?";
  const rows = work
    .statement(`${STANDING} WHERE pinned = 0 AND expires_ms > 0 AND expires_ms <= ? ${where}`)
    .all(updatedMs, ...(bucket === undefined ? [] : [bucket.scope, bucket.scopeId])) as MemoryColumns[];
  for (const row of rows) remove(work, standingOf(row), "expired", principal, updatedMs);
}

function remove(work: Work, stood: Standing, change: Change["change"], principal: string, timeMs: number): void {
  take(work, stood);
  note(work, { ...stood, change, principal, timeMs });
}

/** Deletes an entry, and what it counted. */
function take(work: Work, stood: Standing): void {
  work.statement("DELETE FROM memory WHERE seq = ?").run(stood.seq);
  count(work, stood, -stood.bytes);
}

function note(work: Work, { scope, scopeId, key, change, kind, principal, timeMs }: Change): void {
  const { lastInsertRowid } = work
    .statement("INSERT INTO memory_change(scope, scope_id, key, change, kind, principal, time_ms) VALUES (?, ?, ?, ?, ?, ?, ?)")
    .run(scope, scopeId, key, change, kind, principal, timeMs);
  work.statement("DELETE FROM memory_change WHERE seq <= ?").run(Number(lastInsertRowid) - MEMORY_CHANGES_KEPT);
}

function count(work: Work, { scope, scopeId }: MemoryBucket, bytes: number): void {
  add(work, scope, scopeId, bytes);
  add(work, "", "", bytes);
}

/** The row of "" and "" counts all of them. */
function add(work: Work, scope: string, scopeId: string, bytes: number): void {
  work
    .statement(
      "INSERT INTO memory_use VALUES (?, ?, ?) ON CONFLICT(scope, scope_id) DO UPDATE SET bytes = bytes + excluded.bytes",
    )
    .run(scope, scopeId, bytes);
  if (scope === "") return;
  work.statement("DELETE FROM memory_use WHERE scope = ? AND scope_id = ? AND bytes = 0").run(scope, scopeId);
}

function used(work: Work, scope: string, scopeId: string): number {
  const row = work.statement("SELECT bytes FROM memory_use WHERE scope = ? AND scope_id = ?").get(scope, scopeId);
  return (row as { bytes: number } | undefined)?.bytes ?? 0;
}
