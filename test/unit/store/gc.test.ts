import { createHash } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { GinError, systemClock } from "../../../src/daemon/base/index.ts";
import { checkIntegrity, createCollector, type Store } from "../../../src/daemon/store/index.ts";
import { chance } from "../../helpers/random.ts";
import { scaled } from "../../helpers/scale.ts";
import { freshDirectory, Line, opened, sha } from "./fixture.ts";
import { collect, counting, DAY, holes, limits } from "./gc-model.ts";

const quiet = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** Bytes that do not compress and that a name stands for. */
function bytes(name: string, length: number): Buffer {
  return createHash("shake256", { outputLength: length }).update(name).digest();
}

async function place() {
  const directory = join(freshDirectory(), "data");
  const store = await opened({ directory });
  return { directory, store, line: await Line.make(store) };
}

/** Saves whose files are in place and synced. */
async function settle(line: Line): Promise<void> {
  const saves = line.store.read.openSaves(line.rowid).map(({ id }) => id);
  await line.store.write("durable", { saves });
}

describe("a collector", () => {
  const parts = { clock: systemClock, log: quiet, checkpointMs: 100_000 * DAY, checkpointCount: 100_000, readersMs: 0 };

  it("tends to everything that waits, however much an import brought, and looks at history the first time", async () => {
    const { store, line, directory } = await place();
    for (let round = 0; round < 8; round++) {
      const files = Array.from({ length: 100 }, (_, index) => [`d${round}/f${index}`, `${round} ${index} `.repeat(600)] as const);
      await line.save(Object.fromEntries(files), { journal: [] });
    }
    const before = store.read.facts();
    expect([before.collectedMs, before.bytes > 3_000_000]).toEqual([0, true]);
    const collector = createCollector({ store, ...parts, quotaBytes: 2 ** 30 });
    await Promise.all([collector.tend(), collector.tend()]);
    const after = store.read.facts();
    expect(after.bytes).toBeLessThan(before.bytes / 3);
    expect(after.neededBytes).toBeGreaterThan(after.bytes / 3);
    expect(after.collectedMs).toBeGreaterThan(0);
    expect(holes(line)).toEqual([]);
    expect(checkIntegrity(directory, true).problems).toEqual([]);
    await collector.close();
    await expect(collector.collect({ dryRun: false })).rejects.toMatchObject({ reason: "BUSY" });
  });

  it("asks for the origin of every path it is going to thin, once, before anything is gone; a refusal does not stop it", async () => {
    const { store, line } = await place();
    for (let round = 0; round < 10; round++)
      await line.save({ f: bytes(`${round}`, 9_000), [`g${round % 2}`]: `${round}` }, { journal: [] });
    const asked: unknown[] = [];
    const warned: string[] = [];
    const keepOrigin = async (workspace: number, path: string, generation: number): Promise<void> => {
      asked.push([workspace, path, generation, store.read.hasObject(sha(bytes("0", 9_000)))]);
      if (path === "g0") throw new Error("no");
    };
    const log = { ...quiet, warn: (_: object, message: string) => void warned.push(message) };
    const collector = createCollector({ store, ...parts, log, quotaBytes: 2 ** 30, keepOrigin });
    await collector.collect({ dryRun: true, targetBytes: 0 });
    expect(asked).toEqual([]);
    await collector.collect({ dryRun: false, targetBytes: 0 });
    expect(asked).toEqual(["f", "g0", "g1"].map((path) => [line.rowid, path, 10, true]));
    expect(warned).toEqual(["origins of some paths could not be kept"]);
    expect(store.read.hasObject(sha(bytes("0", 9_000)))).toBe(false);
    await collector.close();
  });

  it("asks of a few new generations without going through all that was ever touched", async () => {
    const { store, line } = await place();
    const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`d/f${index}`, "x"]));
    await line.save(many(600), { journal: [] });
    await line.save({ "d/f1": "y" }, { journal: [] });
    await line.save({ "d/f1": "z", g: "g" }, { journal: [] });
    const first = { generation: 2, path: "" };
    expect(store.read.pathsTouched(line.rowid, first, 3, 2)).toEqual([
      { generation: 2, path: "d/f1" },
      { generation: 3, path: "d/f1" },
    ]);
    expect(store.read.pathsTouched(line.rowid, { generation: 3, path: "d/f1" }, 3, 2)).toEqual([{ generation: 3, path: "g" }]);
    const asked: string[] = [];
    const keepOrigin = async (_: number, path: string): Promise<void> => void asked.push(path);
    const collector = createCollector({ store, ...parts, quotaBytes: 2 ** 30, keepOrigin });
    await collector.collect({ dryRun: false, targetBytes: 0 });
    expect([asked.length, new Set(asked).size, asked.at(-1)]).toEqual([601, 601, "g"]);
    await collector.close();
  });

  it("that failed by itself leaves the store alone for an hour, and then tries again", async () => {
    const { store } = await place();
    let runs = 0;
    let ahead = 0;
    const refusing: Store = {
      read: store.read,
      trees: store.trees,
      write(command, value) {
        if (command === "gc.begin" && ++runs === 1) return Promise.reject(new GinError("STORE_CORRUPT", "injected"));
        return store.write(command, value);
      },
      close: () => store.close(),
    };
    const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + ahead };
    const collector = createCollector({ ...parts, store: refusing, clock, quotaBytes: 2 ** 30 });
    await expect(collector.tend()).rejects.toMatchObject({ reason: "STORE_CORRUPT" });
    await collector.tend();
    expect([runs, store.read.facts().collectedMs]).toEqual([1, 0]);
    ahead = 3_600_001;
    await collector.tend();
    expect([runs, store.read.facts().collectedMs > 0]).toEqual([2, true]);
    await collector.close();
  });

  it("ends between two slices when its caller gives up, and the next run does the rest", async () => {
    const { store, line } = await place();
    for (let round = 0; round < 30; round++) await line.save({ f: bytes(`${round}`, 9_000) }, { journal: [] });
    const collector = createCollector({ store, ...parts, quotaBytes: 2 ** 30 });
    const given = new AbortController();
    const cut = collector.collect({ dryRun: false, targetBytes: 0, signal: given.signal });
    const next = collector.collect({ dryRun: false, targetBytes: 0 });
    given.abort();
    await expect(cut).rejects.toMatchObject({ reason: "CANCELLED" });
    expect((await next).thinnedObjects).toBeGreaterThan(20);
    expect(holes(line)).toEqual([]);
    await collector.close();
  });
});

