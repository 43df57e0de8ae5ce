import { spawnSync } from "node:child_process";
import { cpSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { FAIL_POINTS } from "../../../src/daemon/base/index.ts";
import { checkIntegrity, openStore } from "../../../src/daemon/store/index.ts";
import { tempDir } from "../../helpers/temp.ts";
import { bundleProgram } from "../../helpers/victim.ts";
import { freshDirectory, Line, opened } from "../../unit/store/fixture.ts";
import { collect, holes, limits } from "../../unit/store/gc-model.ts";
import { contentOf, largeOf } from "./batch.ts";

const POINTS = FAIL_POINTS.filter((point) => point.startsWith("gc."));
let prepared: string;
let program: string;

/** A store with forty versions of a file, large ones among them, and a workspace that was removed. */
beforeAll(async () => {
  program = (await bundleProgram("test/kernel/store/gc-child.ts")).victim;
  prepared = join(tempDir("gc-kills"), "data");
  const store = await openStore({ directory: prepared, inline: true });
  const line = await Line.make(store);
  const gone = await Line.make(store, "ws_2");
  await gone.save({ theirs: contentOf("theirs", 30_000) });
  for (let round = 0; round < 40; round++) {
    await line.save({
      now: contentOf(`${round}`, 60_000),
      [`d${round % 4}/f`]: `${round}`,
      ...(round % 8 === 0 ? { large: largeOf(round) } : {}),
    });
  }
  await store.write("durable", { saves: store.read.openSaves(1).map(({ id }) => id) });
  await store.write("workspace.remove", { rowid: gone.rowid });
  await store.close();
}, 120_000);

/** Each point at its first passing, and where every slice passes it, later on. */
const KILLS = [...POINTS.map((point) => [point, 1] as const), ["gc.objects", 4] as const];

describe("a store whose process is killed while gc runs", () => {
  it.each(KILLS)("at %s, hit %i, is whole, and the next run finishes the work", { timeout: 120_000 }, async (point, nth) => {
    const directory = join(freshDirectory(), "data");
    cpSync(prepared, directory, { recursive: true });
    const child = spawnSync(process.execPath, [program, directory, point, String(nth)], { encoding: "utf8" });
    expect([child.signal, child.stderr]).toEqual(["SIGKILL", ""]);
    const acknowledged = Number(child.stdout.trim().split("\n").at(-1) ?? "0");
    expect(checkIntegrity(directory, true)).toEqual({ ok: true, problems: [] });
    const store = await opened({ directory });
    const line = new Line(store, 1);
    line.refresh();
    expect(line.generation).toBeGreaterThanOrEqual(Math.max(40, acknowledged));
    expect(holes(line)).toEqual([]);
    await store.write("durable", { saves: store.read.openSaves(1).map(({ id }) => id) });
    await collect(store, limits({ targetBytes: 500_000, checkpointCount: 20 }));
    expect(holes(line)).toEqual([]);
    expect(checkIntegrity(directory, true)).toEqual({ ok: true, problems: [] });
    const again = await collect(store, limits({ targetBytes: 500_000, checkpointCount: 20 }));
    expect(again).toMatchObject({ unreachableObjects: 0, thinnedObjects: 0, removedCheckpoints: 0 });
    // One that is appended to, one made ahead; nothing forgotten.
    expect(readdirSync(join(directory, "side")).length).toBeLessThanOrEqual(3);
    await line.save({ after: "after" });
    expect(holes(line)).toEqual([]);
  });
});
