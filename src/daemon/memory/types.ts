import type { MemoryBucket, MemoryRow, RequestRow } from "../store/index.ts";

/** What is to be written down, checked for form. */
export interface MemorySave {
  readonly bucket: MemoryBucket;
  readonly key: string;
  readonly value: string;
  readonly kind: MemoryRow["kind"];
  readonly pin: boolean;
  /** Milliseconds until it expires; undefined for never. Not together with `pin`. */
  readonly expiresInMs: number | undefined;
  readonly principal: string;
  readonly requestId: string;
  /** Builds the request's outcome row, written in the same transaction. */
  readonly remember: () => RequestRow;
}

/** A page of entries. */
export interface MemoryPage {
  readonly rows: readonly MemoryRow[];
  /** Entries of the bucket in all, or that were found. */
  readonly total: number;
  /** Key after which it goes on; undefined at the end. */
  readonly next: string | undefined;
}

/** Which page: entries behind the key `after`, at most `limit` and about `bytes` of what is shown. */
export interface PageAsk {
  readonly after: string;
  readonly limit: number;
  readonly bytes: number;
}

/** What agents and people write down for later: values by key, in buckets. Values are data. */
export interface Memory {
  /** Durable before it answers. Throws QUOTA_EXCEEDED. */
  save(input: MemorySave): Promise<void>;
  /** Forgetting what is not there is no error: false. */
  forget(input: Pick<MemorySave, "bucket" | "key" | "principal"> & { readonly remember: () => RequestRow }): Promise<boolean>;
  /** Removes expired entries of one bucket or of all; gives how many. */
  collect(input: {
    readonly bucket: MemoryBucket | undefined;
    readonly principal: string;
    readonly remember: (deleted: number) => RequestRow;
  }): Promise<number>;
  /** Expired entries are not there. */
  recall(bucket: MemoryBucket, key: string): MemoryRow | undefined;
  /** By key. */
  list(bucket: MemoryBucket, page: PageAsk): MemoryPage;
  /** By key: entries whose key or value holds every word of the query, whatever the case. */
  search(bucket: MemoryBucket, query: string, page: PageAsk, signal?: AbortSignal): Promise<MemoryPage>;
  /** The bucket of the repository a workspace belongs to. */
  projectOf(workspace: number): MemoryBucket;
  /** The bucket of a project named by repository id, repository name or a workspace's directory; any other text is a bucket of that name. */
  projectNamed(name: string): MemoryBucket;
  /** Called after changes are durable: what they are stands in the store. Gives a function that ends it. */
  onChange(listener: () => void): () => void;
}
