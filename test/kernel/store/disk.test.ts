import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { checkIntegrity, openStore } from "../../../src/daemon/store/index.ts";
import { atTeardown } from "../../helpers/teardown.ts";
import { freshDirectory, Line, opened, sha } from "../../unit/store/fixture.ts";

/** A small file system of its own, or why there is none. */
function mounted(mebibytes: number): { directory: string } | { reason: string } {
  const directory = freshDirectory();
  const mount = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${mebibytes}m`, "tmpfs", directory], { encoding: "utf8" });
  if (mount.status !== 0) return { reason: `a tmpfs cannot be mounted here: ${mount.error?.message ?? mount.stderr.trim()}` };
  atTeardown(() => void spawnSync("umount", ["-l", directory]));
  return { directory };
}

describe.each([
  { name: "inline", inline: true },
  { name: "in its own thread", inline: false },
])("a store $name", ({ inline }) => {
  it.for([300_000, 1_100_000])(
    "on a full disk refuses a save of %i bytes, loses nothing, and takes it once there is room",
    { timeout: 120_000 },
    async (bytes, ctx) => {
      const place = mounted(8);
      if ("reason" in place) return ctx.skip(`no small file system can be mounted here: ${place.reason}`);
      const store = await openStore({ directory: join(place.directory, "data"), inline });
      const line = await Line.make(store);
      await line.save({ kept: "before" });
      const filler = join(place.directory, "filler");
      const { bavail, bsize } = statfsSync(place.directory);
      writeFileSync(filler, Buffer.alloc(bavail * bsize - 64 * 1024));
      const content = randomBytes(bytes);
      const save = line.plan({ big: content });
      await expect(line.commit(save)).rejects.toMatchObject({ reason: "DISK_FULL", retryable: true });
      line.refresh();
      expect([line.generation, store.read.hasObject(sha(content))]).toEqual([1, false]);
      expect(Buffer.from(store.read.object(sha("before")) ?? []).toString()).toBe("before");
      rmSync(filler);
      expect(await line.commit(save)).toEqual(["committed"]);
      expect(sha(store.read.object(sha(content)) ?? "")).toBe(sha(content));
      await store.close();
      expect(checkIntegrity(join(place.directory, "data"), true)).toEqual({ ok: true, problems: [] });
    },
  );

  it("on a read-only file system says so, for an old store and a new one", { timeout: 120_000 }, async (ctx) => {
    const place = mounted(8);
    if ("reason" in place) return ctx.skip(`no small file system can be mounted here: ${place.reason}`);
    const directory = join(place.directory, "data");
    const store = await opened({ directory });
    const line = await Line.make(store);
    await line.save({ kept: "before" });
    await store.close();
    expect(spawnSync("mount", ["-o", "remount,ro", place.directory]).status).toBe(0);
    for (const path of [directory, join(place.directory, "new")]) {
      await expect(openStore({ directory: path, inline })).rejects.toMatchObject({
        reason: "STORE_READ_ONLY",
        facts: { where: "store" },
      });
    }
  });
});
