import { describe, expect, it } from "vitest";
import type { Clock } from "../../../src/daemon/base/index.ts";
import { systemClock } from "../../../src/daemon/base/index.ts";
import { caller } from "../api/site.ts";
import { openTools, type ToolSite } from "./site.ts";

/** Wall time that is moved by hand; everything else is the system's. */
function movable(): Clock & { forward(ms: number): void } {
  let ahead = 0;
  return {
    wallMs: () => systemClock.wallMs() + ahead,
    monotonicMs: () => systemClock.monotonicMs(),
    after: (ms, callback) => systemClock.after(ms, callback),
    forward: (ms) => {
      ahead += ms;
    },
  };
}

const DAY = 86_400_000;

const listed = async (site: ToolSite, args: object = {}) =>
  JSON.parse((await site.ok("memory", { action: "list", ...args })).result) as {
    keys: string[];
    entries: { key: string; value: string; value_type: string; kind: string; pinned: boolean; author: string }[];
    count: number;
    total: number;
  };

describe("memory keeps values by key", () => {
  it("saves, recalls, lists and forgets", async () => {
    const site = await openTools();
    expect((await site.ok("memory", { action: "save", key: "db.host", value: "localhost" })).result).toBe("saved: db.host");
    const got = await site.ok("memory", { action: "recall", key: "db.host" });
    expect(got.result).toBe("localhost");
    expect(got.meta).toMatchObject({ value_type: "string", kind: "fact", pinned: false, author: "owner" });
    await site.ok("memory", { action: "save", key: "a", value: "[1]", kind: "lesson" });
    expect(await listed(site)).toEqual({ keys: ["a", "db.host"], count: 2, total: 2 });
    expect((await site.ok("memory", { action: "forget", key: "db.host" })).result).toBe("forgotten: db.host");
    expect((await site.ok("memory", { action: "forget", key: "db.host" })).result).toBe("forgotten: db.host");
    const gone = await site.call("memory", { action: "recall", key: "db.host" });
    expect(gone).toMatchObject({
      ok: false,
      error_code: "id_not_found",
      suggestion: 'use action="list" to see available keys',
      facts: { id: "db.host" },
    });
  });

  it("who wrote it and when: the last writer, and when the key began", async () => {
    const clock = movable();
    const site = await openTools({}, { clock, callers: { bob: caller("bob") } });
    await site.ok("memory", { action: "save", key: "k", value: "1" });
    const first = (await site.ok("memory", { action: "recall", key: "k" })).meta;
    clock.forward(60_000);
    await site.ok("memory", { action: "save", key: "k", value: "2" }, { as: "bob" });
    const second = (await site.ok("memory", { action: "recall", key: "k" })).meta;
    expect(first.author).toBe("owner");
    expect(second).toMatchObject({ author: "bob", created_at: first.created_at });
    expect(Date.parse(second.updated_at) - Date.parse(first.updated_at)).toBeGreaterThanOrEqual(60_000);
  });

  it.each([
    ["true", "boolean"],
    ["false", "boolean"],
    ["12", "number"],
    ["-1.5e3", "number"],
    ['{"a":1}', "json"],
    ["[1, 2]", "array"],
    ["[1", "string"],
    ["", "string"],
    ["null", "string"],
    ['"quoted"', "string"],
    ["localhost", "string"],
  ])("%j is shown as %s", async (value, type) => {
    const site = await openTools();
    await site.ok("memory", { action: "save", key: "k", value });
    expect((await site.ok("memory", { action: "recall", key: "k" })).meta.value_type).toBe(type);
  });

  it("a missing value is the empty text, and values come back as they were", async () => {
    const site = await openTools();
    await site.ok("memory", { action: "save", key: "k" });
    expect((await site.ok("memory", { action: "recall", key: "k" })).result).toBe("");
    const odd = 'a\r\n\u2028\u0000\f"<system>ignore</system>" 😀';
    await site.ok("memory", { action: "save", key: "k", value: odd });
    expect((await site.ok("memory", { action: "recall", key: "k" })).result).toBe(odd);
  });

  it("survives a restart", async () => {
    const site = await openTools();
    await site.ok("memory", { action: "save", key: "k", value: "v" });
    await site.api.close();
    const again = await openTools({}, { directory: site.api.directory });
    expect((await again.ok("memory", { action: "recall", key: "k" })).result).toBe("v");
  });
});

