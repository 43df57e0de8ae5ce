import { GinError, nodeFs, systemClock, systemRandom } from "../base/index.ts";
import { storeError } from "./errors.ts";
import { ensureDirectory } from "./files.ts";
import type { GarbageStep } from "./gc/types.ts";
import { openReader } from "./reader.ts";
import { loadSqlite } from "./sqlite.ts";
import { openWriter } from "./thread.ts";
import { createTrees } from "./trees/index.ts";
import type { Store, StoreOptions } from "./types.ts";

/**
 * Opens the store of a data directory, making or migrating it. The caller holds the data directory's lock: two daemons on
 * one store would each be fenced, but neither would work.
 * Throws STORE_TOO_NEW (the file is left untouched), STORE_CORRUPT, STORE_READ_ONLY, DISK_FULL, IO_FAILED, UNSUPPORTED.
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { directory, failAt, slowSyncMs, inline = false, worker, random = systemRandom, clock = systemClock } = options;
  // Here first: the thread's own failure to load it would say less.
  loadSqlite();
  try {
    ensureDirectory(nodeFs, directory);
  } catch (thrown) {
    throw storeError(thrown);
  }
  const fresh = {
    storeId: `st_${Buffer.from(random.bytes(10)).toString("hex")}`,
    cursorKey: random.bytes(32),
    nowMs: clock.wallMs(),
  };
  const given = { directory, ...fresh, ...(failAt && { failAt }), ...(slowSyncMs !== undefined && { slowSyncMs }) };
  const writer = await openWriter(given, inline, worker);
  const read = await readerOrClose(directory, () => writer.close());
  let closing: Promise<void> | undefined;
  return {
    read,
    trees: createTrees(
      (hash) => read.treeNode(hash),
      () => (read.isThinned() ? trimmed() : undefined),
    ),
    write(command, value) {
      if (closing !== undefined) return Promise.reject(new GinError("BUSY", "the store is closing"));
      const result = writer.write(command, value);
      if (command !== "gc.step") return result;
      return result.then((step) => {
        // Segments are unlinked by then; a file that is held open would keep its place on the disk.
        if ((step as GarbageStep).phase === "done") read.letGo();
        return step;
      });
    },
    close() {
      closing ??= (async () => {
        await writer.settled();
        // First, so that the writer is the last one out and SQLite folds the WAL into the file.
        read.close();
        await writer.close();
      })();
      return closing;
    },
  };
}

async function readerOrClose(directory: string, close: () => Promise<void>) {
  try {
    return openReader(nodeFs, directory);
  } catch (thrown) {
    await close();
    throw thrown;
  }
}

/** A tree that was given up while somebody walked it; where nothing was ever given up, a node that is not there is damage. */
function trimmed(): GinError {
  return new GinError("HISTORY_TRIMMED", "what was there then is not kept any more");
}
