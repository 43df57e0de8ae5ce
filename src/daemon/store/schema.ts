import { GinError } from "../base/index.ts";
import type { Database } from "./sqlite.ts";

/** Marks the file as a store of gin ("gin1"), so that another program's database is never migrated. */
const APPLICATION_ID = 0x67696e31;

/**
 * Forward migrations; the n-th makes version n. One that has landed is never edited.
 * Hashes are 32-byte blobs. A path's state is (kind, sha256, size): kind 0 absent, 1 file, 2 executable file, 3 symlink.
 * Tables that only grow have an integer key, so that rows are appended; WITHOUT ROWID where the key is the row's place.
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE meta(key TEXT PRIMARY KEY, value ANY NOT NULL) STRICT, WITHOUT ROWID;

  -- Contents. codec 0 raw and 1 brotli have a body; 2 lies in side segment \`segment\` at \`offset\`.
  CREATE TABLE object(
    seq INTEGER PRIMARY KEY, sha256 BLOB NOT NULL, codec INTEGER NOT NULL, size INTEGER NOT NULL,
    segment INTEGER, offset INTEGER, body BLOB) STRICT;
  CREATE UNIQUE INDEX object_sha256 ON object(sha256);

  CREATE TABLE node(seq INTEGER PRIMARY KEY, hash BLOB NOT NULL, data BLOB NOT NULL) STRICT;
  CREATE UNIQUE INDEX node_hash ON node(hash);

  -- Bytes taken in each side segment; what lies beyond is a torn tail and is written over.
  CREATE TABLE segment(id INTEGER PRIMARY KEY, bytes INTEGER NOT NULL) STRICT;

  CREATE TABLE repository(rowid INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL) STRICT;

  -- Row ids are not used twice: rows of a removed workspace may outlive it for a while.
  CREATE TABLE workspace(
    rowid INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL,
    repository INTEGER NOT NULL REFERENCES repository(rowid),
    root TEXT NOT NULL, device TEXT NOT NULL, inode TEXT NOT NULL, incarnation TEXT NOT NULL,
    generation INTEGER NOT NULL, epoch INTEGER NOT NULL, head TEXT NOT NULL, tree BLOB NOT NULL, base TEXT NOT NULL,
    status TEXT NOT NULL, lease_epoch INTEGER NOT NULL) STRICT;

  -- Workspaces whose rows upkeep still has to delete.
  CREATE TABLE removed(workspace INTEGER PRIMARY KEY) STRICT;

  CREATE TABLE checkpoint(
    workspace INTEGER NOT NULL, generation INTEGER NOT NULL, id TEXT NOT NULL, parents TEXT NOT NULL, cause TEXT NOT NULL,
    principal TEXT NOT NULL, request_id TEXT NOT NULL, message TEXT NOT NULL, time_ms INTEGER NOT NULL, tree BLOB NOT NULL,
    touched INTEGER NOT NULL, PRIMARY KEY(workspace, generation)) STRICT, WITHOUT ROWID;
  CREATE UNIQUE INDEX checkpoint_id ON checkpoint(id);

  CREATE TABLE touched(
    workspace INTEGER NOT NULL, generation INTEGER NOT NULL, path TEXT NOT NULL,
    before_kind INTEGER NOT NULL, before_sha256 BLOB, before_size INTEGER,
    after_kind INTEGER NOT NULL, after_sha256 BLOB, after_size INTEGER,
    renamed_from TEXT, PRIMARY KEY(workspace, generation, path)) STRICT, WITHOUT ROWID;
  CREATE INDEX touched_path ON touched(workspace, path, generation);

  -- The journal: saves whose files are not known to be on disk for good. Few rows, read and written whole.
  CREATE TABLE open_save(
    id TEXT PRIMARY KEY, workspace INTEGER NOT NULL, generation INTEGER NOT NULL, state TEXT NOT NULL, boot TEXT NOT NULL,
    steps TEXT NOT NULL) STRICT, WITHOUT ROWID;

  -- In order of time, so that the old ones are at the front.
  CREATE TABLE request(
    seq INTEGER PRIMARY KEY, scope INTEGER NOT NULL, principal TEXT NOT NULL, id TEXT NOT NULL, operation TEXT NOT NULL,
    digest BLOB NOT NULL, outcome TEXT NOT NULL, answer BLOB NOT NULL, time_ms INTEGER NOT NULL) STRICT;
  CREATE UNIQUE INDEX request_key ON request(scope, principal, id);

  CREATE TABLE lease(
    id TEXT PRIMARY KEY, workspace INTEGER NOT NULL REFERENCES workspace(rowid) ON DELETE CASCADE, holder TEXT NOT NULL,
    intent TEXT NOT NULL, paths TEXT NOT NULL, epoch INTEGER NOT NULL, ttl_ms INTEGER NOT NULL, state TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
  CREATE INDEX lease_workspace ON lease(workspace, epoch);

  CREATE TABLE token(
    id TEXT PRIMARY KEY, secret_sha256 BLOB NOT NULL, principal TEXT NOT NULL, scopes TEXT NOT NULL, workspaces TEXT NOT NULL,
    paths TEXT NOT NULL, created_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL, last_used_ms INTEGER NOT NULL,
    revoked_ms INTEGER NOT NULL, created_by TEXT NOT NULL) STRICT, WITHOUT ROWID;

  CREATE TABLE detail(
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, workspace INTEGER NOT NULL, principal TEXT NOT NULL, kind TEXT NOT NULL,
    body BLOB NOT NULL, time_ms INTEGER NOT NULL) STRICT;
  `,
  `
  -- git_commit says what the base was taken from; imported is 1 once the whole tree was looked at.
  -- Contents of generations before kept_from may be gone.
  ALTER TABLE workspace ADD COLUMN imported INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE workspace ADD COLUMN git_commit TEXT NOT NULL DEFAULT '';
  ALTER TABLE workspace ADD COLUMN kept_from INTEGER NOT NULL DEFAULT 0;

  -- What an undo (or redo) took back, newest first.
  CREATE TABLE undone(
    workspace INTEGER NOT NULL, generation INTEGER NOT NULL, position INTEGER NOT NULL, checkpoint TEXT NOT NULL,
    PRIMARY KEY(workspace, generation, position)) STRICT, WITHOUT ROWID;
  CREATE INDEX undone_checkpoint ON undone(checkpoint);

  -- Renames, for following a file's lines through them both ways.
  CREATE INDEX touched_renamed ON touched(workspace, path, generation) WHERE renamed_from IS NOT NULL;
  CREATE INDEX touched_renamed_from ON touched(workspace, renamed_from, generation) WHERE renamed_from IS NOT NULL;

  -- Append-only. \`thread\` is the id of the one that began it, its own for that one.
  CREATE TABLE annotation(
    seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, workspace INTEGER NOT NULL, checkpoint TEXT NOT NULL,
    principal TEXT NOT NULL, request_id TEXT NOT NULL, text TEXT NOT NULL, thread TEXT NOT NULL, reply_to TEXT NOT NULL,
    corrects TEXT NOT NULL, evidence_id TEXT NOT NULL, time_ms INTEGER NOT NULL) STRICT;
  CREATE INDEX annotation_workspace ON annotation(workspace, seq);
  CREATE INDEX annotation_checkpoint ON annotation(checkpoint, seq);
  CREATE INDEX annotation_thread ON annotation(thread, seq);
  CREATE INDEX annotation_corrects ON annotation(corrects, seq) WHERE corrects <> '';

  -- Lines from 1, inclusive; 0 and 0 is the whole file. \`text\`: the lines as they were, cut.
  CREATE TABLE anchor(
    annotation INTEGER NOT NULL, position INTEGER NOT NULL, workspace INTEGER NOT NULL, path TEXT NOT NULL,
    start_line INTEGER NOT NULL, end_line INTEGER NOT NULL, sha256 BLOB NOT NULL, text TEXT NOT NULL,
    PRIMARY KEY(annotation, position)) STRICT, WITHOUT ROWID;
  CREATE INDEX anchor_path ON anchor(workspace, path, annotation);

  -- Origins of a path's lines as of a generation that touched it: computed from history, and kept so that history may be thinned.
  CREATE TABLE span(
    workspace INTEGER NOT NULL, path TEXT NOT NULL, generation INTEGER NOT NULL, sha256 BLOB NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY(workspace, path, generation)) STRICT, WITHOUT ROWID;

  -- What a recorded path's file looked like when its content was last read: an unchanged look needs no reading. stamp: size, mtime,
  -- ctime, inode and mode as one text; newest_ms: the later of mtime and ctime.
  CREATE TABLE looked(
    workspace INTEGER NOT NULL, path TEXT NOT NULL, stamp TEXT NOT NULL, newest_ms INTEGER NOT NULL, sha256 BLOB NOT NULL,
    PRIMARY KEY(workspace, path)) STRICT, WITHOUT ROWID;

  -- Files that saves displaced and somebody still has open: what will be written to them is recorded under \`path\`.
  CREATE TABLE linger(
    workspace INTEGER NOT NULL, temp TEXT NOT NULL, path TEXT NOT NULL, seen BLOB NOT NULL,
    PRIMARY KEY(workspace, temp)) STRICT, WITHOUT ROWID;

  -- Up to which generation a principal took its entries out of its list of what it can undo.
  CREATE TABLE undo_cleared(
    workspace INTEGER NOT NULL, principal TEXT NOT NULL, generation INTEGER NOT NULL,
    PRIMARY KEY(workspace, principal)) STRICT, WITHOUT ROWID;

  -- What agents wrote down. A save is a new row, so that \`seq\` is the order of writing. bytes: what it counts against the quota.
  CREATE TABLE memory(
    seq INTEGER PRIMARY KEY AUTOINCREMENT, scope TEXT NOT NULL, scope_id TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
    bytes INTEGER NOT NULL, kind TEXT NOT NULL, pinned INTEGER NOT NULL, principal TEXT NOT NULL, request_id TEXT NOT NULL,
    created_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL) STRICT;
  CREATE UNIQUE INDEX memory_key ON memory(scope, scope_id, key);
  CREATE INDEX memory_expiring ON memory(expires_ms) WHERE pinned = 0 AND expires_ms > 0;

  -- What happened to memory, the newest of it, for those who follow.
  CREATE TABLE memory_change(
    seq INTEGER PRIMARY KEY AUTOINCREMENT, scope TEXT NOT NULL, scope_id TEXT NOT NULL, key TEXT NOT NULL, change TEXT NOT NULL,
    kind TEXT NOT NULL, principal TEXT NOT NULL, time_ms INTEGER NOT NULL) STRICT;

  -- Bytes of each bucket of memory; the row of '' and '' is their sum.
  CREATE TABLE memory_use(
    scope TEXT NOT NULL, scope_id TEXT NOT NULL, bytes INTEGER NOT NULL, PRIMARY KEY(scope, scope_id)) STRICT, WITHOUT ROWID;
  `,
  `
  -- Whether language servers that could run code of the workspace may be started for it: the owner says so.
  ALTER TABLE workspace ADD COLUMN trusted INTEGER NOT NULL DEFAULT 0;
  `,
];

/** Newest version this build knows. */
export const SCHEMA_VERSION = MIGRATIONS.length;