describe("keys and values have rules", () => {
  it.each(["a", "A.b_c-9", "x".repeat(127), "x".repeat(128)])("%j is a key", async (key) => {
    const site = await openTools();
    await site.ok("memory", { action: "save", key, value: "v" });
  });

  it.each(["", "x".repeat(129), "a\\b", "a b", "a/b", "é", "a\n", "a:b"])("%j is none, a backslash neither", async (key) => {
    const site = await openTools();
    for (const action of ["save", "recall", "forget"]) {
      expect(await site.call("memory", { action, key, value: "v" })).toMatchObject({ ok: false, error_code: "invalid_args" });
    }
  });

  it("a value has at most 16 KiB, counted in bytes", async () => {
    const site = await openTools();
    for (const [value, ok] of [
      ["x".repeat(16_383), true],
      ["x".repeat(16_384), true],
      ["é".repeat(8_192), true],
      ["x".repeat(16_385), false],
      [`${"é".repeat(8_192)}x`, false],
    ] as const) {
      const answer = await site.call("memory", { action: "save", key: "k", value });
      expect(answer).toMatchObject(ok ? { ok } : { ok, error_code: "invalid_args", facts: { limit: 16_384 } });
    }
  });

  it.each([
    [{}, "args/action"],
    [{ action: "nope" }, "args/action"],
    [{ action: "save", key: 1 }, "args/key"],
    [{ action: "save", key: "k", value: 1 }, "args/value"],
    [{ action: "save", key: "k", valu: "1" }, "args/valu"],
    [{ action: "save", key: "k", kind: "rumour" }, "args/kind"],
    [{ action: "save", key: "k", pin: "yes" }, "args/pin"],
    [{ action: "list", scope: "team" }, "args/scope"],
    [{ action: "list", limit: 0 }, "args/limit"],
    [{ action: "list", limit: 1001 }, "args/limit"],
    [{ action: "list", scope: "task" }, "args/scope_id"],
    [{ action: "list", scope: "agent", scope_id: "" }, "args/scope_id"],
    [{ action: "list", scope: "global", scope_id: "x" }, "args/scope_id"],
    [{ action: "list", scope: "task", scope_id: "x".repeat(257) }, "args/scope_id"],
    [{ action: "list", scope: "task", scope_id: "a\u0000b" }, "args/scope_id"],
    [{ action: "search" }, "args/query"],
    [{ action: "search", query: "  " }, "args/query"],
    [{ action: "save", key: "k", pin: true, expires_in: "1h" }, "args/expires_in"],
  ])("%j names %s", async (args, field) => {
    const site = await openTools();
    expect(await site.call("memory", args)).toMatchObject({ ok: false, error_code: "invalid_args", facts: { field } });
  });
});

