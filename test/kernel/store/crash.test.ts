import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { checkIntegrity, openStore } from "../../../src/daemon/store/index.ts";
import { bundleProgram } from "../../helpers/victim.ts";
import { freshDirectory, Line, opened, sha } from "../../unit/store/fixture.ts";
import { batch, largeOf } from "./batch.ts";

let program: string;
beforeAll(async () => {
  program = (await bundleProgram("test/kernel/store/child.ts")).victim;
});

/** A closed store with the workspace the child saves into. */
async function prepared(): Promise<string> {
  const directory = join(freshDirectory(), "data");
  const store = await openStore({ directory, inline: true });
  await Line.make(store);
  await store.close();
  return directory;
}

/** Each point, the hit that kills, and how many batches must be there then; all points before the commit lose theirs. */
const KILLS = [
  ["side.appended", 1, 0],
  ["side.appended", 3, 2],
  ["side.synced", 2, 1],
  ["commit.begin", 1, 0],
  ["commit.begin", 4, 3],
  ["commit.objects", 1, 0],
  ["commit.objects", 4, 1],
  ["commit.rows", 3, 1],
  ["commit.rows", 6, 2],
  ["commit.before", 1, 0],
  ["commit.before", 3, 2],
  ["commit.after", 1, 1],
  ["commit.after", 4, 4],
] as const;

describe("a store whose process is killed", () => {
  it.each(KILLS)("at %s, hit %i, has exactly the first %i batches, whole", { timeout: 120_000 }, async (point, nth, kept) => {
    const directory = await prepared();
    const child = spawnSync(process.execPath, [program, "crash", directory, point, String(nth)], { encoding: "utf8" });
    expect([child.signal, child.stderr]).toEqual(["SIGKILL", ""]);
    const acknowledged = child.stdout.trim().split("\n").filter(Boolean);
    expect(acknowledged).toEqual(
      Array.from(
        { length: point === "commit.after" ? kept - 1 : kept },
        (_, index) => `acknowledged ${index + 1} committed committed`,
      ),
    );
    expect(checkIntegrity(directory, true)).toEqual({ ok: true, problems: [] });
    const store = await opened({ directory });
    expect(store.read.workspace(1)?.generation).toBe(2 * kept);
    const tree = store.read.workspace(1)?.tree ?? "";
    expect([...store.trees.walk(tree, "")].length).toBe(3 * kept);
    for (let number = 1; number <= 4; number++) {
      const there = number <= kept;
      expect(store.trees.get(tree, `big-${number}`) !== null).toBe(there);
      expect(sha(store.read.object(sha(largeOf(number))) ?? "") === sha(largeOf(number))).toBe(there);
      expect(store.read.hasObject(sha(`b ${number}`))).toBe(there);
      for (const generation of [2 * number - 1, 2 * number]) {
        expect(store.read.request(1, "alice", `r-${generation}`)?.outcome).toBe(there ? "committed" : undefined);
        expect(store.read.checkpointAt(1, generation)?.id).toBe(there ? `ck_${generation}` : undefined);
      }
    }
    expect(store.read.openSaves(1).map(({ id }) => id)).toEqual(
      Array.from({ length: 2 * kept }, (_, index) => `ck_${index + 1}`),
    );
    const next = kept + 1;
    expect(await store.write("commit", { saves: batch(store, next), boot: "boot-2" })).toEqual(["committed", "committed"]);
    expect(sha(store.read.object(sha(largeOf(next))) ?? "")).toBe(sha(largeOf(next)));
    await store.close();
    expect(checkIntegrity(directory, true)).toEqual({ ok: true, problems: [] });
  });
});

describe("a save's syncs", () => {
  const strace = "/usr/bin/strace";

  /** fsync and fdatasync calls of a whole process that makes that many commits. */
  async function syncs(count: number, bytes: number): Promise<number> {
    const directory = await prepared();
    const log = join(directory, "..", "strace");
    spawnSync(strace, [
      "-f",
      "-o",
      log,
      "-e",
      "trace=fsync,fdatasync",
      process.execPath,
      program,
      "saves",
      directory,
      String(count),
      String(bytes),
    ]);
    return readFileSync(log, "utf8")
      .split("\n")
      .filter((line) => /\b(fsync|fdatasync)\(/.test(line)).length;
  }

  it("are one for a commit, and two when it has large contents", { timeout: 120_000 }, async (ctx) => {
    if (!existsSync(strace)) return ctx.skip("no strace here: syncs cannot be counted");
    // What opening costs falls out of the difference.
    expect((await syncs(12, 1000)) - (await syncs(2, 1000))).toBe(10);
    expect((await syncs(7, 1_100_000)) - (await syncs(2, 1_100_000))).toBe(10);
  });
});
