import { nodeFs } from "../../base/index.ts";
import { ensureDirectory, OPEN_NEW, OPEN_READ, readUpTo, syncDirectory, writeAll } from "../files.ts";
import { segmentFile, sideDirectory } from "../side.ts";
import type { Commands } from "../types.ts";
import type { Work } from "../work.ts";

const CHUNK_BYTES = 4 * 1024 * 1024;

/** Name of the database in a data directory. */
export const STORE_FILE = "store.db";

/**
 * Copies the store while it is in use, into a directory that holds no store yet (made when absent, 0700). SQLite copies the
 * database in steps between other transactions; the segments come after it, and since they only grow, they hold
 * everything the copy names. Everything is synced before it answers. Throws IO_FAILED (EEXIST), DISK_FULL.
 */
export async function backup(work: Work, { directory }: Commands["backup"]["in"]): Promise<Commands["backup"]["out"]> {
  ensureDirectory(nodeFs, directory);
  const target = `${directory}/${STORE_FILE}`;
  // Takes the name, so that an older backup is never written over.
  nodeFs.closeSync(nodeFs.openSync(target, OPEN_NEW, 0o600));
  await work.db.backup(target);
  let bytes = Number(nodeFs.lstatSync(target).size);
  const segments = work.db.prepare("SELECT id, bytes FROM segment ORDER BY id").all() as { id: number; bytes: number }[];
  if (segments.length > 0) ensureDirectory(nodeFs, sideDirectory(directory));
  for (const segment of segments) {
    await copySegment(segmentFile(work.directory, segment.id), segmentFile(directory, segment.id), segment.bytes);
    bytes += segment.bytes;
  }
  if (segments.length > 0) syncDirectory(nodeFs, sideDirectory(directory));
  syncDirectory(nodeFs, directory);
  return { bytes };
}

/** In chunks, with turns for other commands between them. */
async function copySegment(from: string, to: string, length: number): Promise<void> {
  const source = nodeFs.openSync(from, OPEN_READ);
  try {
    const target = nodeFs.openSync(to, OPEN_NEW, 0o600);
    try {
      for (let offset = 0; offset < length; offset += CHUNK_BYTES) {
        writeAll(nodeFs, target, readUpTo(nodeFs, source, Math.min(CHUNK_BYTES, length - offset), offset), offset);
        await new Promise((resolve) => setImmediate(resolve));
      }
      await nodeFs.fsync(target);
    } finally {
      nodeFs.closeSync(target);
    }
  } finally {
    nodeFs.closeSync(source);
  }
}