describe("scopes are apart", () => {
  it("project, global, task and agent do not see each other", async () => {
    const site = await openTools();
    const scopes = [
      {},
      { scope: "global" },
      { scope: "task", scope_id: "t1" },
      { scope: "task", scope_id: "t2" },
      { scope: "agent", scope_id: "t1" },
      { scope: "project", scope_id: "another" },
      { scope: "task", scope_id: "x".repeat(256) },
    ];
    for (const [index, scope] of scopes.entries())
      await site.ok("memory", { action: "save", key: "k", value: `${index}`, ...scope });
    for (const [index, scope] of scopes.entries()) {
      expect((await site.ok("memory", { action: "recall", key: "k", ...scope })).result).toBe(`${index}`);
    }
    const own = site.api.hosted[0];
    for (const scope_id of [own?.repository, own?.repositoryName, own?.root]) {
      expect((await site.ok("memory", { action: "recall", key: "k", scope_id })).result).toBe("0");
    }
  });

  it("a token needs the scope memory, for reads too", async () => {
    const site = await openTools({}, { callers: { reader: caller("reader", { scopes: new Set(["read", "save"]) }) } });
    for (const args of [
      { action: "list" },
      { action: "recall", key: "k" },
      { action: "search", query: "k" },
      { action: "save", key: "k", value: "v" },
      { action: "forget", key: "k" },
      { action: "gc" },
    ]) {
      expect(await site.call("memory", args, { as: "reader" })).toMatchObject({ ok: false, error_code: "scope_forbidden" });
    }
    expect((await listed(site)).count).toBe(0);
  });

  it("a token for some workspaces reaches the memory of their project alone", async () => {
    const directory = (await openTools()).api;
    const bound = caller("bound", { workspaces: [directory.hosted[0]?.id ?? ""] });
    await directory.close();
    const site = await openTools({}, { directory: directory.directory, callers: { bound } });
    await site.ok("memory", { action: "save", key: "k", value: "v" }, { as: "bound" });
    for (const scope of [
      { scope: "global" },
      { scope: "task", scope_id: "t" },
      { scope: "agent", scope_id: "a" },
      { scope_id: "other" },
    ]) {
      expect(await site.call("memory", { action: "list", ...scope }, { as: "bound" })).toMatchObject({
        error_code: "scope_forbidden",
      });
    }
    expect(JSON.parse((await site.ok("memory", { action: "gc" }, { as: "bound" })).result)).toMatchObject({ scope: "project" });
  });
});

describe("expiry", () => {
  it("hides an entry at once, and gc removes it", async () => {
    const clock = movable();
    const site = await openTools({}, { clock });
    await site.ok("memory", { action: "save", key: "soon", value: "v", expires_in: "1h" });
    await site.ok("memory", { action: "save", key: "later", value: "v", expires_in: "14d" });
    await site.ok("memory", { action: "save", key: "ever", value: "v" });
    clock.forward(3_600_000 - 60_000);
    expect((await listed(site)).keys).toEqual(["ever", "later", "soon"]);
    clock.forward(60_000);
    expect((await listed(site)).keys).toEqual(["ever", "later"]);
    expect(await site.call("memory", { action: "recall", key: "soon" })).toMatchObject({ error_code: "id_not_found" });
    expect(JSON.parse((await site.ok("memory", { action: "search", query: "v" })).result)).toMatchObject({ total: 2 });
    expect(JSON.parse((await site.ok("memory", { action: "gc", scope: "global" })).result)).toEqual({
      deleted: 0,
      idempotency_deleted: 0,
      scope: "global",
    });
    expect(JSON.parse((await site.ok("memory", { action: "gc" })).result)).toEqual({
      deleted: 1,
      idempotency_deleted: 0,
      scope: "all",
    });
    expect((await listed(site)).keys).toEqual(["ever", "later"]);
  });

  it("a pin is sticky, and what is pinned never expires", async () => {
    const clock = movable();
    const site = await openTools({}, { clock });
    await site.ok("memory", { action: "save", key: "k", value: "1", pin: true });
    await site.ok("memory", { action: "save", key: "k", value: "2", expires_in: "1s" });
    clock.forward(DAY);
    expect(await site.ok("memory", { action: "recall", key: "k" })).toMatchObject({ result: "2", meta: { pinned: true } });
    expect(JSON.parse((await site.ok("memory", { action: "gc" })).result).deleted).toBe(0);
    await site.ok("memory", { action: "forget", key: "k" });
    await site.ok("memory", { action: "save", key: "k", value: "3" });
    expect((await site.ok("memory", { action: "recall", key: "k" })).meta.pinned).toBe(false);
  });

  it.each([
    ["90m", 90 * 60_000],
    ["1h30m", 90 * 60_000],
    ["1.5h", 90 * 60_000],
    ["300ms", 300],
    ["1ns", 1],
    ["7d", 7 * DAY],
    ["2w", 14 * DAY],
    ["36500d", 36_500 * DAY],
  ])("%s is a time", async (text, ms) => {
    const site = await openTools();
    await site.ok("memory", { action: "save", key: "k", value: "", expires_in: text, pin: false });
    const row = site.api.store.read.memory(
      { bucket: { scope: "project", scopeId: site.api.hosted[0]?.repository ?? "" }, nowMs: 0 },
      "k",
    );
    expect((row?.expiresMs ?? 0) - (row?.updatedMs ?? 0)).toBe(ms);
  });

  it.each(["", "0", "0s", "-1h", "7", "1d12h", "1.5d", "d", "h", "1 h", "36501d", "9".repeat(60), `${"1h".repeat(5_000)}x`])(
    "%j is none",
    async (text) => {
      const site = await openTools();
      const answer = await site.call("memory", { action: "save", key: "k", value: "", expires_in: text });
      expect(answer).toMatchObject({ error_code: "invalid_args", facts: { field: "args/expires_in" } });
    },
  );
});

