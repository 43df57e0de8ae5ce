import { describe, expect, test } from "vitest";
import { fenceOf, openDesk, refusal } from "./setup.ts";

describe("judging a write", () => {
  test("without a fence: free paths pass, a required lease is required first, a held path is refused to its own holder too", async () => {
    const { leases, workspace, acquire } = await openDesk();
    expect(leases.judge(workspace, "ann", ["a", "b"], undefined, false)).toBeUndefined();
    const lease = await acquire(["a/x"], { intent: "mine" });
    expect(leases.judge(workspace, "ben", ["a/xy", "b"], undefined, false)).toBeUndefined();
    for (const path of ["a/x", "a/x/y", "a"]) {
      const { reason, facts } = await refusal(() => leases.judge(workspace, "ann", ["b", path], undefined, false));
      expect(reason).toBe("LEASE_HELD");
      expect(facts).toEqual({ lease_id: lease.id, holder: "ann", intent: "mine", remaining_ms: "60000", paths: ["a/x"] });
    }
    expect((await refusal(() => leases.judge(workspace, "ann", ["a/x"], undefined, true))).reason).toBe("LEASE_REQUIRED");
  });

  test("LEASE_HELD says what is covered and by whom, in one sentence whatever the scope", async () => {
    for (const [scope, words] of [
      [["a/x"], "a/x is"],
      [["a", "b", "c"], "a and 2 more are"],
      [[], "the whole workspace is"],
    ] as const) {
      const { leases, workspace, acquire } = await openDesk();
      const lease = await acquire([...scope]);
      const { message } = await refusal(() => leases.judge(workspace, "ben", ["a/x/y"], undefined, false));
      expect(message).toBe(`${words} under ${lease.id} of ann`);
    }
  });

  test("LEASE_REQUIRED carries the acquire call as it is to be made", async () => {
    const { leases, workspace } = await openDesk();
    const refused = await refusal(() => leases.judge(workspace, "ann", ["src/a/x", "src/a/y", "docs/z"], undefined, true));
    expect(refused.facts).toEqual({ paths: ["src/a/x", "src/a/y", "docs/z"] });
    expect(refused.nextCall).toEqual({
      acquire_lease: {
        ...{ repository: "rp_1", workspace: "ws_1", request_id: expect.stringMatching(/^rq_[0-9a-v]{20}$/) },
        ...{ paths: ["docs/z", "src/a"], ttl_ms: "600000" },
      },
    });
  });

  test("a current fence passes and renews, for whoever carries it", async () => {
    const { leases, workspace, acquire, clock } = await openDesk();
    const lease = await acquire(["a", "b"], { ttlMs: 5_000 });
    for (let n = 0; n < 5; n += 1) {
      clock.advance(4_999);
      expect(leases.judge(workspace, "somebody", ["a/1", "b"], fenceOf(lease), n % 2 === 0)).toEqual({
        leaseId: lease.id,
        leaseEpoch: 1,
      });
      expect(leases.find(lease.id)).toEqual({ ...lease, remainingMs: 5_000 });
    }
  });

  test("every path must lie in the lease's scope, required or not; the call proposed covers all of them", async () => {
    const { leases, workspace, acquire } = await openDesk();
    const lease = await acquire(["a"]);
    const refused = await refusal(() => leases.judge(workspace, "ann", ["a/1", "ab", "c/d"], fenceOf(lease), false));
    expect(refused.reason).toBe("LEASE_REQUIRED");
    expect(refused.facts).toEqual({ paths: ["ab", "c/d"] });
    expect(refused.nextCall).toMatchObject({ acquire_lease: { paths: ["a/1", "ab", "c/d"] } });
  });

  test("precedence: required, superseded, expired, held", async () => {
    const { leases, workspace, acquire, clock, settled } = await openDesk();
    const reason = async (paths: string[], fence: Parameters<typeof leases.judge>[3], required = true) =>
      (await refusal(() => leases.judge(workspace, "ann", paths, fence, required))).reason;
    const old = await acquire(["a", "b"], { ttlMs: 5_000 });
    expect(await reason(["a"], { ...fenceOf(old), leaseIncarnation: "li_other" })).toBe("FENCE_SUPERSEDED");
    expect(await reason(["a"], { ...fenceOf(old), leaseEpoch: 2 })).toBe("FENCE_SUPERSEDED");
    clock.advance(5_000);
    expect(await reason(["a"], fenceOf(old))).toBe("LEASE_EXPIRED");
    // Out of its scope: required, though it is over as well.
    expect(await reason(["c"], fenceOf(old))).toBe("LEASE_REQUIRED");
    await acquire(["c"]);
    expect(await reason(["a"], fenceOf(old))).toBe("LEASE_EXPIRED");
    const later = await acquire(["b/deep"]);
    // The later grant overlaps the lease, if not the path; and it stays later when it is over too.
    expect(await reason(["a"], fenceOf(old))).toBe("FENCE_SUPERSEDED");
    await leases.release(workspace, later.id, fenceOf(later));
    await settled();
    expect(await reason(["a"], fenceOf(old), false)).toBe("FENCE_SUPERSEDED");
  });

  test("a fence judged before its lease ended does not commit after", async () => {
    const { leases, workspace, acquire, clock, commit, settled } = await openDesk();
    const first = await acquire(["a"], { ttlMs: 5_000 });
    const check = leases.judge(workspace, "ann", ["a"], fenceOf(first), true);
    expect(await commit(check)).toBe("committed");
    clock.advance(5_000);
    await settled();
    expect(await commit(check)).toBe("fence");
    await acquire(["a"]);
    expect(await commit(check)).toBe("fence");
  });
});
