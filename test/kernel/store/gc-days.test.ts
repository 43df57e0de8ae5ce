import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/daemon/base/index.ts";
import {
  checkIntegrity,
  createCollector,
  type NewCheckpoint,
  type NewObject,
  openStore,
  type Store,
} from "../../../src/daemon/store/index.ts";
import { chance } from "../../helpers/random.ts";
import { scaled } from "../../helpers/scale.ts";
import { atTeardown } from "../../helpers/teardown.ts";
import { collect, DAY, holes, limits } from "../../unit/store/gc-model.ts";
import { file, Line } from "../../unit/store/line.ts";
import { fastTemp, openSite, quiet, saveInput } from "../workspace/site.ts";

function fastDir(): string {
  const directory = mkdtempSync(join(fastTemp, "gin-gc-"));
  atTeardown(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Bytes that do not compress and that a name stands for. */
function bytes(name: string, length: number): Buffer {
  return createHash("shake256", { outputLength: length }).update(name).digest();
}

const sha = (content: Uint8Array): string => createHash("sha256").update(content).digest("hex");

function collectorOf(store: Store, quotaBytes: number) {
  const more = { checkpointMs: 100_000 * DAY, checkpointCount: 100_000, readersMs: 0 };
  return createCollector({ store, clock: systemClock, log: quiet, quotaBytes, ...more });
}

/** That many checkpoints of one file in one commit, as an engine that batches would write them; some other files beside it. */
async function manyChanges(line: Line, round: number, count: number): Promise<void> {
  const { store, rowid } = line;
  const checkpoints: NewCheckpoint[] = [];
  const objects: NewObject[] = [];
  const pending = new Map<string, Uint8Array>();
  let { tree, head } = line;
  for (let index = 0; index < count; index++) {
    const content = Buffer.from(`change ${round} ${index}\n`);
    const before = checkpoints.at(-1)?.paths[0]?.after ?? store.trees.get(line.tree, "src/hot.txt");
    const paths = [{ path: "src/hot.txt", before, after: file(content) }];
    if (index === 0) paths.push({ path: `f${round}`, before: null, after: file(content) });
    objects.push({ sha256: sha(content), bytes: content });
    const changed = store.trees.change(tree, paths, pending);
    for (const { hash, data } of changed.nodes) pending.set(hash, data);
    tree = changed.root;
    const generation = line.generation + index + 1;
    const same = { workspace: rowid, cause: "save", principal: "alice", requestId: "", message: "", timeMs: generation } as const;
    checkpoints.push({ ...same, id: `ck_${generation}`, parents: head === "" ? [] : [head], generation, tree, paths });
    head = `ck_${generation}`;
  }
  const nodes = [...pending].map(([hash, data]) => ({ hash, data }));
  const { generation, epoch } = line;
  expect(await line.commit({ workspace: rowid, generation, epoch, checkpoints, objects, nodes, journal: [] })).toEqual([
    "committed",
  ]);
}

describe("gc on a bad day", () => {
  it("runs beside four clients that save old contents again, and takes nothing of theirs", { timeout: 180_000 }, async () => {
    const random = chance("gc-clients");
    const directory = fastDir();
    const store = await openStore({ directory: join(directory, "data") });
    const site = await openSite(directory, { store });
    const collector = collectorOf(store, 2 ** 20);
    const pool = Array.from({ length: 25 }, (_, index) => bytes(`${index}`, 2_000 + index * 1_500));
    const saves = scaled(200);
    let running = 4;
    const client = async (name: number): Promise<void> => {
      let stands: Buffer | undefined;
      for (let round = 0; round < saves; round++) {
        const content = random.pick(pool);
        const expect = stands === undefined ? "absent" : sha(stands);
        await site.workspace.save(saveInput(site, `${name}-${round}`, [{ path: `f${name}`, expect, content }]));
        stands = content;
      }
      running--;
      if (stands !== undefined) expect(sha(readFileSync(join(directory, "ws", `f${name}`)))).toBe(sha(stands));
    };
    let runs = 0;
    const keepCollecting = async (): Promise<void> => {
      for (; running > 0; runs++) await collector.collect({ dryRun: false, targetBytes: 0 });
    };
    await Promise.all([...[0, 1, 2, 3].map(client), keepCollecting()]);
    console.log(`gc ran ${runs} times beside ${4 * saves} saves`);
    expect(runs).toBeGreaterThan(1);
    const line = new Line(store, site.workspace.rowid);
    line.refresh();
    expect(line.generation).toBeGreaterThan(saves);
    expect([`seed ${random.seed}`, ...holes(line)]).toEqual([`seed ${random.seed}`]);
    await collector.close();
    await site.close();
    expect(checkIntegrity(join(directory, "data"), true).problems).toEqual([]);
  });

  it("holds a quota that is filled a hundred times over; the present and the recent past stay whole", {
    timeout: 300_000,
  }, async () => {
    const directory = fastDir();
    const data = join(directory, "data");
    const site = await openSite(directory);
    const { store } = site;
    const quota = 2 ** 20;
    const collector = collectorOf(store, quota);
    let written = 0;
    let largest = 0;
    const stands = new Map<string, Buffer>();
    for (let round = 0; written < 100 * quota; round++) {
      const path = `d${round % 7}/f${round % 20}`;
      const content = bytes(`${round}`, 100_000);
      const before = stands.get(path);
      await site.workspace.save(
        saveInput(site, `r-${round}`, [{ path, expect: before === undefined ? "absent" : sha(before), content }]),
      );
      stands.set(path, content);
      written += content.length;
      if (round % 25 !== 24) continue;
      await collector.tend();
      const { bytes: used, neededBytes } = store.read.facts();
      largest = Math.max(largest, used);
      expect(used - neededBytes).toBeLessThan(quota * 1.5);
    }
    await collector.tend();
    // Saves that are not synced yet keep what they replaced.
    const journal = 64 * 100_000;
    const live = [...stands.values()].reduce((sum, content) => sum + content.length, 0);
    console.log(`wrote ${written} bytes under a quota of ${quota}: ${live} stand, the store was ${largest} at most`);
    expect(largest).toBeLessThan(live * 1.3 + journal + quota * 2);
    // The file itself, not only its used pages: the free ones were given back.
    expect(statSync(join(data, "store.db")).size).toBeLessThan(live * 1.3 + journal + quota * 6);
    const line = new Line(store, site.workspace.rowid);
    line.refresh();
    const { keptFrom = 0 } = store.read.workspace(line.rowid) ?? {};
    expect(line.generation - keptFrom).toBeGreaterThan(5);
    expect(holes(line)).toEqual([]);
    for (const [path, content] of stands) {
      const state = store.trees.get(line.tree, path);
      expect(sha(store.read.object(state?.sha256 ?? "") ?? Buffer.alloc(0))).toBe(sha(content));
    }
    await collector.close();
    await site.close();
    expect(checkIntegrity(data, true).problems).toEqual([]);
  });

  it("copes with a file that was changed 10,000 times, in slices that are short", { timeout: 300_000 }, async () => {
    const directory = fastDir();
    const store = await openStore({ directory: join(directory, "data"), inline: true });
    atTeardown(() => store.close());
    const line = await Line.make(store);
    for (let round = 0; round < 100; round++) await manyChanges(line, round, 100);
    expect(line.generation).toBe(10_000);
    const longest = new Map<string, number>();
    let begun = process.cpuUsage();
    await collect(store, limits({ targetBytes: 8_000_000 }), async (_, phase) => {
      const { user, system } = process.cpuUsage(begun);
      longest.set(phase, Math.max(longest.get(phase) ?? 0, (user + system) / 1_000));
      begun = process.cpuUsage();
    });
    console.log("the longest slices in ms of processor time:", Object.fromEntries(longest));
    // Goal some 10 ms. Not by the wall clock: others use this machine too.
    expect(Math.max(...longest.values())).toBeLessThan(150);
    expect(holes(line)).toEqual([]);
    const collector = collectorOf(store, 2 ** 31);
    const report = await collector.collect({ dryRun: false, targetBytes: 3_000_000 });
    expect(report.historyAfterBytes).toBeLessThanOrEqual(3_000_000);
    expect(holes(line)).toEqual([]);
    const { keptFrom = 0 } = store.read.workspace(line.rowid) ?? {};
    expect(line.generation - keptFrom).toBeGreaterThan(300);
    await line.save({ "src/hot.txt": "and on" }, { journal: [] });
    expect(holes(line)).toEqual([]);
    expect(checkIntegrity(join(directory, "data"), true).problems).toEqual([]);
  });
});