describe("gc", () => {
  it("removes nothing that anything names while history is within its quota", async () => {
    const { store, line, directory } = await place();
    for (let round = 0; round < 20; round++) await line.save({ "a/b": bytes(`${round}`, 3_000), [`c${round % 3}`]: `${round}` });
    await line.save({ "a/b": null });
    await settle(line);
    const report = await collect(store, limits());
    expect(report).toMatchObject({ unreachableObjects: 0, thinnedObjects: 0, removedCheckpoints: 0 });
    expect(holes(line)).toEqual([]);
    expect(store.read.workspace(line.rowid)?.keptFrom).toBe(0);
    expect(store.read.facts()).toMatchObject({ collectedMs: 10 * DAY });
    expect(checkIntegrity(directory, true).problems).toEqual([]);
  });

  it("removes contents and trees that nothing names, but young ones only when it is asked", async () => {
    const { store, line } = await place();
    const other = await Line.make(store, "ws_2");
    await line.save({ same: "same", mine: "mine" });
    await other.save({ same: "same", theirs: "theirs" });
    await store.write("objects", { objects: [{ sha256: sha("served"), bytes: Buffer.from("served") }] });
    await line.save({ last: "last" });
    await store.write("workspace.remove", { rowid: other.rowid });
    // Young: the first run with a grace notes how far contents go, the second finds them older than that.
    const careful = limits({ graceMs: DAY });
    expect(await collect(store, careful)).toMatchObject({ unreachableObjects: 0 });
    expect(await collect(store, { ...careful, nowMs: careful.nowMs + DAY / 2 })).toMatchObject({ unreachableObjects: 0 });
    expect(await collect(store, { ...careful, nowMs: careful.nowMs + DAY })).toMatchObject({ unreachableObjects: 2 });
    expect([sha("served"), sha("theirs"), sha("same"), sha("mine")].map((one) => store.read.hasObject(one))).toEqual([
      false,
      false,
      true,
      true,
    ]);
    await store.write("objects", { objects: [{ sha256: sha("served"), bytes: Buffer.from("served") }] });
    await store.write("objects", { objects: [{ sha256: sha("newest"), bytes: Buffer.from("newest") }] });
    expect(await collect(store, limits())).toMatchObject({ unreachableObjects: 1 });
    expect(holes(line)).toEqual([]);
  });

  it("thins the oldest generations first, to the target, and says from which on all is kept", async () => {
    const { store, line, directory } = await place();
    for (let round = 0; round < 60; round++) {
      await line.save({ file: bytes(`v${round}`, 20_000), [`once-${round}`]: bytes(`once ${round}`, 400) });
    }
    await settle(line);
    const dry = await collect(store, limits({ targetBytes: 600_000, dryRun: true }));
    expect(store.read.workspace(line.rowid)?.keptFrom).toBe(0);
    const report = await collect(store, limits({ targetBytes: 600_000 }));
    const { unreachableObjects, thinnedObjects, removedCheckpoints, beforeBytes, historyBeforeBytes } = dry;
    expect(report).toMatchObject({
      unreachableObjects,
      thinnedObjects,
      removedCheckpoints,
      beforeBytes,
      historyBeforeBytes,
    });
    expect(report.historyAfterBytes).toBeLessThanOrEqual(600_000);
    expect(Math.abs(report.historyAfterBytes - dry.historyAfterBytes)).toBeLessThan(150_000);
    const keptFrom = store.read.workspace(line.rowid)?.keptFrom ?? 0;
    // What replaced version n came with generation n + 1: versions before `kept_from` are gone, and those alone.
    expect(report.thinnedObjects).toBe(keptFrom - 1);
    expect(keptFrom).toBeGreaterThan(25);
    expect(keptFrom).toBeLessThan(50);
    for (let round = 0; round < 60; round++) {
      expect([round, store.read.hasObject(sha(bytes(`v${round}`, 20_000)))]).toEqual([round, round + 1 >= keptFrom]);
      expect(store.read.hasObject(sha(bytes(`once ${round}`, 400)))).toBe(true);
      expect(store.read.checkpointAt(line.rowid, round + 1)).toBeDefined();
    }
    expect(holes(line)).toEqual([]);
    expect(checkIntegrity(directory, true).problems).toEqual([]);
    // Nothing is left to do.
    expect(await collect(store, limits({ targetBytes: 600_000 }))).toMatchObject({ unreachableObjects: 0, thinnedObjects: 0 });
  });

  it("thins across workspaces by time, and keeps what another one still has", async () => {
    const { store, line } = await place();
    const other = await Line.make(store, "ws_2");
    const at = (timeMs: number) => ({ timeMs });
    for (let round = 0; round < 10; round++) {
      await line.save({ f: bytes(`one ${round}`, 30_000) }, {}, at(1000 + round * 10));
      await other.save({ f: bytes(`two ${round}`, 30_000), g: bytes(`one ${round}`, 30_000) }, {}, at(1005 + round * 10));
    }
    await other.save({ keep: bytes("one 0", 30_000) });
    await settle(line);
    await settle(other);
    await collect(store, limits({ targetBytes: 500_000 }));
    const [one, two] = [line, other].map(({ rowid }) => store.read.workspace(rowid)?.keptFrom ?? 0);
    expect(one).toBeGreaterThan(2);
    expect(Math.abs((one ?? 0) - (two ?? 0))).toBeLessThanOrEqual(1);
    expect(store.read.hasObject(sha(bytes("one 0", 30_000)))).toBe(true);
    expect(store.read.hasObject(sha(bytes("one 1", 30_000)))).toBe(false);
    expect([...holes(line), ...holes(other)]).toEqual([]);
  });

  it("keeps what the journal of an open save names, and everything a quota of nothing cannot take", async () => {
    const { store, line, directory } = await place();
    await line.save({ f: bytes("old", 5_000), same: "same" });
    await settle(line);
    await line.save({ f: bytes("new", 5_000) });
    const report = await collect(store, limits({ targetBytes: 0 }));
    expect(report.historyAfterBytes).toBeGreaterThan(0);
    expect(store.read.hasObject(sha(bytes("old", 5_000)))).toBe(true);
    await settle(line);
    await collect(store, limits({ targetBytes: 0 }));
    expect(store.read.hasObject(sha(bytes("old", 5_000)))).toBe(false);
    expect(store.read.workspace(line.rowid)?.keptFrom).toBe(2);
    expect(holes(line)).toEqual([]);
    await line.save({ f: "goes on" });
    expect(holes(line)).toEqual([]);
    expect(checkIntegrity(directory, true).problems).toEqual([]);
  });

  it("lets rows of checkpoints go by age and by count, but not the head's, the base's and annotated ones", async () => {
    const { store, line, directory } = await place();
    for (let round = 0; round < 50; round++) {
      const id = await line.save({ f: `${round}`, [`n${round}`]: "x" }, {}, { timeMs: round < 10 ? 1 : 20 * DAY + round });
      if (round === 4) {
        const made = { id: "an_1", workspace: line.rowid, checkpoint: id, principal: "alice", requestId: "r", thread: "an_1" };
        const annotation = { ...made, text: "kept", replyTo: "", corrects: "", evidenceId: "", timeMs: 1, seq: 0, anchors: [] };
        await store.write("annotation.write", { annotation });
      }
    }
    await settle(line);
    const old = await collect(store, limits({ nowMs: 100 * DAY }));
    expect(old.removedCheckpoints).toBe(9);
    const many = await collect(store, limits({ nowMs: 100 * DAY, checkpointCount: 30 }));
    expect(many.removedCheckpoints).toBe(10);
    const left = store.read.checkpoints({ workspace: line.rowid, limit: 100 }).map(({ generation }) => generation);
    expect(left).toEqual([...Array.from({ length: 30 }, (_, index) => 50 - index), 5]);
    expect(store.read.workspace(line.rowid)?.keptFrom).toBe(21);
    expect(store.read.touchesAfter(line.rowid, "f", 0, 100, 100).map(({ generation }) => generation)).toEqual([
      5,
      ...Array.from({ length: 30 }, (_, index) => 21 + index),
    ]);
    expect(store.read.hasObject(sha("3"))).toBe(false);
    expect(holes(line)).toEqual([]);
    expect(checkIntegrity(directory, true).problems).toEqual([]);
  });

  it("takes nothing of a workspace before its import is over, for the base names what was found first; its rows stay too", async () => {
    const { store, line, directory } = await place();
    const other = await Line.make(store, "ws_2");
    const imports = { cause: "import", principal: "", timeMs: 1 } as const;
    await line.save({ f: bytes("found", 9_000), g: "g" }, { journal: [] }, imports);
    for (let round = 0; round < 20; round++) {
      await line.save({ f: bytes(`v${round}`, 9_000) }, { journal: [] }, { timeMs: 1 });
      await other.save({ f: bytes(`w${round}`, 9_000) }, { journal: [] }, { timeMs: 1 });
    }
    const all = limits({ nowMs: 100 * DAY, checkpointCount: 3, targetBytes: 0 });
    await collect(store, all);
    const there = () => ["found", "v0", "v18", "w0", "w18"].map((name) => store.read.hasObject(sha(bytes(name, 9_000))));
    expect(there()).toEqual([true, true, true, false, false]);
    expect([line, other].map(({ rowid }) => store.read.workspace(rowid)?.keptFrom)).toEqual([0, 20]);
    expect(store.read.firstImported(line.rowid, "f")?.sha256).toBe(sha(bytes("found", 9_000)));
    expect([...holes(line), ...holes(other)]).toEqual([]);
    const base = { id: "ck_base", tree: store.read.checkpointAt(line.rowid, 1)?.tree ?? "", timeMs: 5 };
    const end = { workspace: line.rowid, epoch: line.epoch, base, nodes: [], counts: [], gitCommit: "" };
    expect(await store.write("workspace.imported", end)).toBe("done");
    await collect(store, all);
    expect(there()).toEqual([true, false, false, false, false]);
    expect(holes(line)).toEqual([]);
    expect(checkIntegrity(directory, true).problems).toEqual([]);
  });

  it("leaves the rows by which annotated lines are followed", async () => {
    const { store, line } = await place();
    const ids: string[] = [];
    for (let round = 1; round <= 40; round++) {
      const touched = [3, 5, 12].includes(round) ? { quiet: `${round}` } : { loud: `${round}` };
      ids.push(await line.save(touched as Record<string, string>, { journal: [] }, { timeMs: round < 30 ? 1 : 20 * DAY }));
    }
    const made = { id: "an_1", workspace: line.rowid, checkpoint: ids[4] ?? "", principal: "a", requestId: "r", thread: "an_1" };
    const anchors = [{ path: "quiet", startLine: 1, endLine: 1, sha256: sha("5"), text: "5" }];
    const annotation = { ...made, text: "why", replyTo: "", corrects: "", evidenceId: "", timeMs: 1, seq: 0, anchors };
    await store.write("annotation.write", { annotation });
    await collect(store, limits({ nowMs: 100 * DAY }));
    const left = store.read.checkpoints({ workspace: line.rowid, limit: 100 }).map(({ generation }) => generation);
    expect(left).toEqual([...Array.from({ length: 11 }, (_, index) => 40 - index), 12, 5]);
    expect(holes(line)).toEqual([]);
  });

  it("unlinks side segments that are empty and rewrites those that are nearly so", async () => {
    const { store, line, directory } = await place();
    const large = (name: string) => Buffer.alloc(9_000_000, Buffer.from(sha(name), "hex"));
    for (let round = 0; round < 9; round++)
      await line.save({ f: large(`v${round}`), ...(round === 3 ? { k: large("kept") } : {}) });
    await settle(line);
    const used = store.read.facts().bytes;
    const report = await collect(store, limits({ targetBytes: 0 }));
    expect(report.thinnedObjects).toBe(8);
    expect(store.read.facts().bytes).toBeLessThan(used - 7 * 9_000_000 + 1_000_000);
    expect(holes(line)).toEqual([]);
    const held = readdirSync(join(directory, "side")).length;
    expect(held).toBeLessThanOrEqual(3);
    for (let round = 0; round < 9; round++) await line.save({ f: large(`w${round}`) });
    await settle(line);
    await collect(store, limits({ targetBytes: 0 }));
    expect(holes(line)).toEqual([]);
    expect(existsSync(join(directory, "side", "000001.seg"))).toBe(false);
    expect(checkIntegrity(directory, true).problems).toEqual([]);
    await store.close();
    const again = await opened({ directory });
    const back = new Line(again, line.rowid);
    back.refresh();
    await back.save({ more: large("more") });
    expect(holes(back)).toEqual([]);
  });

  it("unlinks nothing that a backup still copies, and the backup is whole", async () => {
    const { store, line, directory } = await place();
    const large = (name: string) => Buffer.alloc(9_000_000, Buffer.from(sha(name), "hex"));
    for (let round = 0; round < 9; round++) await line.save({ f: large(`v${round}`), [`s${round}`]: bytes(`${round}`, 50_000) });
    await settle(line);
    const copy = join(directory, "..", "copy");
    const phases: string[] = [];
    const copying = store.write("backup", { directory: copy });
    const collecting = collect(store, limits({ targetBytes: 0 }), async (_, phase) => {
      phases.push(phase);
      await new Promise((resolve) => setImmediate(resolve));
    });
    await copying;
    await collecting;
    expect(phases).toContain("wait");
    expect(holes(line)).toEqual([]);
    expect(checkIntegrity(directory, true).problems).toEqual([]);
    expect(checkIntegrity(copy, true).problems).toEqual([]);
    expect(existsSync(join(directory, "side", "000001.seg"))).toBe(false);
  });

  it("refuses a save that counts on a content gc took after it was planned, and takes it when it is planned anew", async () => {
    const { store, line } = await place();
    await line.save({ f: "one" });
    await line.save({ f: "two" });
    await settle(line);
    const planned = counting(store, line.plan({ f: "one" }));
    expect(planned.counts).toEqual([sha("one")]);
    await collect(store, limits({ targetBytes: 0 }));
    expect(store.read.hasObject(sha("one"))).toBe(false);
    expect(await line.commit(planned)).toEqual(["missing"]);
    expect(line.generation).toBe(2);
    expect(await line.commit(counting(store, line.plan({ f: "one" })))).toEqual(["committed"]);
    expect(holes(line)).toEqual([]);
  });

  it("looks into a directory that was changed and changed back before gc came to it", async () => {
    const { store, line } = await place();
    await line.save({ "d/f": "as it was", "d/untouched": "only here" }, { journal: [] });
    // The newest rows always stay: these shall not be they.
    await line.save({ z: "newer" }, { journal: [] });
    await store.write("gc.begin", limits({ targetBytes: 0 }));
    await line.save({ "d/f": "changed" }, { journal: [] });
    await line.save({ "d/f": "as it was" }, { journal: [] });
    for (let phase = ""; phase !== "done"; ) ({ phase } = await store.write("gc.step", { durable: false }));
    expect(store.read.hasObject(sha("only here"))).toBe(true);
    expect(holes(line)).toEqual([]);
  });

  it("takes nothing that saves between its slices came to need: random saves, reverts and plans held back", async () => {
    const random = chance("gc-race");
    for (let history = 0; history < scaled(4); history++) {
      const { store, line, directory } = await place();
      const paths = Array.from({ length: 30 }, (_, index) => (index % 3 === 0 ? `d${index % 5}/f${index}` : `f${index}`));
      const contents = Array.from({ length: 40 }, (_, index) => bytes(`${history} ${index}`, 200 + index * 300));
      const plan = () => {
        const change: Record<string, Uint8Array | null> = {};
        for (let count = 1 + random.int(4); count > 0; count--)
          change[random.pick(paths)] = random.maybe(0.15) ? null : random.pick(contents);
        return counting(store, line.plan(change));
      };
      let held = plan();
      const saves = async (most: number) => {
        for (let count = random.int(most + 1); count > 0; count--) {
          const [result] = await line.commit(held);
          expect(["committed", "missing"]).toContain(result);
          if (random.maybe(0.7)) await settle(line);
          held = plan();
        }
      };
      await saves(60);
      for (let run = 0; run < 4; run++) {
        await collect(
          store,
          limits({ targetBytes: random.int(300_000), checkpointCount: 5 + random.int(60), slicePieces: 1 + random.int(40) }),
          async () => {
            if (random.maybe(0.4)) await saves(2);
          },
        );
        expect([`seed ${random.seed}`, ...holes(line)]).toEqual([`seed ${random.seed}`]);
        expect(checkIntegrity(directory, true).problems).toEqual([]);
      }
      await store.close();
    }
  });
});