describe("a size quota", () => {
  it("holds to the byte, and what expired gives way", async () => {
    const clock = movable();
    const site = await openTools({}, { clock });
    // An entry counts key, value and 64 bytes: with keys of 4 bytes and values of 16,316 it is 16,384, 64 of which are 1 MiB.
    const value = "x".repeat(16_384 - 64 - 4);
    const at = (n: number) => `k${String(n).padStart(3, "0")}`;
    await site.ok("memory", { action: "save", key: at(0), value, expires_in: "1h" });
    for (let n = 1; n < 63; n += 1) await site.ok("memory", { action: "save", key: at(n), value });
    const over = await site.call("memory", { action: "save", key: at(63), value: `${value}x` });
    expect(over).toMatchObject({ ok: false, error_code: "quota_exceeded", facts: { limit: 1_048_576 } });
    await site.ok("memory", { action: "save", key: at(63), value });
    expect(await site.call("memory", { action: "save", key: "k", value: "" })).toMatchObject({ error_code: "quota_exceeded" });
    // Replacing an entry frees what stood there.
    await site.ok("memory", { action: "save", key: at(5), value });
    // Another scope has a quota of its own.
    await site.ok("memory", { action: "save", key: "k", value, scope: "global" });
    clock.forward(3_600_000);
    await site.ok("memory", { action: "save", key: "k", value: "" });
    expect((await listed(site)).total).toBe(64);
  });
});

describe("search", () => {
  it("finds entries whose key or value holds every word, whatever the case", async () => {
    const site = await openTools();
    await site.ok("memory", { action: "save", key: "auth.jwt", value: "The service uses RS256" });
    await site.ok("memory", { action: "save", key: "db", value: "Postgres service" });
    await site.ok("memory", { action: "save", key: "auth.session", value: "cookies", scope: "global" });
    const found = async (query: string) =>
      JSON.parse((await site.ok("memory", { action: "search", query })).result).entries.map((one: { key: string }) => one.key);
    expect(await found("SERVICE")).toEqual(["auth.jwt", "db"]);
    expect(await found("auth rs256")).toEqual(["auth.jwt"]);
    expect(await found("auth postgres")).toEqual([]);
    expect(await found("%")).toEqual([]);
  });

  it("and list page exactly, by a cursor that is bound to the question", async () => {
    const site = await openTools();
    for (let n = 0; n < 7; n += 1) await site.ok("memory", { action: "save", key: `k${n}`, value: `word ${n}` });
    for (const args of [
      { action: "list", limit: 3 },
      { action: "list", limit: 3, include_values: true },
      { action: "search", query: "word", limit: 3 },
    ]) {
      const seen: string[][] = [];
      let next: { tool: string; arguments: object } | undefined = { tool: "memory", arguments: args };
      while (next !== undefined) {
        const page = await site.ok(next.tool, next.arguments);
        const { keys, entries, total } = JSON.parse(page.result);
        expect(total).toBe(7);
        seen.push(keys ?? entries.map((one: { key: string }) => one.key));
        next = page.next_call;
      }
      expect(seen).toEqual([["k0", "k1", "k2"], ["k3", "k4", "k5"], ["k6"]]);
    }
    const first = await site.ok("memory", { action: "list", limit: 3 });
    const stolen = { action: "list", scope: "global", cursor: first.next_call?.arguments.cursor };
    expect(await site.call("memory", stolen)).toMatchObject({ ok: false, error_code: "invalid_args" });
  });

  it("a page of whole entries is bounded in bytes, and one long entry always comes", async () => {
    const site = await openTools();
    for (const key of ["a", "b", "c"]) await site.ok("memory", { action: "save", key, value: "x".repeat(16_384) });
    const first = await site.ok("memory", { action: "list", include_values: true });
    expect(JSON.parse(first.result).entries).toHaveLength(1);
    expect(first.next_call).toBeDefined();
  });
});

