import type { MemoryChangeRow, MemoryQuery, MemoryReads, MemoryRow } from "./memory-types.ts";
import type { Asking } from "./read-origin.ts";

interface MemoryColumns extends Omit<MemoryRow, "scopeId" | "pinned" | "requestId" | "createdMs" | "updatedMs" | "expiresMs"> {
  readonly scope_id: string;
  readonly bytes: number;
  readonly pinned: number;
  readonly request_id: string;
  readonly created_ms: number;
  readonly updated_ms: number;
  readonly expires_ms: number;
}

interface ChangeColumns extends Omit<MemoryChangeRow, "scopeId" | "timeMs"> {
  readonly scope_id: string;
  readonly time_ms: number;
}

const SEEN = "scope = ? AND scope_id = ? AND (pinned = 1 OR expires_ms = 0 OR expires_ms > ?)";

function seen({ bucket, nowMs }: MemoryQuery): [scope: string, scopeId: string, nowMs: number] {
  return [bucket.scope, bucket.scopeId, nowMs];
}

/** Reads of memory. */
export function memoryReads({ one, all }: Asking): MemoryReads {
  return {
    memory(query, key) {
      const row = one<MemoryColumns>(`SELECT * FROM memory WHERE ${SEEN} AND key = ?`, ...seen(query), key);
      return row && rowOf(row);
    },
    memories: (query, after, limit) =>
      all<MemoryColumns>(`SELECT * FROM memory WHERE ${SEEN} AND key > ? ORDER BY key LIMIT ?`, ...seen(query), after, limit).map(
        rowOf,
      ),
    memoryCount: (query) => one<{ n: number }>(`SELECT count(*) AS n FROM memory WHERE ${SEEN}`, ...seen(query))?.n ?? 0,
    memoryExpired(nowMs, bucket) {
      const where = bucket === undefined ? "" : "AND scope = ? AND scope_id = ?";
      return all<{ seq: number }>(
        `SELECT seq FROM memory WHERE pinned = 0 AND expires_ms > 0 AND expires_ms <= ? ${where} ORDER BY seq`,
        nowMs,
        ...(bucket === undefined ? [] : [bucket.scope, bucket.scopeId]),
      ).map(({ seq }) => seq);
    },
    memoryChanges: (after, limit) =>
      all<ChangeColumns>("SELECT * FROM memory_change WHERE seq > ? ORDER BY seq LIMIT ?", after, limit).map(
        ({ scope_id: scopeId, time_ms: timeMs, ...same }) => ({ ...same, scopeId, timeMs }),
      ),
    newestMemoryChange: () => one<{ seq: number | null }>("SELECT max(seq) AS seq FROM memory_change")?.seq ?? 0,
    memoryUse: (bucket) =>
      one<{ bytes: number }>(
        "SELECT bytes FROM memory_use WHERE scope = ? AND scope_id = ?",
        bucket?.scope ?? "",
        bucket?.scopeId ?? "",
      )?.bytes ?? 0,
  };
}

function rowOf(row: MemoryColumns): MemoryRow {
  return {
    seq: row.seq,
    scope: row.scope,
    scopeId: row.scope_id,
    key: row.key,
    value: row.value,
    kind: row.kind,
    pinned: row.pinned === 1,
    principal: row.principal,
    requestId: row.request_id,
    createdMs: row.created_ms,
    updatedMs: row.updated_ms,
    expiresMs: row.expires_ms,
  };
}
