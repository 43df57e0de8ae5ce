import { GinError } from "../../base/index.ts";
import { kindOf } from "../rows.ts";
import type { Hash, PathState, TreeNode } from "../types.ts";
import { countOf, type Entry, NODE_ENTRIES, type Node, nameHash, type Part, slotOf } from "./node.ts";
import { EMPTY_HASH, EMPTY_NODE, type NodeCache } from "./nodes.ts";
import { compareBytes } from "./order.ts";

/** What is asked for in one directory: by name, the new state of the path itself and the changes below it. */
interface Wish {
  /** undefined when the path itself is not named. */
  after: PathState | undefined;
  readonly below: Map<string, Wish>;
}

/** What a directory's name becomes; null where it goes. */
interface Outcome {
  readonly name: string;
  readonly entry: Entry | null;
  /** Of the name; asked for only where the directory is split. */
  hash: Hash | undefined;
}

/** Makes changed trees out of a tree and wishes; one use each. */
export class TreeChange {
  private readonly cache: NodeCache;
  private readonly pending: ReadonlyMap<Hash, Uint8Array> | undefined;
  private readonly made = new Map<Hash, TreeNode>();

  constructor(cache: NodeCache, pending: ReadonlyMap<Hash, Uint8Array> | undefined) {
    this.cache = cache;
    this.pending = pending;
  }

  /** The new root and the nodes that were made for it. Throws INTERNAL when a path would be a file and a directory. */
  run(root: Hash, changes: Iterable<{ readonly path: string; readonly after: PathState }>): { root: Hash; nodes: TreeNode[] } {
    const top = new Map<string, Wish>();
    for (const { path, after } of changes) wish(top, path, after);
    const changed = this.directory(root, top);
    const nodes: TreeNode[] = [];
    this.collect(changed, nodes);
    return { root: changed, nodes };
  }

  private directory(hash: Hash, wishes: ReadonlyMap<string, Wish>): Hash {
    const node = this.load(hash);
    const outcomes: Outcome[] = [];
    for (const [name, asked] of wishes) {
      const before = this.find(node, name);
      const entry = this.outcome(name, before, asked);
      if (!sameEntry(before, entry)) outcomes.push({ name, entry, hash: undefined });
    }
    const changed = this.apply(node, outcomes, 0);
    return changed === node ? hash : this.cache.make(changed, this.made);
  }

  private outcome(name: string, before: Entry | undefined, asked: Wish): Entry | null {
    let file = before !== undefined && "content" in before ? before.content : null;
    if (asked.after !== undefined) file = asked.after;
    const old = before !== undefined && "directory" in before ? before.directory : EMPTY_HASH;
    const directory = asked.below.size === 0 ? old : this.directory(old, asked.below);
    if (file !== null && directory !== EMPTY_HASH)
      throw new GinError("INTERNAL", "a path would be a file and a directory at once");
    if (file !== null) return { name, content: file };
    return directory === EMPTY_HASH ? null : { name, directory };
  }

  /** The entry of a name in a directory, through its splits. */
  private find(node: Node, name: string): Entry | undefined {
    return findEntry(node, name, (hash) => this.load(hash));
  }

  /** `node` with the outcomes in it, in the one shape the entries have: a leaf up to the limit, else a split. */
  private apply(node: Node, outcomes: readonly Outcome[], depth: number): Node {
    if (outcomes.length === 0) return node;
    if ("entries" in node) return this.shape(mergeEntries(node.entries, outcomes), depth);
    const bySlot = groupBy(outcomes, (outcome) => slotOf(hashOf(outcome), depth));
    const parts: Part[] = [];
    const fresh = new Map<number, Node>();
    for (let slot = 0; slot < 16; slot++) {
      const old = node.parts.find((part) => part.slot === slot);
      const asked = bySlot.get(slot);
      if (asked === undefined) {
        if (old !== undefined) parts.push(old);
        continue;
      }
      const before = old === undefined ? EMPTY_NODE : this.load(old.hash);
      const changed = this.apply(before, asked, depth + 1);
      const count = countOf(changed);
      if (count === 0) continue;
      fresh.set(slot, changed);
      parts.push({ slot, count, hash: "" });
    }
    return this.rejoin(parts, fresh);
  }

