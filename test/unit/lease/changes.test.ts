import { expect, test } from "vitest";
import { systemRandom } from "../../../src/daemon/base/index.ts";
import { createLeases, type Lease } from "../../../src/daemon/lease/index.ts";
import { fenceOf, openDesk } from "./setup.ts";

test("each beginning and end is noted once, in order, with the lease as it was; a renewal and a restart are no change", async () => {
  const desk = await openDesk();
  const { changes } = desk.leases;
  expect([changes.newest, changes.after(desk.workspace, 0, 10)]).toEqual([0, []]);
  const released = await desk.acquire(["a"], { intent: "first" });
  desk.leases.renew(desk.workspace, released.id, fenceOf(released));
  await desk.leases.release(desk.workspace, released.id, fenceOf(released));
  const expired = await desk.acquire(["a"], { ttlMs: 5_000 });
  desk.clock.advance(5_000);
  const broken = await desk.acquire(["b"], { principal: "bob" });
  await desk.leases.breakLease(desk.workspace, broken.id);
  const noted = changes.after(desk.workspace, 0, 10) ?? [];
  expect(noted.map(({ seq, change, lease }) => [seq, change, lease.id, lease.holder])).toEqual([
    [1, "granted", released.id, "ann"],
    [2, "released", released.id, "ann"],
    [3, "granted", expired.id, "ann"],
    [4, "expired", expired.id, "ann"],
    [5, "granted", broken.id, "bob"],
    [6, "broken", broken.id, "bob"],
  ]);
  expect(noted[3]?.lease.remainingMs).toBe(0);
  expect(changes.after(desk.workspace, 2, 2)?.map(({ seq }) => seq)).toEqual([3, 4]);
  expect(changes.after(desk.workspace, 6, 10)).toEqual([]);
  expect(changes.after(desk.workspace, 7, 10)).toBeUndefined();

  await desk.acquire(["c"]);
  desk.restart();
  expect([desk.leases.changes.newest, desk.leases.list(desk.workspace).length]).toEqual([0, 1]);
  expect(desk.leases.changes.life).not.toBe(changes.life);
});

test("only the newest are kept: whoever is further back is told so, and others' workspaces do not push them out", async () => {
  const desk = await openDesk();
  desk.leases.close();
  desk.leases = createLeases({ store: desk.store, clock: desk.clock, random: systemRandom, changesKept: 4 });
  desk.leases.load(desk.workspace);
  const names = { id: "ws_2", name: "two", repository: "rp_1", repositoryName: "one" };
  const row = { ...names, root: "other", device: "1", inode: "2", incarnation: "in_2", tree: desk.store.trees.empty };
  const { rowid: other } = await desk.store.write("workspace.create", { row });
  desk.leases.load(other);
  const quiet = await desk.acquire(["a"], { workspace: other });
  const turns: Lease[] = [];
  for (let turn = 0; turn < 6; turn += 1) {
    const lease = await desk.acquire(["a"]);
    await desk.leases.release(desk.workspace, lease.id, fenceOf(lease));
    turns.push(lease);
  }
  const { changes } = desk.leases;
  // 13 in all: the 12 of the busy workspace were cut to 4 twice, at the 8th and at the 12th.
  expect(changes.newest).toBe(13);
  expect(changes.after(desk.workspace, 8, 10)).toBeUndefined();
  expect(changes.after(desk.workspace, 9, 10)?.map(({ seq, lease }) => [seq, lease.id])).toEqual([
    [10, turns[4]?.id],
    [11, turns[4]?.id],
    [12, turns[5]?.id],
    [13, turns[5]?.id],
  ]);
  expect(changes.after(other, 0, 10)?.map(({ lease }) => lease.id)).toEqual([quiet.id]);
});
