import { GinError, nodeFs } from "../base/index.ts";
import { STORE_FILE } from "./commands/backup.ts";
import { storeError } from "./errors.ts";
import { exists } from "./files.ts";
import { setMeta } from "./meta.ts";
import { checkVersion } from "./schema.ts";
import { loadSqlite } from "./sqlite.ts";

/** A workspace of a closed store. */
export interface StoredWorkspace {
  readonly id: string;
  readonly name: string;
  readonly root: string;
  readonly generation: number;
}

/** Identity that no data directory has: the next takeover finds that the store came from elsewhere, also on the same disk. */
const FROM_A_BACKUP = "restored";

/**
 * Marks a store that was copied back from a backup, so that the next daemon mints new incarnations and a new lease incarnation: what
 * was handed out after the backup must not hold in a past that never saw it. Gives its workspaces.
 * Throws STORE_TOO_NEW, STORE_CORRUPT, STORE_READ_ONLY.
 */
export function markRestored(directory: string): StoredWorkspace[] {
  try {
    const db = loadSqlite().open(`${directory}/${STORE_FILE}`, { fileMustExist: true, timeout: 5000 });
    try {
      if (checkVersion(db) === 0) throw new GinError("STORE_CORRUPT", "the backup holds no store");
      db.pragma("synchronous = FULL");
      db.transaction(() => setMeta(db, "hostIdentity", FROM_A_BACKUP)).immediate();
      return db.prepare("SELECT id, name, root, generation FROM workspace ORDER BY rowid").all() as StoredWorkspace[];
    } finally {
      // The last connection folds the WAL into the file: nothing else of it has to be moved.
      db.close();
    }
  } catch (thrown) {
    throw storeError(thrown);
  }
}

/** Whether a data directory has a store with anything to lose: a workspace, or damage that hides whether there is one. */
export function holdsWork(directory: string): boolean {
  const file = `${directory}/${STORE_FILE}`;
  if (!exists(nodeFs, file)) return false;
  try {
    const db = loadSqlite().open(file, { readonly: true, fileMustExist: true, timeout: 5000 });
    try {
      return db.prepare("SELECT 1 FROM workspace").get() !== undefined;
    } finally {
      db.close();
    }
  } catch {
    // Not a store we can read: whatever it is, it is not ours to call empty.
    return true;
  }
}
