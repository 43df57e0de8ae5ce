import { nodeFs } from "../base/index.ts";
import { sqliteCode, storeError } from "./errors.ts";
import { readText, removeFile, replaceText } from "./files.ts";
import { type Database, loadSqlite } from "./sqlite.ts";
import type { Lock } from "./types.ts";

/**
 * Takes an exclusive lock on `path` for the life of this process: a SQLite file whose exclusive transaction is never
 * ended, so that the kernel frees it at any death. Nothing else may open that file: a plain open and close in this process
 * would drop the lock. `note` (who holds it, as JSON) goes to a file beside it, since a locked database cannot be read.
 * Throws STORE_READ_ONLY, DISK_FULL, STORE_CORRUPT, IO_FAILED, or UNSUPPORTED without SQLite.
 */
export function takeLock(path: string, note: string): Lock {
  let connection: Database | undefined;
  try {
    connection = loadSqlite().open(path, { timeout: 0 });
    connection.pragma("journal_mode = DELETE");
    connection.exec("BEGIN EXCLUSIVE");
    replaceText(nodeFs, noteOf(path), note);
  } catch (thrown) {
    connection?.close();
    if (sqliteCode(thrown).startsWith("SQLITE_BUSY")) return { held: false, note: readLockNote(path) };
    throw storeError(thrown);
  }
  const held = connection;
  return {
    held: true,
    release() {
      if (!held.open) return;
      removeFile(nodeFs, noteOf(path));
      held.close();
    },
  };
}

/** What the holder of the lock said of itself; "" when nobody did. Left behind by a killed holder: take the lock to know. */
export function readLockNote(path: string): string {
  return readText(nodeFs, noteOf(path));
}

function noteOf(path: string): string {
  return `${path}.note`;
}
