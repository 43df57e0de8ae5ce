import * as fs from "node:fs";
import * as path from "node:path";
import { locateHost, type RestoredLine, type RestoreOptions } from "../paths/index.ts";
import { GinError } from "./base/index.ts";
import { prepareHost, takeHost } from "./host/index.ts";
import { checkIntegrity, holdsWork, markRestored, takeLock } from "./store/index.ts";

/** What makes up a store in a data directory, in the order it is put in place: the database last, for it is what makes it a store. */
const PARTS = ["side", "store.db-shm", "store.db-wal", "store.db"] as const;
/** How the directory of a copy begins that is not in place yet. */
const STAGED = "restoring-";
/** Parts a backup consists of; a -shm is only for those who have it open. */
const COPIED = ["side", "store.db-wal", "store.db"] as const;

/**
 * Puts a backup in the place of a host's store, with no daemon running: copied beside it, checked to the last byte, marked, and only then
 * moved in. What was there is moved aside, never deleted. Killed anywhere, it leaves the old store, or none and both copies; the next one
 * clears its own copy away.
 * Throws BUSY (a daemon has the host, or uses the backup), INVALID_REQUEST, STORE_CORRUPT, STORE_TOO_NEW, DISK_FULL, IO_FAILED.
 */
export function restore(options: RestoreOptions, now: Date): RestoredLine {
  const paths = locateHost(options);
  const backup = backupDirectory(options.backup, paths.data);
  prepareHost(paths);
  const lock = takeHost(paths, takeLock);
  try {
    if (!options.replace && holdsWork(paths.data)) {
      throw new GinError(
        "INVALID_REQUEST",
        "this host's store has workspaces already",
        "--replace moves it aside; --host names another host",
      );
    }
    removeLeftovers(paths.data, backup);
    const staged = fs.mkdtempSync(path.join(paths.data, STAGED));
    try {
      const { workspaces, bytes } = stage(backup, staged);
      const aside = moveAside(paths.data, now);
      for (const part of PARTS) moveInto(staged, paths.data, part);
      syncDirectory(paths.data);
      return { restored: true, data: paths.data, bytes, moved_aside: aside, workspaces };
    } finally {
      // Empty by now, or a copy that is not wanted.
      fs.rmSync(staged, { recursive: true, force: true });
    }
  } finally {
    lock.release();
  }
}

function backupDirectory(named: string, data: string): string {
  const refuse = (message: string) =>
    new GinError("INVALID_REQUEST", message, "name a directory that gin backup made", { facts: { field: "backup" } });
  if (!fs.existsSync(path.join(named, "store.db"))) throw refuse("there is no backup in that directory");
  const real = fs.realpathSync.native(named);
  const own = fs.existsSync(data) ? fs.realpathSync.native(data) : data;
  if (real === own) throw refuse("that directory is the host's own store");
  // Another host's data directory: copying it while its daemon writes would take half of it.
  const lockFile = path.join(real, "lock.db");
  if (fs.existsSync(lockFile)) {
    const lock = takeLock(lockFile, "");
    if (!lock.held) throw new GinError("BUSY", "a daemon uses that directory", "make a backup of it with gin backup");
    lock.release();
  }
  return real;
}

/** A copy of the backup that is known to be whole. */
function stage(backup: string, staged: string) {
  let bytes = 0;
  for (const part of COPIED) bytes += copy(path.join(backup, part), path.join(staged, part));
  syncDirectory(staged);
  const { ok, problems } = checkIntegrity(staged, true);
  if (!ok) {
    throw new GinError(
      "STORE_CORRUPT",
      `the backup is damaged: ${problems[0] ?? ""}`,
      "use another backup; nothing was changed",
      {
        facts: { problems: problems.slice(0, 10) },
      },
    );
  }
  return { workspaces: markRestored(staged), bytes };
}

/** Copies a file or a directory of files, each synced and for the owner alone; bytes of contents. Nothing where nothing is. */
function copy(from: string, to: string): number {
  const stat = fs.statSync(from, { throwIfNoEntry: false });
  if (stat === undefined) return 0;
  if (stat.isDirectory()) {
    fs.mkdirSync(to, { mode: 0o700 });
    let bytes = 0;
    for (const name of fs.readdirSync(from)) bytes += copy(path.join(from, name), path.join(to, name));
    syncDirectory(to);
    return bytes;
  }
  fs.copyFileSync(from, to, fs.constants.COPYFILE_EXCL | fs.constants.COPYFILE_FICLONE);
  fs.chmodSync(to, 0o600);
  const fd = fs.openSync(to, "r");
  try {
    fs.fsyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
  return stat.size;
}

/** Copies that a killed restore left behind, but for one that is the backup now: what they are of is still where it was. */
function removeLeftovers(data: string, backup: string): void {
  for (const name of fs.readdirSync(data)) {
    const copy = path.join(data, name);
    if (name.startsWith(STAGED) && fs.realpathSync.native(copy) !== backup) fs.rmSync(copy, { recursive: true, force: true });
  }
}

/** Moves the store that is there into a directory of its own; "" when there is none. */
function moveAside(data: string, now: Date): string {
  if (!PARTS.some((part) => fs.existsSync(path.join(data, part)))) return "";
  const stamp = now.toISOString().replaceAll(/[-:]|\.\d+/g, "");
  const aside = fs.mkdtempSync(path.join(data, `replaced-${stamp}-`));
  // The database first: without it the rest is no store that a daemon would open.
  for (const part of [...PARTS].reverse()) moveInto(data, aside, part);
  syncDirectory(aside);
  syncDirectory(data);
  return aside;
}

function moveInto(from: string, to: string, part: string): void {
  if (fs.existsSync(path.join(from, part))) fs.renameSync(path.join(from, part), path.join(to, part));
}

function syncDirectory(directory: string): void {
  const fd = fs.openSync(directory, "r");
  try {
    fs.fsyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
}
