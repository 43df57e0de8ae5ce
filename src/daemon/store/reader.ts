import { type Fs, GinError } from "../base/index.ts";
import { STORE_FILE } from "./commands/backup.ts";
import { endedKey } from "./commands/ended.ts";
import { storeError } from "./errors.ts";
import { findCheckpoints } from "./find-checkpoints.ts";
import { getMeta, type Meta } from "./meta.ts";
import { type ObjectColumns, objectBytes } from "./objects.ts";
import { annotationReads } from "./read-annotations.ts";
import { memoryReads } from "./read-memory.ts";
import { originReads } from "./read-origin.ts";
import * as rows from "./rows.ts";
import { SideReader } from "./side.ts";
import { type Database, loadSqlite, type Statement } from "./sqlite.ts";
import type { JournalStep, LookedRow, OpenSave, StoreFacts, StoreReader } from "./types.ts";

/** A read-only connection: every call is a transaction of its own, over before it returns. */
export interface Reading {
  readonly db: Database;
  /** A prepared statement, made once for each text. */
  statement(sql: string): Statement;
}

/** The reads of the contract, and how to let go of their connection. */
export interface ClosableReader extends StoreReader {
  /** Whether any workspace has given up contents. */
  isThinned(): boolean;
  /** Lets go of side segments that may have been unlinked. */
  letGo(): void;
  close(): void;
}

const WORKSPACES =
  "SELECT w.rowid, w.id, w.name, r.id AS repository, r.name AS repository_name, w.root, w.device, w.inode, w.incarnation, w.generation, w.epoch, w.head, w.tree, w.base, w.status, w.lease_epoch, w.kept_from, w.imported, w.git_commit, w.trusted FROM workspace w JOIN repository r ON r.rowid = w.repository";
/** The rows of a removed workspace wait for upkeep and are not seen. */
const LIVE = "EXISTS (SELECT 1 FROM workspace WHERE rowid = checkpoint.workspace)";

