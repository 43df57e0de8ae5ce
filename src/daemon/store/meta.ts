import type { Database } from "./sqlite.ts";

/** What the store knows of itself, one row a key. */
export interface Meta {
  readonly storeId: string;
  readonly cursorKey: Uint8Array;
  readonly createdMs: number;
  readonly requestsKeptSinceMs: number;
  readonly leaseIncarnation: string;
  /** Machine id and data directory's identity at the last takeover. */
  readonly machine: string;
  readonly hostIdentity: string;
  /** `object.seq` up to which upkeep has tried to compress. */
  readonly compressedSeq: number;
  /** What heads, bases and open saves needed at the end of gc's last run, and when that was, wall ms. */
  readonly neededBytes: number;
  readonly collectedMs: number;
  /** Newest `object.seq` at some time, wall ms, and at the time before it: gc's grace is counted by them. */
  readonly graceSeq: number;
  readonly graceMs: number;
  readonly graceOldSeq: number;
}

/** undefined for a key that was never set. */
export function getMeta<K extends keyof Meta>(db: Database, key: K): Meta[K] | undefined {
  return db.prepare("SELECT value FROM meta WHERE key = ?").pluck().get(key) as Meta[K] | undefined;
}

/** Inside a transaction of the caller. */
export function setMeta<K extends keyof Meta>(db: Database, key: K, value: Meta[K]): void {
  db.prepare("INSERT INTO meta(key, value) VALUES (?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value").run(key, value);
}
