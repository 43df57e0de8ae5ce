import { getMeta, setMeta } from "../meta.ts";
import { CODEC, COMPRESS_FROM_BYTES, compressed, restores } from "../objects.ts";
import { hex } from "../rows.ts";
import { checkpointWal } from "../wal.ts";
import type { Handler, Work } from "../work.ts";

const DAY_MS = 24 * 3600 * 1000;
/** How long outcomes of requests are kept at least. */
const REQUESTS_MS = 7 * DAY_MS;
const DETAILS_MS = DAY_MS;
/** Ended leases of a workspace that are kept for Explain. */
const ENDED_LEASES = 1000;
/** One slice, some 10 ms: a save that comes meanwhile waits for it. */
const SLICE_ROWS = 1000;
const SLICE_OBJECTS = 64;
const SLICE_BYTES = 512 * 1024;
const SLICE_PAGES = 256;

/** One slice of everything that can wait. Called again and again, it gets to the end. */
export const upkeep: Handler<"upkeep"> = {
  durable: false,
  run(work, { nowMs }) {
    forgetOld(work, nowMs);
    const removing = deleteRemoved(work);
    const more = compressSlice(work) || removing;
    work.db.pragma(`incremental_vacuum(${SLICE_PAGES})`);
    return { more };
  },
  after: (work) => checkpointWal(work),
};

function forgetOld(work: Work, nowMs: number): void {
  const front = "(SELECT seq FROM request ORDER BY seq LIMIT ?)";
  const since = nowMs - REQUESTS_MS;
  const { changes } = work.statement(`DELETE FROM request WHERE seq IN ${front} AND time_ms < ?`).run(SLICE_ROWS, since);
  if (changes > 0) setMeta(work.db, "requestsKeptSinceMs", Math.max(since, getMeta(work.db, "requestsKeptSinceMs") ?? 0));
  work
    .statement("DELETE FROM detail WHERE seq IN (SELECT seq FROM detail ORDER BY seq LIMIT ?) AND time_ms < ?")
    .run(SLICE_ROWS, nowMs - DETAILS_MS);
  const workspaces = work.statement("SELECT rowid FROM workspace").all() as { rowid: number }[];
  for (const { rowid } of workspaces) {
    work
      .statement(
        "DELETE FROM lease WHERE workspace = ? AND state = 'ended' AND epoch <= (SELECT lease_epoch FROM workspace WHERE rowid = ?) - ?",
      )
      .run(rowid, rowid, ENDED_LEASES);
  }
}

/** One slice; true while there is more. */
function deleteRemoved(work: Work): boolean {
  const gone = work.statement("SELECT workspace FROM removed LIMIT 1").get() as { workspace: number } | undefined;
  if (gone === undefined) return false;
  const slices = [
    "DELETE FROM touched WHERE (workspace, generation, path) IN (SELECT workspace, generation, path FROM touched WHERE workspace = ? LIMIT ?)",
    "DELETE FROM checkpoint WHERE (workspace, generation) IN (SELECT workspace, generation FROM checkpoint WHERE workspace = ? LIMIT ?)",
    "DELETE FROM request WHERE seq IN (SELECT seq FROM request WHERE scope = ? LIMIT ?)",
    "DELETE FROM detail WHERE seq IN (SELECT seq FROM detail WHERE workspace = ? LIMIT ?)",
    "DELETE FROM undone WHERE (workspace, generation, position) IN (SELECT workspace, generation, position FROM undone WHERE workspace = ? LIMIT ?)",
    "DELETE FROM anchor WHERE (annotation, position) IN (SELECT annotation, position FROM anchor WHERE workspace = ? LIMIT ?)",
    "DELETE FROM annotation WHERE seq IN (SELECT seq FROM annotation WHERE workspace = ? LIMIT ?)",
    "DELETE FROM span WHERE (workspace, path, generation) IN (SELECT workspace, path, generation FROM span WHERE workspace = ? LIMIT ?)",
    "DELETE FROM undo_cleared WHERE (workspace, principal) IN (SELECT workspace, principal FROM undo_cleared WHERE workspace = ? LIMIT ?)",
    "DELETE FROM linger WHERE (workspace, temp) IN (SELECT workspace, temp FROM linger WHERE workspace = ? LIMIT ?)",
    "DELETE FROM looked WHERE (workspace, path) IN (SELECT workspace, path FROM looked WHERE workspace = ? LIMIT ?)",
  ];
  for (const sql of slices) {
    if (work.statement(sql).run(gone.workspace, SLICE_ROWS).changes > 0) return true;
  }
  work.statement("DELETE FROM removed WHERE workspace = ?").run(gone.workspace);
  return true;
}

/** Contents come in raw, so that a save is quick; here the next ones are compressed where that pays. True while there is more. */
function compressSlice(work: Work): boolean {
  const from = getMeta(work.db, "compressedSeq") ?? 0;
  const rows = work
    .statement("SELECT seq, codec, size FROM object WHERE seq > ? ORDER BY seq LIMIT ?")
    .all(from, SLICE_OBJECTS) as {
    seq: number;
    codec: number;
    size: number;
  }[];
  let done = from;
  let bytes = 0;
  for (const { seq, codec, size } of rows) {
    if (bytes > SLICE_BYTES) break;
    done = seq;
    if (codec !== CODEC.raw || size < COMPRESS_FROM_BYTES) continue;
    bytes += size;
    compressOne(work, seq);
  }
  if (done !== from) setMeta(work.db, "compressedSeq", done);
  return rows.length === SLICE_OBJECTS || done !== (rows.at(-1)?.seq ?? done);
}

/**
 * The only bytes of a content are replaced, so it is proved first that they come back. The row is taken out and put in again: SQLite joins
 * pages that became empty when a row goes, not when one shrinks, and a small content would save nothing.
 */
function compressOne(work: Work, seq: number): void {
  const row = work.statement("SELECT sha256, body FROM object WHERE seq = ?").get(seq) as {
    sha256: Uint8Array;
    body: Uint8Array;
  };
  const body = compressed(row.body);
  if (body === undefined || !restores(body, row.body.length, hex(row.sha256))) return;
  work.statement("DELETE FROM object WHERE seq = ?").run(seq);
  work
    .statement("INSERT INTO object(seq, sha256, codec, size, body) VALUES (?, ?, ?, ?, ?)")
    .run(seq, row.sha256, CODEC.brotli, row.body.length, body);
}
