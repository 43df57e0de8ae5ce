import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Fs, nodeFs } from "../../../src/daemon/base/index.ts";
import type { Store } from "../../../src/daemon/store/index.ts";
import { openReader } from "../../../src/daemon/store/reader.ts";
import { createTrees } from "../../../src/daemon/store/trees/index.ts";
import { Writer } from "../../../src/daemon/store/writer.ts";
import { freshDirectory, Line, opened, sha } from "./fixture.ts";

/** A store on a file system of the test's own. */
function storeOn(fs: Fs): Store {
  const directory = join(freshDirectory(), "data");
  const writer = new Writer({ directory, storeId: "st_1", cursorKey: randomBytes(32), nowMs: 1 }, fs);
  const read = openReader(nodeFs, directory);
  return {
    read,
    trees: createTrees((hash) => read.treeNode(hash)),
    write: async (command, value) => writer.run(command as never, value as never),
    close: async () => {
      read.close();
      writer.close();
    },
  };
}

/** As the file system throws. */
function systemError(code: string, syscall: string): Error {
  return Object.assign(new Error(`${code}: failed, ${syscall}`), { code, syscall });
}

describe("the writer", () => {
  it("refuses every write after a failed sync, which is not tried again", async () => {
    let syncs = 0;
    const store = storeOn({
      ...nodeFs,
      fdatasyncSync() {
        syncs++;
        throw systemError("EIO", "fdatasync");
      },
    });
    const line = await Line.make(store);
    const large = randomBytes(1_100_000);
    await line.save({ small: "1" });
    await expect(line.commit(line.plan({ large }))).rejects.toMatchObject({ reason: "IO_FAILED", facts: { errno: "EIO" } });
    await expect(line.commit(line.plan({ small: "2" }))).rejects.toMatchObject({ reason: "IO_FAILED" });
    await expect(store.write("applied", { saves: ["x"] })).rejects.toMatchObject({ reason: "IO_FAILED" });
    expect(syncs).toBe(1);
    line.refresh();
    expect(line.generation).toBe(1);
    expect(store.read.hasObject(sha(large))).toBe(false);
    await store.close();
  });

  it("goes on after a full disk, writing over what the failed save left in the side store", async () => {
    let full = true;
    const store = storeOn({
      ...nodeFs,
      writeSync(fd, from, offset, length, position) {
        // Half of it fits.
        if (full && offset > 0) throw systemError("ENOSPC", "write");
        return nodeFs.writeSync(fd, from, offset, full ? Math.ceil(length / 2) : length, position);
      },
    });
    const line = await Line.make(store);
    const large = randomBytes(1_100_000);
    await expect(line.commit(line.plan({ large }))).rejects.toMatchObject({ reason: "DISK_FULL", retryable: true });
    full = false;
    await line.save({ large });
    expect(sha(store.read.object(sha(large)) ?? "")).toBe(sha(large));
    await store.close();
  });

  it.each(["commit.begin", "commit.objects", "commit.rows", "commit.before", "side.appended", "side.synced"] as const)(
    "writes nothing of a batch that is stopped at %s, and the same batch goes through after it",
    async (point) => {
      const store = await opened({ failAt: { point, how: "throw", nth: 1 } });
      const line = await Line.make(store);
      const large = randomBytes(1_100_000);
      const first = line.plan({ large, a: "1" });
      const second = line.plan({ b: "1" }, { generation: 1 }, { generation: 2, parents: [first.checkpoints[0]?.id ?? ""] });
      await expect(line.commit(first, second)).rejects.toMatchObject({ reason: "INTERNAL" });
      line.refresh();
      expect([line.generation, line.head, store.read.hasObject(sha("1")), store.read.openSaves(1)]).toEqual([0, "", false, []]);
      expect(await line.commit(first, second)).toEqual(["committed", "committed"]);
      expect(sha(store.read.object(sha(large)) ?? "")).toBe(sha(large));
    },
  );

  it("waits as long as it is told in the place of a slow disk's sync", async () => {
    const store = await opened({ slowSyncMs: 30 });
    const line = await Line.make(store);
    const started = performance.now();
    await line.save({ a: "1" });
    expect(performance.now() - started).toBeGreaterThanOrEqual(30);
  });
});
