import type { FailPoint } from "../../base/index.ts";
import type { Work } from "../work.ts";
import type { Decision } from "./decide.ts";
import type { Needs } from "./needs.ts";
import type { Slice } from "./slice.ts";
import type { Lineage } from "./timeline.ts";

const PAGE = 200;
/** Bytes that count as one piece of work: freed pages are written too. */
const PIECE_BYTES = 16 * 1024;
const VACUUM_PAGES = 256;

/** What a removal counted. */
export interface Removed {
  unreachable: number;
  thinned: number;
  checkpoints: number;
}

/** Removes the contents and tree nodes that the decision gives up, as far as nothing has named them since. */
export function* removeContents(
  work: Work,
  slice: Slice,
  needs: Needs,
  decision: Decision,
  youngFrom: number,
  removed: Removed,
): Generator<undefined, void> {
  const objects = "SELECT seq, coalesce(length(body), 0) AS bytes FROM object WHERE seq > ? AND seq < ? ORDER BY seq LIMIT ?";
  const sweptObjects = {
    select: objects,
    remove: "DELETE FROM object WHERE seq = ?",
    top: needs.topObject,
    point: "gc.objects",
  } as const;
  yield* sweep(work, slice, sweptObjects, (seq) => {
    const until = needs.ofObject(seq);
    if (until === 0 ? seq >= youngFrom && !decision.young : until > decision.thinned) return false;
    if (until === 0) removed.unreachable++;
    else removed.thinned++;
    return true;
  });
  const nodes = "SELECT seq, length(data) AS bytes FROM node WHERE seq > ? AND seq < ? ORDER BY seq LIMIT ?";
  const sweptNodes = { select: nodes, remove: "DELETE FROM node WHERE seq = ?", top: needs.topNode, point: "gc.nodes" } as const;
  yield* sweep(work, slice, sweptNodes, (seq) => needs.ofNode(seq) <= decision.thinned);
}

/** A table to go through: how, up to which row, and the fail point of each slice. */
interface Swept {
  readonly select: string;
  readonly remove: string;
  readonly top: number;
  readonly point: FailPoint;
}

function* sweep(
  work: Work,
  slice: Slice,
  { select, remove, top, point }: Swept,
  goes: (seq: number) => boolean,
): Generator<undefined, void> {
  for (let from = 0; ; ) {
    const rows = work.statement(select).all(from, top, PAGE) as { seq: number; bytes: number }[];
    for (const { seq, bytes } of rows) {
      // Rows are read again after each slice: what was read before it may be out of date.
      from = seq;
      const gone = goes(seq);
      if (gone) work.statement(remove).run(seq);
      if (slice.spend(gone ? 4 + bytes / PIECE_BYTES : 1)) {
        work.hit(point);
        yield;
        break;
      }
    }
    if (rows.length === 0) break;
  }
  work.hit(point);
  yield;
}

/** A checkpoint that touched a path in which lines are annotated, since then: without it nobody could say where those lines are now. */
const FOLLOWED =
  "SELECT 1 FROM anchor a CROSS JOIN touched t ON t.workspace = a.workspace AND t.generation = @generation AND t.path = a.path JOIN annotation n ON n.seq = a.annotation JOIN checkpoint c ON c.id = n.checkpoint WHERE a.workspace = @workspace AND c.generation < @generation";
const UNNEEDED = `DELETE FROM checkpoint WHERE workspace = @workspace AND generation = @generation AND NOT EXISTS (SELECT 1 FROM workspace WHERE head = @id OR base = @id) AND NOT EXISTS (SELECT 1 FROM annotation WHERE checkpoint = @id) AND NOT EXISTS (SELECT 1 FROM open_save WHERE id = @id) AND NOT EXISTS (${FOLLOWED})`;

