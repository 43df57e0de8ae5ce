import { type Clock, GinError, type Log } from "../base/index.ts";
import type { MemoryBucket, MemoryQuery, MemoryQuota, MemoryRow, Store } from "../store/index.ts";
import { MEMORY_SCOPE_BYTES, MEMORY_TOTAL_BYTES } from "./limits.ts";
import { matcher } from "./match.ts";
import type { Memory, MemoryPage, MemorySave, PageAsk } from "./types.ts";

/** What memory stands on. */
export interface MemoryParts {
  readonly store: Pick<Store, "read" | "write">;
  readonly clock: Clock;
  readonly log: Log;
  /** For tests; else the limits of this room. */
  readonly quota?: MemoryQuota;
}

/** Entries read together; between two batches of a search others have their turn. */
const BATCH = 200;

/** Makes the memory of a host. */
export function createMemory(parts: MemoryParts): Memory {
  return new StoredMemory(parts);
}

class StoredMemory implements Memory {
  readonly #parts: MemoryParts;
  readonly #quota: MemoryQuota;
  readonly #listeners = new Set<() => void>();

  constructor(parts: MemoryParts) {
    this.#parts = parts;
    this.#quota = parts.quota ?? { bucketBytes: MEMORY_SCOPE_BYTES, totalBytes: MEMORY_TOTAL_BYTES };
  }

  async save(input: MemorySave): Promise<void> {
    const { store, clock } = this.#parts;
    const { bucket, key, value, kind, pin, expiresInMs, principal, requestId, remember } = input;
    const nowMs = clock.wallMs();
    const row: MemoryRow = {
      ...bucket,
      seq: 0,
      key,
      value,
      kind,
      pinned: pin,
      principal,
      requestId,
      createdMs: nowMs,
      updatedMs: nowMs,
      expiresMs: expiresInMs === undefined ? 0 : nowMs + expiresInMs,
    };
    await store.write("memory.save", { row, quota: this.#quota, request: remember() });
    this.#tell();
  }

  async forget({ bucket, key, principal, remember }: Parameters<Memory["forget"]>[0]): Promise<boolean> {
    const { store, clock } = this.#parts;
    const deed = { principal, timeMs: clock.wallMs(), request: remember() };
    const { removed } = await store.write("memory.forget", { bucket, key, ...deed });
    if (removed) this.#tell();
    return removed;
  }

  async collect({ bucket, principal, remember }: Parameters<Memory["collect"]>[0]): Promise<number> {
    const { store, clock } = this.#parts;
    // The answer says how many, and is stored with the effect: what was counted must be what goes.
    for (;;) {
      const timeMs = clock.wallMs();
      const seqs = store.read.memoryExpired(timeMs, bucket);
      if (!(await store.write("memory.collect", { seqs, principal, timeMs, request: remember(seqs.length) }))) continue;
      if (seqs.length > 0) this.#tell();
      return seqs.length;
    }
  }

  recall(bucket: MemoryBucket, key: string): MemoryRow | undefined {
    return this.#parts.store.read.memory(this.#seen(bucket), key);
  }

  list(bucket: MemoryBucket, { after, limit, bytes }: PageAsk): MemoryPage {
    const { read } = this.#parts.store;
    const query = this.#seen(bucket);
    const page = new Filling(limit, bytes);
    let from = after;
    for (;;) {
      const rows = read.memories(query, from, BATCH);
      for (const row of rows) if (!page.takes(row)) return page.end(read.memoryCount(query));
      if (rows.length < BATCH) return page.end(read.memoryCount(query));
      from = rows.at(-1)?.key ?? from;
    }
  }

  async search(bucket: MemoryBucket, text: string, { after, limit, bytes }: PageAsk, signal?: AbortSignal): Promise<MemoryPage> {
    const { store, clock } = this.#parts;
    const query = this.#seen(bucket);
    const matches = matcher(text);
    const page = new Filling(limit, bytes);
    let found = 0;
    let full = false;
    let from = "";
    for (;;) {
      const rows = store.read.memories(query, from, BATCH);
      for (const row of rows) {
        if (!matches(row)) continue;
        found += 1;
        // Those of earlier pages are counted, not shown.
        if (row.key > after && !full) full = !page.takes(row);
      }
      if (rows.length < BATCH) return page.end(found);
      from = rows.at(-1)?.key ?? from;
      await new Promise((resolve) => void clock.after(0, () => resolve(undefined)));
      if (signal?.aborted === true) throw new GinError("CANCELLED", "the caller gave up");
    }
  }

  projectOf(workspace: number): MemoryBucket {
    const row = this.#parts.store.read.workspace(workspace);
    if (row === undefined) throw new GinError("WORKSPACE_NOT_FOUND", "the workspace is not there any more");
    return { scope: "project", scopeId: row.repository };
  }

  projectNamed(name: string): MemoryBucket {
    const rows = this.#parts.store.read.workspaces();
    const row =
      rows.find((one) => one.repository === name) ??
      rows.find((one) => one.root === name) ??
      rows.find((one) => one.repositoryName === name);
    return { scope: "project", scopeId: row?.repository ?? name };
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #seen(bucket: MemoryBucket): MemoryQuery {
    return { bucket, nowMs: this.#parts.clock.wallMs() };
  }

  #tell(): void {
    for (const listener of this.#listeners) {
      try {
        listener();
      } catch (thrown) {
        // It is done: who fails to hear of it cannot undo that.
        this.#parts.log.warn({ err: thrown }, "a listener failed over a change of memory");
      }
    }
  }
}

/** A page as it fills. One entry always has room: else a long value could never be read. */
class Filling {
  readonly #rows: MemoryRow[] = [];
  readonly #limit: number;
  readonly #bytes: number;
  #used = 0;
  #more = false;

  constructor(limit: number, bytes: number) {
    this.#limit = limit;
    this.#bytes = bytes;
  }

  /** Whether the entry still had room. */
  takes(row: MemoryRow): boolean {
    const bytes = Buffer.byteLength(row.key) + Buffer.byteLength(row.value);
    if (this.#rows.length > 0 && (this.#rows.length >= this.#limit || this.#used + bytes > this.#bytes)) {
      this.#more = true;
      return false;
    }
    this.#rows.push(row);
    this.#used += bytes;
    return true;
  }

  end(total: number): MemoryPage {
    return { rows: this.#rows, total, next: this.#more ? this.#rows.at(-1)?.key : undefined };
  }
}
