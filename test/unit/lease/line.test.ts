import { describe, expect, test } from "vitest";
import type { AcquireInput, Lease } from "../../../src/daemon/lease/index.ts";
import { type Desk, fenceOf, openDesk, refusal } from "./setup.ts";

/** Joins the line and notes in `order` when it is granted. */
function joining(desk: Desk, order: string[]) {
  return (name: string, paths: readonly string[], more: Partial<AcquireInput> = {}): Promise<Lease> => {
    const lease = desk.acquire(paths, { principal: name, waitMs: 60_000, ...more });
    lease.then(
      () => order.push(name),
      () => order.push(`${name} refused`),
    );
    return lease;
  };
}

describe("the line", () => {
  test("first come, first served; all paths or none; disjoint work passes; nobody is overtaken by what it waits for", async () => {
    const desk = await openDesk();
    const order: string[] = [];
    const join = joining(desk, order);
    const release = (lease: Lease) => desk.leases.release(desk.workspace, lease.id, fenceOf(lease));
    const a = await join("a", ["a"]);
    const b = await join("b", ["b"]);
    const both = join("both", ["a", "b"]);
    const late = join("late", ["b/x"]);
    const aside = await join("aside", ["c"]);
    expect(order).toEqual(["a", "b", "aside"]);
    // b is free now, but it is promised to "both", who came before "late" and still lacks a.
    await release(b);
    await desk.settled();
    expect(order).toEqual(["a", "b", "aside"]);
    // One that will not wait does not slip in either.
    expect((await refusal(() => desk.acquire(["b"]))).facts).toMatchObject({ holder: "both" });
    await release(a);
    await release(await both);
    await late;
    expect(order).toEqual(["a", "b", "aside", "both", "late"]);
    expect([a, b, aside, await both, await late].map((lease) => lease.leaseEpoch)).toEqual([1, 2, 3, 4, 5]);
  });

  test("nobody starves: one who wants everything is served while small leases come and go without end", async () => {
    const desk = await openDesk();
    const order: string[] = [];
    const join = joining(desk, order);
    let current = await join("first", ["a"]);
    const whole = join("whole", []);
    const small = Array.from({ length: 20 }, (_, n) => join(`small ${n}`, [n % 2 === 0 ? "a" : "b"]));
    await desk.leases.release(desk.workspace, current.id, fenceOf(current));
    current = await whole;
    expect(order).toEqual(["first", "whole"]);
    await desk.leases.release(desk.workspace, current.id, fenceOf(current));
    for (const lease of small) {
      current = await lease;
      await desk.leases.release(desk.workspace, current.id, fenceOf(current));
    }
    expect(order.filter((name) => name.startsWith("small")).length).toBe(20);
  });

  test("the wait ends at its deadline with LEASE_HELD, and whoever it kept back goes ahead", async () => {
    const desk = await openDesk();
    const order: string[] = [];
    const join = joining(desk, order);
    const held = await join("held", ["a"]);
    const impatient = refusal(() => join("impatient", ["a", "b"], { waitMs: 1_000 }));
    const behind = join("behind", ["b"]);
    desk.clock.advance(999);
    await desk.settled();
    expect(order).toEqual(["held"]);
    desk.clock.advance(1);
    expect(await impatient).toMatchObject({ reason: "LEASE_HELD", facts: { lease_id: held.id, remaining_ms: "59000" } });
    expect((await behind).paths).toEqual(["b"]);
    expect(desk.clock.timers()).toBe(1);
  });

  test("a cancelled wait is CANCELLED and lets those behind go ahead; once the grant is being written it stands", async () => {
    const desk = await openDesk(true);
    const order: string[] = [];
    const join = joining(desk, order);
    await join("held", ["a"]);
    const [stop, late] = [new AbortController(), new AbortController()];
    const cancelled = refusal(() => join("cancelled", ["a", "b"], { signal: stop.signal }));
    const behind = join("behind", ["b"], { signal: late.signal });
    stop.abort();
    expect((await cancelled).reason).toBe("CANCELLED");
    late.abort();
    expect((await behind).holder).toBe("behind");
    expect((await refusal(() => join("never", ["z"], { signal: AbortSignal.abort() }))).reason).toBe("CANCELLED");
  });

  test("a lease that expires passes to the next in line, again and again", async () => {
    const desk = await openDesk();
    const order: string[] = [];
    const join = joining(desk, order);
    const leases = ["1", "2", "3", "4"].map((name) => join(name, [], { ttlMs: 5_000 }));
    for (const lease of leases) {
      await lease;
      desk.clock.advance(5_000);
    }
    await desk.settled();
    expect(order).toEqual(["1", "2", "3", "4"]);
    expect(desk.leases.list(desk.workspace)).toEqual([]);
    expect(desk.clock.timers()).toBe(0);
  });

  test("a workspace closed while a grant is written: the grant stands in the store and is found when it is opened again", async () => {
    const desk = await openDesk(true);
    const granting = desk.acquire(["a"]);
    desk.leases.unload(desk.workspace);
    const lease = await granting;
    expect(desk.clock.timers()).toBe(0);
    desk.leases.load(desk.workspace);
    expect(desk.leases.list(desk.workspace)).toEqual([lease]);
  });

  test("a workspace closed and opened while a grant is written goes on with the next epoch", async () => {
    const desk = await openDesk(true);
    const granting = desk.acquire(["a"]);
    desk.leases.unload(desk.workspace);
    desk.leases.load(desk.workspace);
    const [first, second] = await Promise.all([granting, desk.acquire(["b"])]);
    expect([first.leaseEpoch, second.leaseEpoch]).toEqual([1, 2]);
  });
});
