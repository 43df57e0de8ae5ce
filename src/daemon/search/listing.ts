import { compareBytes, type Hash, type Trees } from "../store/index.ts";

/** Paths listed between two looks at other work. */
const SLICE_PATHS = 500;
/** Listings kept: a workspace's last one, and an older one that is paged through. */
const KEPT = 4;

/** The regular files of a tree, in byte order of their paths; the arrays belong together. */
export interface Listing {
  readonly workspace: number;
  readonly tree: Hash;
  readonly paths: readonly string[];
  readonly hashes: readonly Hash[];
  /** Bytes. */
  readonly sizes: readonly number[];
}

/** Listings of trees, the next one made from the last one and what differs. */
export class Listings {
  readonly #trees: Trees;
  readonly #kept: Listing[] = [];

  constructor(trees: Trees) {
    this.#trees = trees;
  }

  /** The newest listing first. */
  get kept(): readonly Listing[] {
    return this.#kept;
  }

  /** In steps. Throws STORE_CORRUPT where a node is missing. */
  *of(workspace: number, tree: Hash): Generator<undefined, Listing> {
    const at = this.#kept.findIndex((one) => one.tree === tree && one.workspace === workspace);
    const known = at === -1 ? undefined : this.#kept.splice(at, 1)[0];
    const last = this.#kept.find((one) => one.workspace === workspace);
    const listing = known ?? (last === undefined ? yield* this.#walk(workspace, tree) : yield* this.#changed(last, tree));
    this.#kept.unshift(listing);
    this.#kept.length = Math.min(this.#kept.length, KEPT);
    return listing;
  }

  *#walk(workspace: number, tree: Hash): Generator<undefined, Listing> {
    const listing = emptyListing(workspace, tree);
    for (const { path, content } of this.#trees.walk(tree, "")) {
      if (content.kind === "file") add(listing, path, content.sha256, content.size);
      if (listing.paths.length % SLICE_PATHS === 0) yield;
    }
    return listing;
  }

  /** The last listing with what differs put in its place; both are in byte order. */
  *#changed(last: Listing, tree: Hash): Generator<undefined, Listing> {
    const listing = emptyListing(last.workspace, tree);
    let at = 0;
    const upTo = (end: number) => {
      for (; at < end; at++) add(listing, last.paths[at] ?? "", last.hashes[at] ?? "", last.sizes[at] ?? 0);
    };
    let steps = 0;
    for (const { path, before, after } of this.#trees.diff(last.tree, tree, "")) {
      upTo(placeBefore(last.paths, path, at));
      if (before?.kind === "file") at++;
      if (after?.kind === "file") add(listing, path, after.sha256, after.size);
      if (++steps % SLICE_PATHS === 0) yield;
    }
    upTo(last.paths.length);
    return listing;
  }
}

interface Growing extends Listing {
  readonly paths: string[];
  readonly hashes: Hash[];
  readonly sizes: number[];
}

function emptyListing(workspace: number, tree: Hash): Growing {
  return { workspace, tree, paths: [], hashes: [], sizes: [] };
}

function add(listing: Growing, path: string, hash: Hash, size: number): void {
  listing.paths.push(path);
  listing.hashes.push(hash);
  listing.sizes.push(size);
}

/** The first place from `from` on whose path is not before `path`, in byte order. */
export function placeBefore(paths: readonly string[], path: string, from = 0): number {
  let low = from;
  let high = paths.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareBytes(paths[middle] ?? "", path) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