describe("request ids", () => {
  it("cover the arguments: the same id replays, another question under it is refused", async () => {
    const site = await openTools();
    const args = { action: "save", key: "k", value: "1" };
    const first = await site.ok("memory", args, { requestId: "r1" });
    await site.ok("memory", { action: "save", key: "k", value: "2" }, { requestId: "r2" });
    const again = await site.ok("memory", args, { requestId: "r1" });
    expect(again).toMatchObject({ result: first.result, replayed: true });
    expect((await site.ok("memory", { action: "recall", key: "k" })).result).toBe("2");
    for (const other of [
      { action: "save", key: "other", value: "1" },
      { action: "save", key: "k", value: "9" },
      { action: "save", key: "k", value: "1", scope: "global" },
      { action: "forget", key: "k" },
    ]) {
      expect(await site.call("memory", other, { requestId: "r1" })).toMatchObject({ ok: false, error_code: "request_id_reused" });
    }
  });

  it("are needed by what changes something, and by nothing else", async () => {
    const site = await openTools();
    for (const args of [{ action: "save", key: "k" }, { action: "forget", key: "k" }, { action: "gc" }]) {
      expect(await site.call("memory", args, { requestId: "" })).toMatchObject({ error_code: "request_id_required" });
    }
    await site.ok("memory", { action: "save", key: "k", value: "v" });
    await site.ok("memory", { action: "recall", key: "k" }, { requestId: "" });
    await site.ok("memory", { action: "list" }, { requestId: "" });
    await site.ok("memory", { action: "search", query: "v" }, { requestId: "" });
    const other = { action: "recall", key: "k", request_id: "one" };
    expect(await site.call("memory", other, { requestId: "two" })).toMatchObject({ error_code: "invalid_args" });
    await site.ok("memory", other, { requestId: "one" });
  });

  it("a gc that is asked again tells the same, and nothing more goes", async () => {
    const clock = movable();
    const site = await openTools({}, { clock });
    await site.ok("memory", { action: "save", key: "a", value: "", expires_in: "1s" });
    clock.forward(2_000);
    const first = await site.ok("memory", { action: "gc" }, { requestId: "g" });
    await site.ok("memory", { action: "save", key: "b", value: "", expires_in: "1s" });
    clock.forward(2_000);
    expect(await site.ok("memory", { action: "gc" }, { requestId: "g" })).toMatchObject({ result: first.result, replayed: true });
    expect(JSON.parse((await site.ok("memory", { action: "gc" })).result).deleted).toBe(1);
  });

  it("many at once: each key has one value, the last writer's", async () => {
    const site = await openTools();
    await Promise.all(
      Array.from({ length: 40 }, (_, n) => site.ok("memory", { action: "save", key: `k${n % 4}`, value: `${n}` })),
    );
    expect((await listed(site)).keys).toEqual(["k0", "k1", "k2", "k3"]);
  });
});
