import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { SaveInput, SaveOutcome, Workspace } from "../../../src/daemon/workspace/index.ts";
import { GinService } from "../../../src/gen/gin/v1/service_pb.ts";
import { hashOf } from "../../kernel/workspace/model.ts";
import { type ApiSite, caller, fastDir, openApi } from "./site.ts";

const agents = { a: caller("a"), b: caller("b"), tcp: caller("t", { transport: "tcp", tokenId: "tk_1" }) };
const make = (path: string, text: string) => ({ path, expect: "absent", text });
const save = (site: ApiSite, requestId: string, edits: unknown[], more: object = {}, how = {}) =>
  site.call("Save", { request_id: requestId, edits, ...more }, how);
const outcome = async (site: ApiSite, id: string, how = {}) =>
  (await site.call("RequestOutcome", { target_request_id: id }, how)).body;

/** A workspace whose saves wait at the door until they are let in. */
function gated(): { wrap: (inner: Workspace) => Workspace; arrived: Promise<AbortSignal | undefined>; open: () => void } {
  let open = (): void => {};
  let arrive = (_signal: AbortSignal | undefined): void => {};
  const gate = new Promise<void>((resolve) => (open = resolve));
  const arrived = new Promise<AbortSignal | undefined>((resolve) => (arrive = resolve));
  const wrap = (inner: Workspace): Workspace =>
    new Proxy(inner, {
      get(target, name) {
        if (name === "save") {
          return async (input: SaveInput): Promise<SaveOutcome> => {
            arrive(input.signal);
            await gate;
            return target.save(input);
          };
        }
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  return { wrap, arrived, open: () => open() };
}

it("runs an id once, replays its answer with the state of now, and refuses other content", async () => {
  const site = await openApi();
  const first = (await save(site, "r-1", [make("a", "1")])).body;
  expect([first.replayed, first.request_id, first.state.generation]).toEqual([false, "r-1", "1"]);
  await save(site, "r-2", [make("b", "2")]);
  const again = (await save(site, "r-1", [make("a", "1")])).body;
  expect(again).toEqual({
    ...first,
    replayed: true,
    state: { ...first.state, generation: "2", head: expect.not.stringMatching(first.state.head) },
  });
  const other = await save(site, "r-1", [make("a", "x")]);
  expect([other.code, other.error.reason, other.error.facts]).toEqual([
    "already_exists",
    "REQUEST_ID_REUSED",
    { operation: "Save" },
  ]);
  const otherOperation = await site.call("AcquireLease", { request_id: "r-1" });
  expect(otherOperation.error.reason).toBe("REQUEST_ID_REUSED");
  expect(site.workspace.state().generation).toBe(2);
});

it("keeps ids of different principals apart", async () => {
  const site = await openApi({ callers: agents });
  expect((await save(site, "same", [make("a", "1")], {}, { as: "a" })).body.replayed).toBe(false);
  expect((await save(site, "same", [make("b", "1")], {}, { as: "b" })).body.replayed).toBe(false);
});

it("sees the same request through fences, epochs, conflict rules, names and encodings", async () => {
  const site = await openApi();
  const first = (await save(site, "r", [make("a", "1")])).body;
  const { id, name, repository } = site.hosted[0] ?? {};
  const how = { lease_incarnation: "li_x", lease_epoch: "9", epoch: "1", on_conflict: "ON_CONFLICT_MERGE" };
  for (const more of [how, { workspace: id }, { workspace: name, repository }]) {
    expect((await save(site, "r", [make("a", "1")], more)).body.checkpoint, JSON.stringify(more)).toBe(first.checkpoint);
  }
  const binary = await site.binary(GinService.method.save, {
    requestId: "r",
    edits: [{ path: "a", expect: "absent", text: "1" }],
  });
  expect([binary.replayed, binary.checkpoint]).toEqual([true, first.checkpoint]);
  const viaCall = await site.call("Call", { save: { request_id: "r", edits: [make("a", "1")] } });
  expect(viaCall.body.save).toMatchObject({ replayed: true, checkpoint: first.checkpoint });
});

it("remembers a refusal for RequestOutcome and judges a retry anew", async () => {
  const site = await openApi({ callers: agents, requireLease: "auto" });
  const refused = await save(site, "r", [make("a", "1")], {}, { as: "tcp" });
  expect(refused.error.reason).toBe("LEASE_REQUIRED");
  expect(await outcome(site, "r", { as: "tcp" })).toMatchObject({
    outcome: "OUTCOME_REJECTED",
    operation: "Save",
    error: { reason: "LEASE_REQUIRED" },
  });
  const fence = (await site.call("AcquireLease", { request_id: "l" }, { as: "tcp" })).body.lease;
  const { lease_incarnation, lease_epoch } = fence;
  expect((await save(site, "r", [make("a", "1")], { lease_incarnation, lease_epoch }, { as: "tcp" })).status).toBe(200);
  expect(await outcome(site, "r", { as: "tcp" })).toMatchObject({
    outcome: "OUTCOME_COMMITTED",
    response: { save: { paths: [{ path: "a" }] } },
  });
});

it("answers RequestOutcome for what it never saw, for others only to the owner, and for admin requests", async () => {
  const site = await openApi({ callers: { ...agents, plain: caller("p", { scopes: new Set(["read", "save"]) }) } });
  const unknown = await outcome(site, "never");
  expect(unknown.outcome).toBe("OUTCOME_NOT_FOUND");
  expect(Date.parse(unknown.kept_since)).toBeLessThanOrEqual(Date.now());
  await save(site, "r", [make("a", "1")], {}, { as: "a" });
  const asked = { target_request_id: "r", principal: "a" };
  expect((await site.call("RequestOutcome", asked)).body.outcome).toBe("OUTCOME_COMMITTED");
  expect((await site.call("RequestOutcome", asked, { as: "plain" })).error.facts).toEqual({ scope: "admin" });
  const token = (await site.admin("CreateToken", { request_id: "t", principal: "x", scopes: ["read"] })).body;
  expect(token.token).not.toBe("");
  const kept = await outcome(site, "t");
  expect(kept).toMatchObject({
    outcome: "OUTCOME_COMMITTED",
    operation: "CreateToken",
    admin_response: { token: "", info: { id: token.info.id } },
  });
  const again = (await site.admin("CreateToken", { request_id: "t", principal: "x", scopes: ["read"] })).body;
  expect([again.token, again.replayed, again.info.id]).toEqual(["", true, token.info.id]);
});

it("checks the grammar of request ids, and asks for one only where it is kept", async () => {
  const site = await openApi();
  for (const id of ["a".repeat(127), "a".repeat(128), "A-z.0_9:x"]) {
    expect((await save(site, id, [make(`f${id.length}`, "")])).status, id).toBe(200);
  }
  for (const id of ["a".repeat(129), "a b", "é", "a/b", "a\n"]) {
    expect((await save(site, id, [make("z", "")])).error.facts, id).toEqual({ field: "request_id", limit: 128 });
  }
  expect((await save(site, "", [make("z", "")])).error.reason).toBe("REQUEST_ID_REQUIRED");
  expect((await site.call("ReadPath", { request_id: "no good" })).error.reason).toBe("INVALID_REQUEST");
  const dry = (await save(site, "dry", [make("z", "")], { dry_run: true })).body;
  expect([dry.dry_run, (await outcome(site, "dry")).outcome]).toEqual([true, "OUTCOME_NOT_FOUND"]);
  expect((await save(site, "", [make("z", "")], { dry_run: true })).status).toBe(200);
});

it("replays after a restart", async () => {
  const directory = fastDir();
  const before = await openApi({ directory });
  const first = (await save(before, "r", [make("a", "1")])).body;
  await before.close();
  const after = await openApi({ directory });
  const again = (await save(after, "r", [make("a", "1")])).body;
  expect([again.replayed, again.checkpoint]).toEqual([true, first.checkpoint]);
  expect(Number(again.state.epoch)).toBe(Number(first.state.epoch) + 1);
});

it("lets the same request join the one that runs, and tells a third with other content", async () => {
  const gate = gated();
  const site = await openApi({ wrap: gate.wrap });
  const first = save(site, "r", [make("a", "1")]);
  await gate.arrived;
  expect((await outcome(site, "r")).outcome).toBe("OUTCOME_IN_PROGRESS");
  const second = save(site, "r", [make("a", "1")]);
  expect((await save(site, "r", [make("a", "2")])).error.reason).toBe("REQUEST_ID_REUSED");
  const late = await save(site, "r", [make("a", "1")], {}, { timeoutMs: 50 });
  expect([late.code, late.error.reason, late.error.retryable]).toEqual(["aborted", "REQUEST_IN_PROGRESS", true]);
  gate.open();
  const answers = await Promise.all([first, second]);
  expect(answers.map((one) => one.body.replayed)).toEqual([false, true]);
  expect(site.workspace.state().generation).toBe(1);
});

it("gives up the answer at the deadline, not the save", async () => {
  const gate = gated();
  const site = await openApi({ wrap: gate.wrap });
  const late = await save(site, "r", [make("a", "1")], {}, { timeoutMs: 60 });
  expect([late.code, late.error.reason]).toEqual(["deadline_exceeded", "DEADLINE_EXCEEDED"]);
  gate.open();
  await expect.poll(async () => (await outcome(site, "r")).outcome).toBe("OUTCOME_REJECTED");
  expect((await outcome(site, "r")).error.reason).toBe("CANCELLED");
  expect((await save(site, "r", [make("a", "1")])).body.replayed).toBe(false);
});

it("records what was cancelled before its turn as CANCELLED", async () => {
  const gate = gated();
  const site = await openApi({ wrap: gate.wrap });
  const stop = new AbortController();
  const gone = save(site, "r", [make("a", "1")], {}, { signal: stop.signal });
  const signal = await gate.arrived;
  stop.abort();
  await expect(gone).rejects.toThrow();
  // The server hears of it when the socket closes.
  await expect.poll(() => signal?.aborted).toBe(true);
  gate.open();
  await expect.poll(async () => (await outcome(site, "r")).error?.reason).toBe("CANCELLED");
  expect(site.workspace.state().generation).toBe(0);
});

it("keeps a summary and a detail id of an answer over 64 KiB", async () => {
  const site = await openApi({ callers: agents });
  const edits = Array.from({ length: 1_000 }, (_, index) => make(`dir/${String(index).padStart(4, "0")}`, `${index}`));
  const first = (await save(site, "big", edits)).body;
  expect([first.paths.length, first.detail_id]).toEqual([1_000, ""]);
  const again = (await save(site, "big", edits)).body;
  expect(again).toMatchObject({ replayed: true, paths: [], checkpoint: first.checkpoint });
  let text = "";
  let cursor = "";
  do {
    const page = (await site.call("Details", { detail_id: again.detail_id, cursor })).body;
    expect([page.kind, page.text.length <= 25_000]).toEqual(["save.paths", true]);
    text += page.text;
    cursor = page.next_cursor;
  } while (cursor !== "");
  expect(
    text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line)),
  ).toEqual(first.paths);
  const others = await site.call("Details", { detail_id: again.detail_id }, { as: "a" });
  expect(others.status).toBe(200);
});

it("replays a lease with the time it has left, and 0 once it is over", async () => {
  const site = await openApi();
  const first = (await site.call("AcquireLease", { request_id: "l", ttl_ms: "5000" })).body.lease;
  await site.call("RenewLease", { ...pick(first), ttl_ms: "60000" });
  const again = (await site.call("AcquireLease", { request_id: "l", ttl_ms: "5000" })).body;
  expect([again.replayed, again.lease.lease_id]).toEqual([true, first.lease_id]);
  expect(Number(again.lease.remaining_ms)).toBeGreaterThan(5_000);
  expect((await site.call("ReleaseLease", pick(first))).body.released).toBe(true);
  expect((await site.call("AcquireLease", { request_id: "l", ttl_ms: "5000" })).body.lease.remaining_ms).toBe("0");
});

it("replays a removal although the workspace is gone, by id and by name", async () => {
  const site = await openApi();
  const { id, name } = site.hosted[0] ?? {};
  const first = (await site.admin("RemoveWorkspace", { request_id: "rm", workspace: name })).body;
  expect([first.info.id, first.replayed]).toEqual([id, false]);
  for (const workspace of [id, name]) {
    expect((await site.admin("RemoveWorkspace", { request_id: "rm", workspace })).body).toMatchObject({
      info: { id },
      replayed: true,
    });
  }
  expect((await site.admin("RemoveWorkspace", { request_id: "rm", workspace: "else" })).error.reason).toBe("WORKSPACE_NOT_FOUND");
  expect((await site.admin("CloseWorkspace", { request_id: "rm", workspace: name })).error.reason).toBe("WORKSPACE_NOT_FOUND");
});

it("writes nothing twice when a save is sent ten times at once", async () => {
  const site = await openApi();
  const answers = await Promise.all(Array.from({ length: 10 }, () => save(site, "r", [make("a", "1")])));
  expect(answers.filter((one) => one.body.replayed === false)).toHaveLength(1);
  expect(new Set(answers.map((one) => one.body.checkpoint)).size).toBe(1);
  expect(readFileSync(join(site.root, "a"), "utf8")).toBe("1");
});

it("says of a colliding save what is there now, and merges by the call it is given, under the same id", async () => {
  const site = await openApi();
  const base = "1\n2\n3\n4\n5\n6\n";
  writeFileSync(join(site.root, "a"), base);
  await site.call("ReadPath", { path: "a" });
  writeFileSync(join(site.root, "a"), base.replace("1", "one"));
  const edits = [{ path: "a", expect: hashOf(Buffer.from(base)), text: base.replace("6", "six") }];
  const refused = await site.call("Call", { save: { request_id: "r", edits } });
  expect(refused.body.error).toMatchObject({ reason: "STALE_CONTENT", facts: { paths: [{ path: "a", merge: "clean" }] } });
  const next = refused.body.error.next_call;
  expect(next).toEqual({ save: { request_id: "r", edits, on_conflict: "ON_CONFLICT_MERGE" } });
  const merged = (await site.call("Call", next)).body.save;
  expect(merged.paths[0]).toMatchObject({ path: "a", merged: true });
  expect(readFileSync(join(site.root, "a"), "utf8")).toBe("one\n2\n3\n4\n5\nsix\n");
});

function pick(lease: { lease_id: string; lease_incarnation: string; lease_epoch: string }) {
  return { lease_id: lease.lease_id, lease_incarnation: lease.lease_incarnation, lease_epoch: lease.lease_epoch };
}