/**
 * Looks at a store without changing a byte of it: its version, 0 for one that was never finished.
 * Throws STORE_TOO_NEW naming both versions, STORE_CORRUPT for a database that is not ours.
 */
export function checkVersion(db: Database, supported = SCHEMA_VERSION): number {
  const version = Number(db.pragma("user_version", { simple: true }));
  const owner = Number(db.pragma("application_id", { simple: true }));
  const tables = Number(db.prepare("SELECT count(*) FROM sqlite_schema").pluck().get());
  if (owner !== APPLICATION_ID && (tables > 0 || version !== 0)) {
    throw new GinError("STORE_CORRUPT", "the store's file is a database of another program");
  }
  if (version > supported) {
    throw new GinError(
      "STORE_TOO_NEW",
      `the store has version ${version}; this gin knows versions up to ${supported}`,
      undefined,
      {
        facts: { store_version: version, supported_version: supported },
      },
    );
  }
  return version;
}

/** Settings of the file itself; they count only before the first table is made. */
export function configureFile(db: Database): void {
  db.pragma("auto_vacuum = INCREMENTAL");
  db.pragma(`application_id = ${APPLICATION_ID}`);
  db.pragma("journal_mode = WAL");
}

/** Settings of the writing connection. Durable is the default; a transaction that may be weaker says so (writer.ts). */
export function configureWriter(db: Database): void {
  db.pragma("locking_mode = NORMAL");
  db.pragma("synchronous = FULL");
  db.pragma("wal_autocheckpoint = 0");
  db.pragma("foreign_keys = ON");
  db.pragma("temp_store = MEMORY");
  // 16 MiB, which fill as the store grows; saves in trees of 100,000 files were not seen to be slower than with 64.
  db.pragma("cache_size = -16384");
}

/**
 * Brings a store up to date, a transaction a version. `finish` runs inside the transaction that makes version 1, for what
 * a new store needs from the start. `migrations` is for tests.
 */
export function migrate(db: Database, finish: () => void, migrations: readonly string[] = MIGRATIONS): void {
  const from = Number(db.pragma("user_version", { simple: true }));
  for (const [index, sql] of migrations.entries()) {
    const version = index + 1;
    if (version <= from) continue;
    db.transaction(() => {
      db.exec(sql);
      if (version === 1) finish();
      db.pragma(`user_version = ${version}`);
    }).exclusive();
  }
}
