import { beforeEach, describe, expect, it } from "vitest";
import { hashOf } from "../../kernel/workspace/model.ts";
import { type ApiSite, caller, openApi } from "./site.ts";

let site: ApiSite;
let stands: string;
beforeEach(async () => {
  site = await openApi({ quotaBytes: 2 ** 20, callers: { agent: caller("agent", { scopes: new Set(["read", "save"]) }) } });
  stands = "";
});

/** The next content of f.txt, by somebody; the checkpoint. */
async function save(text: string, as = "owner"): Promise<string> {
  const expect_ = stands === "" ? "absent" : hashOf(Buffer.from(stands));
  const answer = await site.call(
    "Save",
    { request_id: `s-${hashOf(Buffer.from(text)).slice(0, 12)}`, edits: [{ path: "f.txt", expect: expect_, text }] },
    { as },
  );
  expect(answer.error).toBeUndefined();
  stands = text;
  return answer.body.checkpoint;
}

const gc = async (body: object = {}, how = {}) =>
  site.admin("CollectGarbage", { request_id: `g-${Math.random()}`, ...body }, how);

/** Everything synced, so that no journal keeps old contents. */
async function settle(): Promise<void> {
  await site.store.write("durable", { saves: site.store.read.openSaves(1).map(({ id }) => id) });
}

describe("CollectGarbage", () => {
  it("gives up old history down to a target, says so, and reads of it say so too", async () => {
    const line = (round: number) => `first line\n${`${round} ${"x".repeat(50)}\n`.repeat(200)}`;
    const checkpoints: string[] = [];
    for (let round = 0; round < 30; round++) checkpoints.push(await save(line(round), round === 0 ? "agent" : "owner"));
    await settle();
    const dry = await gc({ dry_run: true, target_bytes: "0" });
    expect(dry.body).toMatchObject({ dry_run: true, quota_bytes: String(2 ** 20), removed_checkpoints: "29" });
    expect(Number(dry.body.thinned_objects)).toBe(29);
    expect((await site.call("ReadPath", { path: "f.txt", snapshot: checkpoints[0] })).body.text).toBe(line(0));

    const done = (await gc({ request_id: "g-1", target_bytes: "50000" })).body;
    expect(done).toMatchObject({ dry_run: false, replayed: false, request_id: "g-1" });
    expect(Number(done.after_history_bytes)).toBeLessThanOrEqual(50_000);
    expect(Number(done.after_bytes)).toBeLessThan(Number(done.before_bytes));
    expect((await gc({ request_id: "g-1", target_bytes: "50000" })).body).toEqual({ ...done, replayed: true });

    const keptFrom = site.store.read.workspace(1)?.keptFrom ?? 0;
    expect(keptFrom).toBeGreaterThan(10);
    const log = (await site.call("ListCheckpoints", { limit: 100 })).body.checkpoints as { id: string; generation: string }[];
    const old = log.find(({ generation }) => Number(generation) < keptFrom)?.id ?? checkpoints[1];
    const read = await site.call("ReadPath", { path: "f.txt", snapshot: old });
    expect(["HISTORY_TRIMMED", "ID_NOT_FOUND"]).toContain(read.error?.reason);
    if (read.error?.reason === "HISTORY_TRIMMED")
      expect(read.error.facts).toMatchObject({ checkpoint: old, kept_from: keptFrom });
    const recent = checkpoints[keptFrom - 1];
    expect((await site.call("ReadPath", { path: "f.txt", snapshot: recent })).body.text).toBe(line(keptFrom - 1));
    expect((await site.call("ReadPath", { path: "f.txt" })).body.text).toBe(line(29));
    expect((await site.call("Diff", { from: recent })).body.files).toHaveLength(1);

    const context = (await site.call("Context", {})).body;
    expect(context.history_quota_bytes).toBe(String(2 ** 20));
    expect(Number(context.history_bytes)).toBeLessThanOrEqual(50_000);
    const since = site.store.read.checkpointAt(1, keptFrom)?.timeMs ?? 0;
    expect(Date.parse(context.history_complete_since)).toBe(since);
  });

  it("is the owner's, and needs a request id unless it changes nothing", async () => {
    expect((await gc({}, { as: "agent" })).error.reason).toBe("SCOPE_FORBIDDEN");
    expect((await site.admin("CollectGarbage", {})).error.reason).toBe("REQUEST_ID_REQUIRED");
    expect((await site.admin("CollectGarbage", { dry_run: true })).error).toBeUndefined();
  });

  it("keeps who wrote a line of what it gives up", async () => {
    await save("by the agent\nthe owner's 0\n", "agent");
    for (let round = 1; round < 40; round++) await save(`by the agent\nthe owner's ${round}\n`);
    await settle();
    const before = (await site.call("Origin", { path: "f.txt" })).body;
    expect(before.spans).toHaveLength(2);
    await gc({ target_bytes: "0" });
    expect(site.store.read.workspace(1)?.keptFrom).toBe(40);
    expect((await site.call("Origin", { path: "f.txt" })).body.spans).toEqual(before.spans);
  });

  it("takes nothing while history is within its quota, and undo of recent work goes on after it took much", async () => {
    const first = await save("one\n");
    await save("two\n");
    await settle();
    expect((await gc()).body).toMatchObject({ thinned_objects: "0", unreachable_objects: "0", removed_checkpoints: "0" });
    expect((await site.call("ReadPath", { path: "f.txt", snapshot: first })).body.text).toBe("one\n");
    for (let round = 0; round < 60; round++) await save(`${round} ${hashOf(Buffer.from(`${round}`)).repeat(600)}\n`);
    await settle();
    expect(Number((await gc()).body.thinned_objects)).toBeGreaterThan(0);
    const undone = stands;
    const last = await save("three\n");
    const answer = await site.call("Undo", { request_id: "u-1", select: { checkpoint: last } });
    expect(answer.error).toBeUndefined();
    expect((await site.call("ReadPath", { path: "f.txt" })).body.sha256).toBe(hashOf(Buffer.from(undone)));
  });
});
