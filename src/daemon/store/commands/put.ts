import { GinError } from "../../base/index.ts";
import { CODEC } from "../objects.ts";
import { blob, stateColumns } from "../rows.ts";
import { SIDE_ABOVE_BYTES } from "../side.ts";
import type { Hash, NewCheckpoint, NewObject, RequestRow, TreeNode } from "../types.ts";
import type { Work } from "../work.ts";

/**
 * Keeps contents under their hashes; known ones are left alone. Small ones raw: compressing 4 KiB would cost more than
 * writing it, so upkeep compresses later. Large ones were appended to the side store before the transaction.
 */
export function putObjects(work: Work, objects: readonly NewObject[]): void {
  const insert = work.statement(
    "INSERT INTO object(sha256, codec, size, segment, offset, body) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT(sha256) DO NOTHING",
  );
  for (const { sha256, bytes } of objects) {
    const size = bytes.length;
    if (size <= SIDE_ABOVE_BYTES) {
      insert.run(blob(sha256), CODEC.raw, size, null, null, bytes);
      continue;
    }
    const place = work.side.place(sha256);
    // Without a place it was known before the transaction.
    if (place === undefined || insert.run(blob(sha256), CODEC.side, size, place.segment, place.offset, null).changes === 0)
      continue;
    putSegment(work, place, size);
  }
}

/** Notes that a side segment holds a content: what lies beyond the last one is a torn tail. */
export function putSegment(work: Work, place: { readonly segment: number; readonly offset: number }, bytes: number): void {
  work
    .statement("INSERT INTO segment(id, bytes) VALUES (?, ?) ON CONFLICT(id) DO UPDATE SET bytes = max(bytes, excluded.bytes)")
    .run(place.segment, place.offset + bytes);
}

/** Keeps tree nodes under their hashes. */
export function putNodes(work: Work, nodes: Iterable<TreeNode>): void {
  const insert = work.statement("INSERT INTO node(hash, data) VALUES (?, ?) ON CONFLICT(hash) DO NOTHING");
  for (const { hash, data } of nodes) insert.run(blob(hash), data);
}

/** Whether contents that something counts on are still there: gc may have taken them since. */
export function hasAll(work: Work, contents: readonly Hash[]): boolean {
  const known = work.statement("SELECT 1 FROM object WHERE sha256 = ?");
  return contents.every((sha256) => known.get(blob(sha256)) !== undefined);
}

/** Writes a checkpoint, what it touched, and what it took back. */
export function putCheckpoint(work: Work, checkpoint: NewCheckpoint): void {
  const { workspace, generation, id, cause, principal, requestId, message, timeMs, paths, undoes } = checkpoint;
  const parents = JSON.stringify(checkpoint.parents);
  work
    .statement(
      "INSERT INTO checkpoint(workspace, generation, id, parents, cause, principal, request_id, message, time_ms, tree, touched) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .run(workspace, generation, id, parents, cause, principal, requestId, message, timeMs, blob(checkpoint.tree), paths.length);
  const insert = work.statement("INSERT INTO touched VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  for (const { path, before, after, renamedFrom } of paths) {
    insert.run(workspace, generation, path, ...stateColumns(before), ...stateColumns(after), renamedFrom ?? null);
  }
  for (const [position, taken] of (undoes ?? []).entries())
    work.statement("INSERT INTO undone VALUES (?, ?, ?, ?)").run(workspace, generation, position, taken);
}

/**
 * Records an outcome; false when a committed one has the same key, which is never replaced. A rejected one gives way
 * by delete and insert, so that rows stay in order of time.
 */
export function putRequest(work: Work, row: RequestRow): boolean {
  const insert = work.statement(
    "INSERT INTO request(scope, principal, id, operation, digest, outcome, answer, time_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(scope, principal, id) DO NOTHING",
  );
  const columns = [row.scope, row.principal, row.id, row.operation, blob(row.digest), row.outcome, row.answer, row.timeMs];
  if (insert.run(columns).changes === 1) return true;
  const freed = work
    .statement("DELETE FROM request WHERE scope = ? AND principal = ? AND id = ? AND outcome = 'rejected'")
    .run(row.scope, row.principal, row.id).changes;
  return freed === 1 && insert.run(columns).changes === 1;
}

/**
 * For commands other than a save: their request's outcome in the transaction of their effect. Throws REQUEST_IN_PROGRESS,
 * undoing the effect, when the id was committed meanwhile: the retry then finds the stored answer.
 */
export function mustPutRequest(work: Work, row: RequestRow | undefined): void {
  if (row !== undefined && !putRequest(work, row)) {
    throw new GinError("REQUEST_IN_PROGRESS", "the same request was answered meanwhile");
  }
}