/** Opens the reading side. Throws STORE_CORRUPT, STORE_READ_ONLY, IO_FAILED. */
export function openReader(fs: Fs, directory: string): ClosableReader {
  const side = new SideReader(fs, directory);
  const reading = connect(directory);
  const { db } = reading;
  const one = <T>(sql: string, ...parameters: unknown[]): T | undefined =>
    ask(() => reading.statement(sql).get(...parameters) as T | undefined);
  const all = <T>(sql: string, ...parameters: unknown[]): T[] => ask(() => reading.statement(sql).all(...parameters) as T[]);
  const checkpointWhere = (where: string, ...parameters: unknown[]) => {
    const row = one<rows.CheckpointColumns>(`SELECT * FROM checkpoint WHERE ${where}`, ...parameters);
    return row && rows.checkpointOf(row);
  };
  return {
    workspaces: () => all<rows.WorkspaceColumns>(`${WORKSPACES} ORDER BY w.rowid`).map(rows.workspaceOf),
    workspace(rowid) {
      const row = one<rows.WorkspaceColumns>(`${WORKSPACES} WHERE w.rowid = ?`, rowid);
      return row && rows.workspaceOf(row);
    },
    hasObject: (sha256) => one("SELECT 1 FROM object WHERE sha256 = ?", rows.blob(sha256)) !== undefined,
    object(sha256) {
      const find = () =>
        one<ObjectColumns>("SELECT codec, size, segment, offset, body FROM object WHERE sha256 = ?", rows.blob(sha256));
      const row = find();
      try {
        return row && objectBytes(sha256, row, side);
      } catch (thrown) {
        // gc may have moved it, and unlinked where it was, between the look at its row and the look at its bytes.
        const now = find();
        if (now?.segment === row?.segment && now?.offset === row?.offset) throw thrown;
        return now && objectBytes(sha256, now, side);
      }
    },
    treeNode: (hash) => one<{ data: Uint8Array }>("SELECT data FROM node WHERE hash = ?", rows.blob(hash))?.data,
    checkpoint: (id) => checkpointWhere(`id = ? AND ${LIVE}`, id),
    checkpointAt: (workspace, generation) => checkpointWhere("workspace = ? AND generation = ?", workspace, generation),
    checkpointsAfter: (workspace, generation, limit) =>
      all<rows.CheckpointColumns>(
        "SELECT * FROM checkpoint WHERE workspace = ? AND generation > ? ORDER BY generation LIMIT ?",
        workspace,
        generation,
        limit,
      ).map(rows.checkpointOf),
    touched(checkpoint, offset, limit) {
      const key = one<rows.CheckpointColumns>("SELECT * FROM checkpoint WHERE id = ?", checkpoint);
      if (key === undefined) return { paths: [], count: 0 };
      const page = "SELECT * FROM touched WHERE workspace = ? AND generation = ? ORDER BY path LIMIT ? OFFSET ?";
      const found = all<rows.TouchedColumns>(page, key.workspace, key.generation, limit, offset);
      return { paths: found.map(rows.changeOf), count: key.touched };
    },
    touchedBelow(checkpoint, path, limit) {
      const key = one<rows.CheckpointColumns>("SELECT * FROM checkpoint WHERE id = ?", checkpoint);
      if (key === undefined) return [];
      // "0" is the character after "/": what lies between is below the path.
      const below = "(path = ? OR (path >= ? || '/' AND path < ? || '0'))";
      const page = `SELECT * FROM touched WHERE workspace = ? AND generation = ? AND ${below} ORDER BY path LIMIT ?`;
      return all<rows.TouchedColumns>(page, key.workspace, key.generation, path, path, path, limit).map(rows.changeOf);
    },
    undone: (checkpoint) =>
      all<{ checkpoint: string }>(
        "SELECT u.checkpoint FROM checkpoint c JOIN undone u ON u.workspace = c.workspace AND u.generation = c.generation WHERE c.id = ? ORDER BY u.position",
        checkpoint,
      ).map((row) => row.checkpoint),
    undoneBy: (checkpoint) =>
      all<rows.CheckpointColumns>(
        `SELECT checkpoint.* FROM undone u JOIN checkpoint ON checkpoint.workspace = u.workspace AND checkpoint.generation = u.generation WHERE u.checkpoint = ? AND ${LIVE} ORDER BY u.generation`,
        checkpoint,
      ).map(rows.checkpointOf),
    checkpoints: (query) => ask(() => findCheckpoints(reading, query)),
    undoCleared: (workspace, principal) =>
      one<{ generation: number }>(
        "SELECT generation FROM undo_cleared WHERE workspace = ? AND principal = ?",
        workspace,
        principal,
      )?.generation ?? 0,
    renamedTo: (workspace, path, generation) =>
      one<{ path: string }>(
        "SELECT path FROM touched WHERE workspace = ? AND generation = ? AND renamed_from = ?",
        workspace,
        generation,
        path,
      )?.path,
    pathsTouched: (workspace, after, until, limit) =>
      all<{ generation: number; path: string }>(
        "SELECT generation, path FROM touched WHERE workspace = ? AND (generation, path) > (?, ?) AND generation <= ? ORDER BY generation, path LIMIT ?",
        workspace,
        after.generation,
        after.path,
        until,
        limit,
      ),
    lastTouch: (workspace, path) =>
      checkpointWhere(
        "workspace = ? AND generation = (SELECT max(generation) FROM touched WHERE workspace = ? AND path = ?)",
        workspace,
        workspace,
        path,
      ),
    everHeld: (workspace, path, sha256) =>
      one(
        "SELECT 1 FROM touched INDEXED BY touched_path WHERE workspace = ? AND path = ? AND ? IN (before_sha256, after_sha256) LIMIT 1",
        workspace,
        path,
        rows.blob(sha256),
      ) !== undefined,
    looked(workspace, path) {
      const row = one<rows.LookedColumns>("SELECT * FROM looked WHERE workspace = ? AND path = ?", workspace, path);
      return row && rows.lookedOf(row);
    },
    lookedAfter: (workspace, after, limit) =>
      // All of a large tree at each start: the hash as text, for a buffer of each costs more than the rest of the row.
      all<LookedRow>(
        "SELECT path, stamp, newest_ms AS newestMs, lower(hex(sha256)) AS sha256 FROM looked WHERE workspace = ? AND path > ? ORDER BY path LIMIT ?",
        workspace,
        after,
        limit,
      ),
    touchedSince: (workspace, generation) =>
      all<{ path: string }>("SELECT path FROM touched WHERE workspace = ? AND generation > ?", workspace, generation).map(
        (row) => row.path,
      ),
    everTouched: (workspace, paths) =>
      new Set(
        all<{ path: string }>(
          "SELECT value AS path FROM json_each(?) WHERE EXISTS (SELECT 1 FROM touched WHERE workspace = ? AND touched.path = value)",
          JSON.stringify(paths),
          workspace,
        ).map((row) => row.path),
      ),
    touchedOtherwise: (workspace, until) =>
      all<{ path: string }>(
        "SELECT DISTINCT t.path FROM checkpoint c JOIN touched t ON t.workspace = c.workspace AND t.generation = c.generation WHERE c.workspace = ? AND c.generation <= ? AND c.cause <> 'import'",
        workspace,
        until,
      ).map((row) => row.path),
    firstImported(workspace, path) {
      const row = one<rows.TouchedColumns>(
        "SELECT t.* FROM touched t JOIN checkpoint c ON c.workspace = t.workspace AND c.generation = t.generation WHERE t.workspace = ? AND t.path = ? AND t.before_kind = 0 AND c.cause = 'import' ORDER BY t.generation LIMIT 1",
        workspace,
        path,
      );
      return row === undefined ? null : rows.changeOf(row).after;
    },
    request(scope, principal, id) {
      const row = one<rows.RequestColumns>(
        "SELECT * FROM request WHERE scope = ? AND principal = ? AND id = ?",
        scope,
        principal,
        id,
      );
      return row && rows.requestOf(row);
    },
    openSaves: (workspace) =>
      all<SaveColumns>("SELECT * FROM open_save WHERE workspace = ? ORDER BY generation", workspace).map((row) => ({
        ...row,
        steps: JSON.parse(row.steps) as JournalStep[],
      })),
    lingering: (workspace) =>
      all<{ temp: string; path: string }>("SELECT temp, path FROM linger WHERE workspace = ? ORDER BY temp", workspace),
    ended: (workspace) => one<{ value: string }>("SELECT value FROM meta WHERE key = ?", endedKey(workspace))?.value,
    leases: (workspace) =>
      all<rows.LeaseColumns>("SELECT * FROM lease WHERE workspace = ? ORDER BY epoch", workspace).map(rows.leaseOf),
    lease(id) {
      const row = one<rows.LeaseColumns>("SELECT * FROM lease WHERE id = ?", id);
      return row && rows.leaseOf(row);
    },
    tokens: () => all<rows.TokenColumns>("SELECT * FROM token ORDER BY created_ms, id").map(rows.tokenOf),
    token(id) {
      const row = one<rows.TokenColumns>("SELECT * FROM token WHERE id = ?", id);
      return row && rows.tokenOf(row);
    },
    detail(id) {
      const row = one<rows.DetailColumns>("SELECT id, workspace, principal, kind, body, time_ms FROM detail WHERE id = ?", id);
      return row && rows.detailOf(row);
    },
    ...originReads({ one, all }),
    ...annotationReads({ one, all }),
    ...memoryReads({ one, all }),
    facts: () => ask(() => factsOf(db, reading)),
    isThinned: () => one("SELECT 1 FROM workspace WHERE kept_from > 0") !== undefined,
    letGo: () => side.close(),
    close() {
      side.close();
      db.close();
    },
  };
}

