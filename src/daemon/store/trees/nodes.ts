import { GinError } from "../../base/index.ts";
import { sha256 } from "../objects.ts";
import type { Hash, TreeNode } from "../types.ts";
import { decode, encode, type Node } from "./node.ts";

/** Bounds the cache by what takes the memory: entries and parts, some 200 bytes each. */
const CACHE_ENTRIES = 100_000;

/** The node without entries: the root of the empty tree. Never stored. */
export const EMPTY_NODE: Node = { entries: [] };
export const EMPTY_HASH: Hash = sha256(encode(EMPTY_NODE));

/** Nodes by hash, with the least recently used ones let go. What is in it may be in the store or not: hashes say it all. */
export class NodeCache {
  private readonly read: (hash: Hash) => Uint8Array | undefined;
  private readonly missing: () => GinError | undefined;
  private readonly kept = new Map<Hash, Node>();
  private entries = 0;

  constructor(read: (hash: Hash) => Uint8Array | undefined, missing: () => GinError | undefined) {
    this.read = read;
    this.missing = missing;
  }

  /** Throws what `missing` gives when it is nowhere, else STORE_CORRUPT. */
  load(hash: Hash, pending?: ReadonlyMap<Hash, Uint8Array>): Node {
    if (hash === EMPTY_HASH) return EMPTY_NODE;
    const found = this.kept.get(hash);
    if (found !== undefined) {
      this.kept.delete(hash);
      this.kept.set(hash, found);
      return found;
    }
    const data = pending?.get(hash) ?? this.read(hash);
    if (data === undefined)
      throw this.missing() ?? new GinError("STORE_CORRUPT", `the tree node ${hash.slice(0, 12)}… is not in the store`);
    const node = decode(data);
    this.keep(hash, node);
    return node;
  }

  /** A node that was just made: its hash, and its bytes into `made`. */
  make(node: Node, made: Map<Hash, TreeNode>): Hash {
    const data = encode(node);
    const hash = sha256(data);
    if (hash === EMPTY_HASH) return hash;
    made.set(hash, { hash, data });
    if (!this.kept.has(hash)) this.keep(hash, node);
    return hash;
  }

  private keep(hash: Hash, node: Node): void {
    this.kept.set(hash, node);
    this.entries += weight(node);
    for (const [oldest, dropped] of this.kept) {
      if (this.entries <= CACHE_ENTRIES || oldest === hash) break;
      this.kept.delete(oldest);
      this.entries -= weight(dropped);
    }
  }
}

function weight(node: Node): number {
  return 8 + ("entries" in node ? node.entries.length : node.parts.length);
}
