import { describe, expect, test } from "vitest";
import type { RequestRow } from "../../../src/daemon/store/index.ts";
import { fenceOf, openDesk, refusal } from "./setup.ts";

describe("granting", () => {
  test("the epoch and the request's row are in the store when the grant is answered, and epochs only grow", async () => {
    const desk = await openDesk(true);
    const request = (lease: { readonly id: string }): RequestRow => ({
      ...{ scope: desk.workspace, principal: "ann", id: "r-1", operation: "AcquireLease", digest: "00".repeat(32) },
      ...{ outcome: "committed", answer: Buffer.from(lease.id), timeMs: 1 },
    });
    const first = await desk.acquire(["src/b", "src/a", "src/a/deep"], { request, intent: "tidy up" });
    expect(first).toEqual({
      ...{ id: first.id, holder: "ann", intent: "tidy up", paths: ["src/a", "src/b"] },
      ...{ leaseIncarnation: "li_first", leaseEpoch: 1, remainingMs: 60_000, ttlMs: 60_000 },
    });
    expect(desk.store.read.lease(first.id)).toMatchObject({ epoch: 1, state: "held", paths: ["src/a", "src/b"] });
    expect(desk.store.read.workspace(desk.workspace)?.leaseEpoch).toBe(1);
    expect(Buffer.from(desk.store.read.request(desk.workspace, "ann", "r-1")?.answer ?? []).toString()).toBe(first.id);
    expect(await desk.leases.release(desk.workspace, first.id, fenceOf(first))).toBe(true);
    const both = await Promise.all([desk.acquire(["src"]), desk.acquire(["docs"])]);
    expect(both.map((lease) => lease.leaseEpoch)).toEqual([2, 3]);
    desk.restart();
    expect((await desk.acquire(["test"])).leaseEpoch).toBe(4);
  });

  test("overlapping scopes exclude each other, whoever asks; the refusal says who, why and how long", async () => {
    const desk = await openDesk();
    const held = await desk.acquire(["src"], { intent: "rename things" });
    desk.clock.advance(10_000.5);
    for (const paths of [["src"], ["src/deep/er"], [], ["docs", "src/x"]]) {
      const { reason, facts } = await refusal(() => desk.acquire(paths));
      expect(reason).toBe("LEASE_HELD");
      expect(facts).toEqual({ lease_id: held.id, holder: "ann", intent: "rename things", remaining_ms: "50000", paths: ["src"] });
    }
    expect((await desk.acquire(["srcs"])).paths).toEqual(["srcs"]);
    expect(desk.leases.list(desk.workspace).map((lease) => lease.remainingMs)).toEqual([50_000, 60_000]);
  });

  test("limits are checked here too", async () => {
    const desk = await openDesk();
    for (const more of [{ ttlMs: 4_999 }, { ttlMs: 3_600_001 }, { ttlMs: Number.NaN }, { waitMs: 60_001 }, { waitMs: -1 }]) {
      expect((await refusal(() => desk.acquire(["a"], more))).reason).toBe("INVALID_REQUEST");
    }
    expect((await desk.acquire(["a"], { ttlMs: 5_000 })).ttlMs).toBe(5_000);
    expect((await desk.acquire(["b"], { ttlMs: 3_600_000 })).ttlMs).toBe(3_600_000);
    expect(
      (
        await refusal(() =>
          desk.leases.acquire({ workspace: 99, principal: "a", paths: [], ttlMs: 5_000, intent: "", waitMs: 0 }),
        )
      ).reason,
    ).toBe("WORKSPACE_NOT_FOUND");
  });

  test("a grant the store refuses leaves nothing held", async () => {
    const desk = await openDesk();
    const taken: RequestRow = {
      ...{ scope: desk.workspace, principal: "ann", id: "r-1", operation: "Save", digest: "00".repeat(32) },
      ...{ outcome: "committed", answer: Buffer.alloc(0), timeMs: 1 },
    };
    await desk.store.write("request", taken);
    await expect(desk.acquire(["a"], { request: () => taken })).rejects.toThrow();
    expect(desk.leases.list(desk.workspace)).toEqual([]);
    expect((await desk.acquire(["a"])).leaseEpoch).toBe(1);
  });
});