  /** A split whose entries fit one node becomes a leaf again; otherwise its fresh parts get their hashes. */
  private rejoin(parts: readonly Part[], fresh: ReadonlyMap<number, Node>): Node {
    const split = { parts };
    if (countOf(split) > NODE_ENTRIES) {
      return {
        parts: parts.map((part) => {
          const node = fresh.get(part.slot);
          return node === undefined ? part : { ...part, hash: this.cache.make(node, this.made) };
        }),
      };
    }
    const entries = parts.flatMap((part) => this.entries(fresh.get(part.slot) ?? this.load(part.hash)));
    return { entries: entries.sort((one, other) => compareBytes(one.name, other.name)) };
  }

  /** Nodes below a split of so few entries are leaves already. */
  private entries(node: Node): readonly Entry[] {
    return "entries" in node ? node.entries : node.parts.flatMap((part) => this.entries(this.load(part.hash)));
  }

  /** Entries, in order, as a node at a depth. */
  private shape(entries: readonly Entry[], depth: number): Node {
    if (entries.length <= NODE_ENTRIES) return { entries };
    const slots = groupBy(entries, (entry) => slotOf(nameHash(entry.name), depth));
    const parts: Part[] = [];
    for (const slot of [...slots.keys()].sort((one, other) => one - other)) {
      const node = this.shape(slots.get(slot) ?? [], depth + 1);
      parts.push({ slot, count: countOf(node), hash: this.cache.make(node, this.made) });
    }
    return { parts };
  }

  private load(hash: Hash): Node {
    const made = this.made.get(hash);
    return this.cache.load(hash, made === undefined ? this.pending : new Map([[hash, made.data]]));
  }

  /** Of all nodes made on the way, those the new tree has: a split that was rejoined left some behind. */
  private collect(hash: Hash, into: TreeNode[]): void {
    const made = this.made.get(hash);
    if (made === undefined) return;
    this.made.delete(hash);
    into.push(made);
    const node = this.cache.load(hash, new Map([[hash, made.data]]));
    if ("parts" in node) for (const part of node.parts) this.collect(part.hash, into);
    else for (const entry of node.entries) if ("directory" in entry) this.collect(entry.directory, into);
  }
}

/** The entry of a name in a directory's top node. */
export function findEntry(top: Node, name: string, load: (hash: Hash) => Node): Entry | undefined {
  let node = top;
  let hash: Hash | undefined;
  for (let depth = 0; "parts" in node; depth++) {
    hash ??= nameHash(name);
    const slot = slotOf(hash, depth);
    const part = node.parts.find((candidate) => candidate.slot === slot);
    if (part === undefined) return undefined;
    node = load(part.hash);
  }
  const at = indexOf(node.entries, name);
  const entry = node.entries[at];
  return entry?.name === name ? entry : undefined;
}

/** Where a name is or would be. */
function indexOf(entries: readonly Entry[], name: string): number {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const entry = entries[middle];
    if (entry !== undefined && compareBytes(entry.name, name) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function wish(top: Map<string, Wish>, path: string, after: PathState): void {
  let names = top;
  const components = path.split("/");
  for (const [index, name] of components.entries()) {
    let asked = names.get(name);
    if (asked === undefined) {
      asked = { after: undefined, below: new Map() };
      names.set(name, asked);
    }
    if (index === components.length - 1) asked.after = after;
    names = asked.below;
  }
}

function mergeEntries(entries: readonly Entry[], outcomes: readonly Outcome[]): readonly Entry[] {
  const sorted = [...outcomes].sort((one, other) => compareBytes(one.name, other.name));
  const merged: Entry[] = [];
  let at = 0;
  for (const { name, entry } of sorted) {
    for (let old = entries[at]; old !== undefined && compareBytes(old.name, name) < 0; old = entries[++at]) merged.push(old);
    if (entries[at]?.name === name) at++;
    if (entry !== null) merged.push(entry);
  }
  return merged.concat(entries.slice(at));
}

function groupBy<T>(items: readonly T[], key: (item: T) => number): Map<number, T[]> {
  const groups = new Map<number, T[]>();
  for (const item of items) {
    const of = key(item);
    const group = groups.get(of);
    if (group === undefined) groups.set(of, [item]);
    else group.push(item);
  }
  return groups;
}

function sameEntry(before: Entry | undefined, after: Entry | null): boolean {
  if (before === undefined || after === null) return before === undefined && after === null;
  if ("directory" in before || "directory" in after) {
    return "directory" in before && "directory" in after && before.directory === after.directory;
  }
  return before.content.sha256 === after.content.sha256 && kindOf(before.content) === kindOf(after.content);
}

function hashOf(outcome: Outcome): Hash {
  outcome.hash ??= nameHash(outcome.name);
  return outcome.hash;
}
