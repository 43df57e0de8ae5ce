import { blob } from "../rows.ts";
import { decode } from "../trees/node.ts";
import type { Work } from "../work.ts";
import { LIVE, type Needs } from "./needs.ts";
import type { rootsOf } from "./roots.ts";
import type { Slice } from "./slice.ts";
import type { Timeline } from "./timeline.ts";

const PAGE = 500;

/** Roots for gc's beginning, in the slice that begins it: what is written later says itself that it is needed. */
export type Taken = ReturnType<typeof rootsOf>;

/** Marks what must stay, then how long everything else is needed by old checkpoints. */
export function* mark(work: Work, slice: Slice, needs: Needs, roots: Taken, timeline: Timeline): Generator<undefined, void> {
  for (const sha256 of roots.objects) {
    needs.object(sha256, LIVE);
    if (slice.spend(1)) yield;
  }
  for (const tree of roots.trees) yield* markTree(slice, needs, tree, LIVE, true);
  yield* markTouched(work, slice, needs, timeline);
  // Newest first: a node is walked once, for the newest tree that has it.
  for (let place = timeline.order.length; place > 0; place--) {
    const listed = timeline.order[place - 1];
    const checkpoint = listed?.lineage.checkpoints[listed.at];
    if (listed === undefined || checkpoint === undefined || checkpoint.generation < listed.lineage.start) continue;
    yield* markTree(slice, needs, checkpoint.tree, place, false);
    if (slice.spend(1)) yield;
  }
}

/** Marks the nodes of a tree, and its contents where asked. */
function* markTree(slice: Slice, needs: Needs, root: Uint8Array, until: number, contents: boolean): Generator<undefined, void> {
  const stack: Uint8Array[] = [root];
  for (let hash = stack.pop(); hash !== undefined; hash = stack.pop()) {
    const data = needs.walk(hash, until);
    if (data === undefined) continue;
    const node = decode(data);
    if ("parts" in node) for (const part of node.parts) stack.push(blob(part.hash));
    else {
      for (const entry of node.entries) {
        if ("directory" in entry) stack.push(blob(entry.directory));
        else if (contents) needs.object(blob(entry.content.sha256), until);
      }
    }
    if (slice.spend("parts" in node ? 4 : 2 + node.entries.length)) yield;
  }
}

/**
 * A content of an old tree stands in a newer head, or some later checkpoint replaced it: then that one's row has it as what was
 * there before, and the last tree that needs it is the one just before. So rows tell what trees need, without walking them.
 */
function* markTouched(work: Work, slice: Slice, needs: Needs, timeline: Timeline): Generator<undefined, void> {
  const sql =
    "SELECT generation, path, before_sha256 AS before FROM touched WHERE workspace = ? AND (generation, path) > (?, ?) ORDER BY generation, path LIMIT ?";
  for (const lineage of timeline.lineages) {
    let generation = lineage.start;
    let path = LAST_PATH;
    for (;;) {
      const rows = work.statement(sql).all(lineage.workspace, generation, path, PAGE) as {
        generation: number;
        path: string;
        before: Uint8Array | null;
      }[];
      for (const row of rows) {
        if (row.before === null) continue;
        const place = timeline.placeOf(lineage, row.generation - 1);
        if (place > 0) needs.object(row.before, place);
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length < PAGE) break;
      ({ generation, path } = last);
      if (slice.spend(rows.length)) yield;
    }
  }
}

/** Sorts behind every path. */
const LAST_PATH = "\u{10ffff}";

/** What a commit names while gc runs: needed from now on, whatever was found before. */
export function keepNamed(needs: Needs, named: { readonly objects: Iterable<string>; readonly nodes: Iterable<string> }): void {
  for (const sha256 of named.objects) needs.object(blob(sha256), LIVE);
  for (const hash of named.nodes) needs.node(blob(hash), LIVE);
}