describe("the end of a lease", () => {
  test("expiry is judged at the look, to the millisecond, and frees those in line by timer", async () => {
    const desk = await openDesk();
    const lease = await desk.acquire(["a"], { ttlMs: 5_000 });
    desk.clock.advance(4_999);
    expect(desk.leases.find(lease.id)?.remainingMs).toBe(1);
    const next = desk.acquire(["a"], { principal: "ben", waitMs: 10 });
    desk.clock.advance(1);
    expect(desk.leases.find(lease.id)).toBeUndefined();
    expect((await next).holder).toBe("ben");
    await desk.settled();
    expect(desk.store.read.lease(lease.id)?.state).toBe("ended");
  });

  test("renewal keeps the epoch and gives the whole ttl, or a new one", async () => {
    const desk = await openDesk();
    const lease = await desk.acquire(["a"], { ttlMs: 5_000 });
    desk.clock.advance(4_000);
    expect(desk.leases.renew(desk.workspace, lease.id, fenceOf(lease))).toEqual({ ...lease, remainingMs: 5_000 });
    desk.clock.advance(4_000);
    expect(desk.leases.renew(desk.workspace, lease.id, fenceOf(lease), 8_000)).toEqual({
      ...lease,
      ttlMs: 8_000,
      remainingMs: 8_000,
    });
    expect((await refusal(() => desk.leases.renew(desk.workspace, lease.id, fenceOf(lease), 4_999))).reason).toBe(
      "INVALID_REQUEST",
    );
    desk.clock.advance(8_000);
    expect((await refusal(() => desk.leases.renew(desk.workspace, lease.id, fenceOf(lease)))).reason).toBe("LEASE_EXPIRED");
    await desk.acquire(["a/b"]);
    expect((await refusal(() => desk.leases.renew(desk.workspace, lease.id, fenceOf(lease)))).reason).toBe("FENCE_SUPERSEDED");
    expect((await refusal(() => desk.leases.renew(desk.workspace, "ls_none", fenceOf(lease)))).reason).toBe("ID_NOT_FOUND");
  });

  test("a clean release frees at once; a second one says it was over; nobody releases another's", async () => {
    const desk = await openDesk();
    const [lease, other] = [await desk.acquire(["a"]), await desk.acquire(["b"])];
    expect((await refusal(() => desk.leases.release(desk.workspace, lease.id, fenceOf(other)))).reason).toBe("LEASE_HELD");
    const released = desk.leases.release(desk.workspace, lease.id, fenceOf(lease));
    expect(desk.leases.list(desk.workspace).map(({ id }) => id)).toEqual([other.id]);
    expect(await released).toBe(true);
    expect(await desk.leases.release(desk.workspace, lease.id, fenceOf(lease))).toBe(false);
    expect(await desk.leases.release(desk.workspace, other.id, { ...fenceOf(other), leaseIncarnation: "li_other" })).toBe(false);
    expect((await refusal(() => desk.leases.release(desk.workspace, "ls_none", fenceOf(lease)))).reason).toBe("ID_NOT_FOUND");
    expect(desk.leases.find(other.id)).toBeDefined();
  });

  test("breaking ends it in the store before it is answered, for a save under way too", async () => {
    const desk = await openDesk();
    const lease = await desk.acquire(["a"]);
    const check = desk.leases.judge(desk.workspace, "ann", ["a"], fenceOf(lease), true);
    expect((await desk.leases.breakLease(desk.workspace, lease.id)).id).toBe(lease.id);
    expect(await desk.commit(check)).toBe("fence");
    expect((await refusal(() => desk.leases.judge(desk.workspace, "ann", ["a"], fenceOf(lease), true))).reason).toBe(
      "LEASE_EXPIRED",
    );
    expect((await refusal(() => desk.leases.breakLease(desk.workspace, lease.id))).reason).toBe("ID_NOT_FOUND");
    expect((await refusal(() => desk.leases.breakLease(desk.workspace, "ls_none"))).reason).toBe("ID_NOT_FOUND");
  });

  test("after a restart an unreleased lease has its whole ttl anew, an ended one stays ended", async () => {
    const desk = await openDesk();
    const [lease, gone] = [await desk.acquire(["a"]), await desk.acquire(["b"])];
    await desk.leases.release(desk.workspace, gone.id, fenceOf(gone));
    desk.clock.advance(59_999);
    desk.restart();
    expect(desk.leases.list(desk.workspace)).toEqual([lease]);
    expect(desk.leases.judge(desk.workspace, "ann", ["a"], fenceOf(lease), true)).toEqual({ leaseId: lease.id, leaseEpoch: 1 });
    desk.clock.advance(60_000);
    expect(desk.leases.list(desk.workspace)).toEqual([]);
  });

  test("a store that was copied or restored ends all leases under another incarnation", async () => {
    const desk = await openDesk();
    const lease = await desk.acquire(["a"]);
    await desk.store.write("takeover", {
      machine: "m2",
      hostIdentity: "h2",
      incarnations: ["in_2"],
      leaseIncarnation: "li_second",
    });
    desk.restart();
    expect(desk.leases.incarnation).toBe("li_second");
    expect((await refusal(() => desk.leases.judge(desk.workspace, "ann", ["a"], fenceOf(lease), true))).reason).toBe(
      "FENCE_SUPERSEDED",
    );
    expect((await desk.acquire(["a"])).leaseEpoch).toBe(2);
  });

  test("unloading forgets leases and timers but keeps their rows; listeners hear of grants, ends and the unloading", async () => {
    const desk = await openDesk();
    const heard: number[] = [];
    const stop = desk.leases.onChange((workspace) => heard.push(workspace));
    const lease = await desk.acquire(["a"]);
    const waiting = refusal(() => desk.acquire(["a"], { waitMs: 1_000 }));
    expect(heard).toEqual([desk.workspace]);
    desk.leases.unload(desk.workspace);
    expect((await waiting).reason).toBe("BUSY");
    expect(desk.clock.timers()).toBe(0);
    expect(desk.leases.list(desk.workspace)).toEqual([]);
    desk.leases.load(desk.workspace);
    expect(desk.leases.find(lease.id)?.remainingMs).toBe(60_000);
    await desk.leases.release(desk.workspace, lease.id, fenceOf(lease));
    expect(heard).toEqual([desk.workspace, desk.workspace, desk.workspace]);
    stop();
    await desk.acquire(["a"]);
    expect(heard.length).toBe(3);
  });
});
