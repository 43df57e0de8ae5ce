import { GinError } from "../../base/index.ts";
import { type MemoryBucket, type MemoryQuota, type MemoryRow, memoryBytes } from "../memory-types.ts";
import type { Handler, Work } from "../work.ts";
import { mustPutRequest } from "./put.ts";

interface Standing {
  readonly seq: number;
  readonly bytes: number;
  readonly pinned: number;
  readonly created_ms: number;
  readonly expires_ms: number;
}

/** Keeps an entry with its request's outcome. */
export const save: Handler<"memory.save"> = {
  durable: true,
  run(work, { row, quota, request }) {
    const { scope, scopeId, key, updatedMs: nowMs } = row;
    const stood = work
      .statement("SELECT seq, bytes, pinned, created_ms, expires_ms FROM memory WHERE scope = ? AND scope_id = ? AND key = ?")
      .get(scope, scopeId, key) as Standing | undefined;
    if (stood !== undefined) take(work, row, stood);
    // What had expired was not there any more for anybody.
    const old = stood !== undefined && (stood.pinned === 1 || stood.expires_ms === 0 || stood.expires_ms > nowMs);
    const pinned = row.pinned || (old && stood.pinned === 1);
    const bytes = memoryBytes(row);
    makeRoom(work, row, bytes, quota, nowMs);
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
        row.kind,
        pinned ? 1 : 0,
        row.principal,
        row.requestId,
        old ? stood.created_ms : row.createdMs,
        nowMs,
        pinned ? 0 : row.expiresMs,
      );
    count(work, row, bytes);
    mustPutRequest(work, request);
    return { seq: Number(lastInsertRowid), pinned };
  },
};

/** Deletes an entry, if it is there. */
export const forget: Handler<"memory.forget"> = {
  durable: true,
  run(work, { bucket, key, request }) {
    const stood = work
      .statement("SELECT seq, bytes FROM memory WHERE scope = ? AND scope_id = ? AND key = ?")
      .get(bucket.scope, bucket.scopeId, key) as Standing | undefined;
    if (stood !== undefined) take(work, bucket, stood);
    mustPutRequest(work, request);
    return { removed: stood !== undefined };
  },
};

/** Deletes entries as they were read, all or none. */
export const collect: Handler<"memory.collect"> = {
  durable: true,
  run(work, { seqs, request }) {
    const find = work.statement("SELECT seq, bytes, scope, scope_id FROM memory WHERE seq = ?");
    const found = seqs.map((seq) => find.get(seq) as (Standing & { scope: MemoryRow["scope"]; scope_id: string }) | undefined);
    // Looked at before anything is deleted: nothing has to be undone.
    if (found.includes(undefined)) return false;
    for (const one of found) if (one !== undefined) take(work, { scope: one.scope, scopeId: one.scope_id }, one);
    mustPutRequest(work, request);
    return true;
  },
};

/** For a repository that is given up: what was noted of its project goes with it. */
export function forgetProject(work: Work, repository: string): void {
  const bytes = used(work, "project", repository);
  work.statement("DELETE FROM memory WHERE scope = 'project' AND scope_id = ?").run(repository);
  count(work, { scope: "project", scopeId: repository }, -bytes);
}

/** Throws QUOTA_EXCEEDED unless `bytes` more fit, once what expired has given way. */
function makeRoom(work: Work, bucket: MemoryBucket, bytes: number, quota: MemoryQuota, nowMs: number): void {
  const { scope, scopeId } = bucket;
  if (used(work, scope, scopeId) + bytes > quota.bucketBytes) {
    dropExpired(work, nowMs, bucket);
    if (used(work, scope, scopeId) + bytes > quota.bucketBytes) throw full("the scope's memory is full", quota.bucketBytes);
  }
  if (used(work, "", "") + bytes > quota.totalBytes) {
    dropExpired(work, nowMs, undefined);
    if (used(work, "", "") + bytes > quota.totalBytes) throw full("the host's memory is full", quota.totalBytes);
  }
}

function full(message: string, limit: number): GinError {
  return new GinError("QUOTA_EXCEEDED", message, "forget entries that are not needed any more", { facts: { limit } });
}

function dropExpired(work: Work, nowMs: number, bucket: MemoryBucket | undefined): void {
  const where = bucket === undefined ? "" : "AND scope = ? AND scope_id = ?";
  const rows = work
    .statement(`SELECT seq, bytes, scope, scope_id FROM memory WHERE pinned = 0 AND expires_ms > 0 AND expires_ms <= ? ${where}`)
    .all(nowMs, ...(bucket === undefined ? [] : [bucket.scope, bucket.scopeId])) as (Standing & {
    scope: MemoryRow["scope"];
    scope_id: string;
  })[];
  for (const row of rows) take(work, { scope: row.scope, scopeId: row.scope_id }, row);
}

/** Deletes an entry, and what it counted. */
function take(work: Work, bucket: MemoryBucket, stood: Pick<Standing, "seq" | "bytes">): void {
  work.statement("DELETE FROM memory WHERE seq = ?").run(stood.seq);
  count(work, bucket, -stood.bytes);
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