/** Removes the rows of checkpoints before a generation; heads, bases, open saves' and those that annotations need stay. */
export function* removeCheckpoints(
  work: Work,
  slice: Slice,
  { workspace }: Lineage,
  before: number,
  removed: Removed,
): Generator<undefined, void> {
  const list =
    "SELECT generation, id FROM checkpoint WHERE workspace = ? AND generation > ? AND generation < ? ORDER BY generation LIMIT ?";
  const { anchors } = work.statement("SELECT count(*) AS anchors FROM anchor WHERE workspace = ?").get(workspace) as {
    anchors: number;
  };
  for (let from = -1; ; ) {
    const rows = work.statement(list).all(workspace, from, before, PAGE) as { generation: number; id: string }[];
    for (const { generation, id } of rows) {
      from = generation;
      const { changes } = work.statement(UNNEEDED).run({ workspace, generation, id });
      removed.checkpoints += changes;
      if (slice.spend(8 + anchors / 8)) {
        yield;
        break;
      }
    }
    if (rows.length === 0) break;
  }
  work.hit("gc.rows");
  yield;
  yield* removeOrphans(work, slice, workspace, before, "touched", "path");
  yield* removeOrphans(work, slice, workspace, before, "undone", "position");
  work.hit("gc.touched");
  yield;
}

/** Rows of checkpoints that are not there, generation by generation: there may be very many of one. */
function* removeOrphans(
  work: Work,
  slice: Slice,
  workspace: number,
  before: number,
  table: "touched" | "undone",
  key: "path" | "position",
): Generator<undefined, void> {
  const next = work.statement(
    `SELECT min(generation) AS generation FROM ${table} WHERE workspace = ? AND generation > ? AND generation < ?`,
  );
  const kept = work.statement("SELECT 1 FROM checkpoint WHERE workspace = ? AND generation = ?");
  const remove = work.statement(
    `DELETE FROM ${table} WHERE (workspace, generation, ${key}) IN (SELECT workspace, generation, ${key} FROM ${table} WHERE workspace = ? AND generation = ? LIMIT ?)`,
  );
  for (let from = -1; ; ) {
    const { generation } = next.get(workspace, from, before) as { generation: number | null };
    if (generation === null) return;
    if (kept.get(workspace, generation) === undefined) {
      for (;;) {
        const { changes } = remove.run(workspace, generation, PAGE);
        if (slice.spend(4 + changes * 8)) yield;
        if (changes < PAGE) break;
      }
    } else if (slice.spend(1)) yield;
    from = generation;
  }
}

/**
 * Of a path's kept origins up to a generation only the newest can ever be asked for. `between`: those after it but for the newest of all go
 * too, because they may rely on rows that went; they are found out again from the one that stays.
 */
export function* removeSpans(
  work: Work,
  slice: Slice,
  workspace: number,
  before: number,
  between: boolean,
): Generator<undefined, void> {
  const list =
    "SELECT path, generation, length(body) AS bytes FROM span WHERE workspace = ? AND (path, generation) > (?, ?) ORDER BY path, generation LIMIT ?";
  const remove = work.statement("DELETE FROM span WHERE workspace = ? AND path = ? AND generation = ?");
  let last: { path: string; generation: number } | undefined;
  for (;;) {
    const rows = work.statement(list).all(workspace, last?.path ?? "", last?.generation ?? -1, PAGE) as {
      path: string;
      generation: number;
      bytes: number;
    }[];
    for (const row of rows) {
      const superseded = row.generation <= before || (between && (last?.generation ?? 0) > before);
      if (last?.path === row.path && superseded) remove.run(workspace, last.path, last.generation);
      last = row;
    }
    if (rows.length === 0) return;
    if (slice.spend(rows.length * 4)) yield;
  }
}

/** Gives the file's free pages back. */
export function* vacuum(work: Work): Generator<undefined, void> {
  for (;;) {
    const { free } = work.statement("SELECT freelist_count AS free FROM pragma_freelist_count").get() as { free: number };
    if (free < VACUUM_PAGES) return;
    work.db.pragma(`incremental_vacuum(${VACUUM_PAGES})`);
    work.hit("gc.vacuumed");
    yield;
  }
}
