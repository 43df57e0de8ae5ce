import type { GinError } from "../../base/index.ts";
import type { Content, Hash, PathState, TreeEntry, Trees } from "../types.ts";
import { findEntry, TreeChange } from "./change.ts";
import { diffDirectories, differencesOf } from "./diff.ts";
import type { Entry, Node } from "./node.ts";
import { EMPTY_HASH, NodeCache } from "./nodes.ts";
import { compareBytes } from "./order.ts";

/**
 * Trees over nodes that `read` finds in the store. Every call throws STORE_CORRUPT when a node is unreadable or missing; `missing` may know
 * a better reason why one is not there.
 */
export function createTrees(
  read: (hash: Hash) => Uint8Array | undefined,
  missing: () => GinError | undefined = () => undefined,
): Trees {
  const cache = new NodeCache(read, missing);
  const load = (hash: Hash) => cache.load(hash);
  return {
    empty: EMPTY_HASH,
    get(root, path): PathState {
      const entry = entryAt(root, path, load);
      return entry !== undefined && "content" in entry ? entry.content : null;
    },
    list(root, directory) {
      const hash = directoryAt(root, directory, load);
      if (hash === undefined) return undefined;
      const entries = entriesOf(load(hash), load).sort((one, other) => compareBytes(one.name, other.name));
      return entries.map((entry): TreeEntry => ({ name: entry.name, content: "content" in entry ? entry.content : null }));
    },
    change: (root, changes, pending) => new TreeChange(cache, pending).run(root, changes),
    *walk(root, prefix) {
      const entry = prefix === "" ? undefined : entryAt(root, prefix, load);
      if (entry !== undefined && "content" in entry) yield { path: prefix, content: entry.content };
      const hash = directoryAt(root, prefix, load);
      if (hash !== undefined) yield* walkDirectory(hash, prefix === "" ? "" : `${prefix}/`, load);
    },
    *diff(from, to, prefix) {
      if (prefix === "") {
        yield* diffDirectories(from, to, "", load);
        return;
      }
      for (const found of differencesOf(prefix, entryAt(from, prefix, load), entryAt(to, prefix, load))) {
        if ("before" in found) yield { path: prefix, before: found.before, after: found.after };
        else yield* diffDirectories(found.from, found.to, `${prefix}/`, load);
      }
    },
  };
}

type Load = (hash: Hash) => Node;

/** Hash of a directory's top node; undefined when none is there. */
function directoryAt(root: Hash, path: string, load: Load): Hash | undefined {
  if (path === "") return root;
  const entry = entryAt(root, path, load);
  return entry !== undefined && "directory" in entry ? entry.directory : undefined;
}

function entryAt(root: Hash, path: string, load: Load): Entry | undefined {
  let hash = root;
  let entry: Entry | undefined;
  for (const [index, name] of path.split("/").entries()) {
    if (index > 0) {
      if (entry === undefined || !("directory" in entry)) return undefined;
      hash = entry.directory;
    }
    entry = findEntry(load(hash), name, load);
  }
  return entry;
}

function entriesOf(node: Node, load: Load): Entry[] {
  return "entries" in node ? [...node.entries] : node.parts.flatMap((part) => entriesOf(load(part.hash), load));
}

/** A directory's place among its siblings is that of the paths below it: "a-b" comes before "a/c". */
function* walkDirectory(top: Hash, prefix: string, load: Load): Generator<{ path: string; content: Content }> {
  const stack = [{ prefix, entries: inPathOrder(load(top), load), next: 0 }];
  for (let level = stack.at(-1); level !== undefined; level = stack.at(-1)) {
    const entry = level.entries[level.next++];
    if (entry === undefined) stack.pop();
    else if ("content" in entry) yield { path: level.prefix + entry.name, content: entry.content };
    else stack.push({ prefix: `${level.prefix}${entry.name}/`, entries: inPathOrder(load(entry.directory), load), next: 0 });
  }
}

function inPathOrder(node: Node, load: Load): Entry[] {
  const key = (entry: Entry) => ("directory" in entry ? `${entry.name}/` : entry.name);
  return entriesOf(node, load).sort((one, other) => compareBytes(key(one), key(other)));
}
