import type { RequestRow } from "./types.ts";

/** Where an entry of memory belongs: keys are unique within one. */
export interface MemoryBucket {
  readonly scope: "project" | "global" | "task" | "agent";
  /** A repository's id, a task's or agent's name; "" for global. */
  readonly scopeId: string;
}

/** What somebody wrote down under a key. */
export interface MemoryRow extends MemoryBucket {
  /** Order of writing within the store: each save gives a new one. 0 until it is written. */
  readonly seq: number;
  readonly key: string;
  /** Data. */
  readonly value: string;
  readonly kind: "fact" | "directive" | "lesson";
  readonly pinned: boolean;
  /** Who wrote the value that stands, and under which request. */
  readonly principal: string;
  readonly requestId: string;
  /** When the key was first written, and when last; wall ms. */
  readonly createdMs: number;
  readonly updatedMs: number;
  /** Wall ms; 0 for never. A pinned entry never expires. */
  readonly expiresMs: number;
}

/** Most bytes of one bucket and of all together; what an entry counts is `memoryBytes`. */
export interface MemoryQuota {
  readonly bucketBytes: number;
  readonly totalBytes: number;
}

/** What every entry counts beside its key and value: its row costs that at least. */
export const MEMORY_ENTRY_BYTES = 64;

/** What an entry counts against a quota: key and value in UTF-8, and MEMORY_ENTRY_BYTES. */
export function memoryBytes(row: Pick<MemoryRow, "key" | "value">): number {
  return Buffer.byteLength(row.key) + Buffer.byteLength(row.value) + MEMORY_ENTRY_BYTES;
}

/** Something that happened to an entry, for those who follow. */
export interface MemoryChangeRow extends MemoryBucket {
  /** Order of happening within the store. */
  readonly seq: number;
  /** expired: removed by gc, or because a save needed the room. */
  readonly change: "saved" | "forgotten" | "expired";
  readonly key: string;
  readonly kind: MemoryRow["kind"];
  /** Who did it. */
  readonly principal: string;
  readonly timeMs: number;
}

/** Changes kept: the newest of the store. */
export const MEMORY_CHANGES_KEPT = 1_000;

/** Who did it, and when: wall ms. */
interface MemoryDeed {
  readonly principal: string;
  readonly timeMs: number;
  readonly request?: RequestRow;
}

/** Transactions of memory. Each writes its request's outcome in the same transaction. */
export interface MemoryCommands {
  /**
   * durable. Replaces what stood under the key; its pin stays, and when it was created, unless it had expired. Where a quota is used up,
   * expired entries give way. Gives what is kept. Throws QUOTA_EXCEEDED.
   */
  "memory.save": {
    in: { readonly row: MemoryRow; readonly quota: MemoryQuota; readonly request?: RequestRow };
    out: { readonly seq: number; readonly pinned: boolean };
  };
  /** durable. `removed` is false when nothing stood there. */
  "memory.forget": {
    in: MemoryDeed & { readonly bucket: MemoryBucket; readonly key: string };
    out: { readonly removed: boolean };
  };
  /** durable. Deletes exactly these entries as they were read; false, and nothing done, when one was written or deleted since. */
  "memory.collect": { in: MemoryDeed & { readonly seqs: readonly number[] }; out: boolean };
}

/** Which entries of a bucket are seen. */
export interface MemoryQuery {
  readonly bucket: MemoryBucket;
  /** Wall ms: unpinned entries that expired by then are not seen. */
  readonly nowMs: number;
}

/** Short reads of memory. */
export interface MemoryReads {
  memory(query: MemoryQuery, key: string): MemoryRow | undefined;
  /** In byte order of their keys, those behind `after`. */
  memories(query: MemoryQuery, after: string, limit: number): MemoryRow[];
  memoryCount(query: MemoryQuery): number;
  /** What may be collected: `seq` of unpinned entries that expired by `nowMs`, of one bucket or of all. */
  memoryExpired(nowMs: number, bucket: MemoryBucket | undefined): number[];
  /** Changes after a number, oldest first. Those up to the newest less MEMORY_CHANGES_KEPT are gone. */
  memoryChanges(after: number, limit: number): MemoryChangeRow[];
  /** Number of the newest change; 0 before the first. */
  newestMemoryChange(): number;
  /** Bytes that count against a quota: of one bucket, or of all. */
  memoryUse(bucket: MemoryBucket | undefined): number;
}
