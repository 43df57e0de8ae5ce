import { sameState } from "../states.ts";
import type { Hash, PathState, TreeDifference } from "../types.ts";
import type { Entry, Node } from "./node.ts";
import { EMPTY_HASH } from "./nodes.ts";
import { compareBytes } from "./order.ts";

type Load = (hash: Hash) => Node;

/** One name of a directory that differs, as content or as a directory: a name that changed from one to the other is both. */
type Difference =
  | { readonly key: string; readonly name: string; readonly before: PathState; readonly after: PathState }
  | { readonly key: string; readonly name: string; readonly from: Hash; readonly to: Hash };

/**
 * The paths below two directories that differ, in byte order. Equal nodes are never opened, so the work is that of the nodes
 * on the way to what differs. `prefix` ends in "/" or is "".
 */
export function* diffDirectories(from: Hash, to: Hash, prefix: string, load: Load): Generator<TreeDifference> {
  if (from === to) return;
  const stack = [{ prefix, differences: inPathOrder(from, to, load), next: 0 }];
  for (let level = stack.at(-1); level !== undefined; level = stack.at(-1)) {
    const found = level.differences[level.next++];
    if (found === undefined) stack.pop();
    else if ("before" in found) yield { path: level.prefix + found.name, before: found.before, after: found.after };
    else stack.push({ prefix: `${level.prefix}${found.name}/`, differences: inPathOrder(found.from, found.to, load), next: 0 });
  }
}

/** How two entries of one name differ: nothing, a content, a directory, or one of each. */
export function* differencesOf(name: string, from: Entry | undefined, to: Entry | undefined): Generator<Difference> {
  const before = contentIn(from);
  const after = contentIn(to);
  if (!sameState(before, after)) yield { key: name, name, before, after };
  const left = directoryIn(from);
  const right = directoryIn(to);
  if (left !== right) yield { key: `${name}/`, name, from: left, to: right };
}

function inPathOrder(from: Hash, to: Hash, load: Load): Difference[] {
  const found: Difference[] = [];
  collect(from, to, load, found);
  return found.sort((one, other) => compareBytes(one.key, other.key));
}

/** A directory's place among its siblings is that of the paths below it, hence the keys; parts of splits are paired by slot. */
function collect(from: Hash | undefined, to: Hash | undefined, load: Load, into: Difference[]): void {
  if (from === to) return;
  const left = from === undefined ? undefined : load(from);
  const right = to === undefined ? undefined : load(to);
  if (left !== undefined && right !== undefined && "parts" in left && "parts" in right) {
    const slots = new Map(left.parts.map((part) => [part.slot, part.hash]));
    for (const part of right.parts) {
      collect(slots.get(part.slot), part.hash, load, into);
      slots.delete(part.slot);
    }
    for (const gone of slots.values()) collect(gone, undefined, load, into);
    return;
  }
  const before = new Map<string, Entry>();
  for (const entry of entriesOf(left, load)) before.set(entry.name, entry);
  for (const entry of entriesOf(right, load)) {
    into.push(...differencesOf(entry.name, before.get(entry.name), entry));
    before.delete(entry.name);
  }
  for (const entry of before.values()) into.push(...differencesOf(entry.name, entry, undefined));
}

function* entriesOf(node: Node | undefined, load: Load): Generator<Entry> {
  if (node === undefined) return;
  if ("entries" in node) yield* node.entries;
  else for (const part of node.parts) yield* entriesOf(load(part.hash), load);
}

function contentIn(entry: Entry | undefined): PathState {
  return entry !== undefined && "content" in entry ? entry.content : null;
}

function directoryIn(entry: Entry | undefined): Hash {
  return entry !== undefined && "directory" in entry ? entry.directory : EMPTY_HASH;
}