type SaveColumns = Omit<OpenSave, "steps"> & { readonly steps: string };

function connect(directory: string): Reading {
  return ask(() => {
    const db = loadSqlite().open(`${directory}/${STORE_FILE}`, { readonly: true, fileMustExist: true, timeout: 5000 });
    // 8 MiB, which fill as the store grows. Behind them is the system's own cache: no save or read was seen to be slower than with 32.
    db.pragma("cache_size = -8192");
    const statements = new Map<string, Statement>();
    const statement = (sql: string): Statement => {
      let found = statements.get(sql);
      if (found === undefined) {
        found = db.prepare<unknown[], unknown>(sql);
        statements.set(sql, found);
      }
      return found;
    };
    return { db, statement };
  });
}

function factsOf(db: Database, { statement }: Reading): StoreFacts {
  const number = (sql: string) => Number(statement(sql).pluck().get());
  const pages = number("SELECT page_count - freelist_count FROM pragma_page_count, pragma_freelist_count");
  const side = number("SELECT coalesce(sum(bytes), 0) FROM segment");
  return {
    storeId: metaOrFail(db, "storeId"),
    cursorKey: metaOrFail(db, "cursorKey"),
    leaseIncarnation: metaOrFail(db, "leaseIncarnation"),
    requestsKeptSinceMs: metaOrFail(db, "requestsKeptSinceMs"),
    createdMs: metaOrFail(db, "createdMs"),
    bytes: pages * number("SELECT page_size FROM pragma_page_size") + side,
    neededBytes: getMeta(db, "neededBytes") ?? 0,
    collectedMs: getMeta(db, "collectedMs") ?? 0,
    schemaVersion: number("SELECT user_version FROM pragma_user_version"),
  };
}

function metaOrFail<K extends keyof Meta>(db: Database, key: K): Meta[K] {
  const value = getMeta(db, key);
  if (value === undefined) throw new GinError("STORE_CORRUPT", `the store does not say its ${key}`);
  return value;
}

/** A closed connection is a fault of the caller (INTERNAL), the rest is mapped as for writes. */
function ask<T>(read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    throw storeError(thrown);
  }
}
