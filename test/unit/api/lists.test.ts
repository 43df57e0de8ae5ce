import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { REASONS } from "../../../src/daemon/base/index.ts";
import { hashOf } from "../../kernel/workspace/model.ts";
import { type ApiSite, caller, openApi } from "./site.ts";

let site: ApiSite;
let ids = 0;
beforeEach(async () => {
  site = await openApi({
    callers: {
      a: caller("a", { scopes: new Set(["read", "save", "lease"]) }),
      src: caller("src", { paths: ["src"], scopes: new Set(["read", "save", "lease"]) }),
      other: caller("o", { workspaces: ["ws_other"] }),
    },
  });
});

const save = async (path: string, text: string, how = {}) =>
  (await site.call("Save", { request_id: `s${++ids}`, message: `made ${path}`, edits: [{ path, expect: "absent", text }] }, how))
    .body;
const call = async (method: string, body: object, how = {}) => (await site.call(method, body, how)).body;
const refusal = async (method: string, body: object, how = {}) => (await site.call(method, body, how)).error;

describe("ListCheckpoints", () => {
  it("gives the log newest first with what each touched, filtered and in pages", async () => {
    await save("src/a", "1");
    await save("b", "2", { as: "a" });
    writeFileSync(join(site.root, "b"), "3");
    await call("ReadPath", { path: "b" });
    const { checkpoints, next_cursor } = await call("ListCheckpoints", {});
    expect(
      checkpoints.map((one: { cause: string; generation: string; principal: string; message: string }) => [
        one.generation,
        one.cause,
        one.principal,
        one.message,
      ]),
    ).toEqual([
      ["3", "CAUSE_EXTERNAL", "", ""],
      ["2", "CAUSE_SAVE", "a", "made b"],
      ["1", "CAUSE_SAVE", "owner", "made src/a"],
    ]);
    expect(next_cursor).toBe("");
    expect(checkpoints[0].parents).toEqual([checkpoints[1].id]);
    expect(checkpoints[0].paths).toEqual([
      {
        path: "b",
        before_sha256: sha("2"),
        after_sha256: sha("3"),
        before_executable: false,
        after_executable: false,
        before_size: "1",
        after_size: "1",
        renamed_from: "",
      },
    ]);
    const generations = async (query: object, how = {}) =>
      (await call("ListCheckpoints", query, how)).checkpoints.map((one: { generation: string }) => one.generation);
    expect(await generations({ path: "b" })).toEqual(["3", "2"]);
    expect(await generations({ path: "src" })).toEqual(["1"]);
    expect(await generations({ principal: "a" })).toEqual(["2"]);
    expect(await generations({ cause: "CAUSE_EXTERNAL" })).toEqual(["3"]);
    const seen: string[] = [];
    let cursor = "";
    do {
      const page = await call("ListCheckpoints", { limit: 1, cursor });
      seen.push(...page.checkpoints.map((one: { generation: string }) => one.generation));
      cursor = page.next_cursor;
      if (seen.length === 1) await save("later", "x");
    } while (cursor !== "");
    expect(seen).toEqual(["3", "2", "1"]);
    expect((await refusal("ListCheckpoints", { limit: 1_001 })).reason).toBe("INVALID_REQUEST");
  });

  it("shows a caller with path prefixes only the paths under them", async () => {
    await save("b", "2");
    await save("src/a", "1");
    const { checkpoints } = await call("ListCheckpoints", {}, { as: "src" });
    expect(checkpoints.map((one: { paths: { path: string }[] }) => one.paths.map((path) => path.path))).toEqual([["src/a"], []]);
    expect((await refusal("ListCheckpoints", { path: "b" }, { as: "src" })).reason).toBe("SCOPE_FORBIDDEN");
  });

  it("cuts long lists of paths, whose whole is in Details without anything being written for it", async () => {
    const edits = Array.from({ length: 30 }, (_, index) => ({
      path: `f${String(index).padStart(2, "0")}`,
      expect: "absent",
      text: "",
    }));
    await site.call("Save", { request_id: "many", edits });
    const [first] = (await call("ListCheckpoints", {})).checkpoints;
    expect([first.paths.length, first.path_count]).toEqual([20, "30"]);
    const detail = await call("Details", { detail_id: first.detail_id });
    const lines = detail.text
      .trimEnd()
      .split("\n")
      .map((line: string) => JSON.parse(line));
    expect([detail.kind, lines.length]).toEqual(["checkpoint.paths", 30]);
    expect(lines.slice(0, 20)).toEqual(first.paths);
    expect((await call("Details", { detail_id: first.detail_id }, { as: "src" })).text).toBe("");
  });
});

describe("Details and Explain", () => {
  it("gives details to whom they were made for and to the owner, and not after their day", async () => {
    await site.store.write("detail", {
      id: "dt_one",
      workspace: site.workspace.rowid,
      principal: "a",
      kind: "file.text",
      body: Buffer.from("é".repeat(20_000)),
      timeMs: Date.now(),
    });
    await site.store.write("detail", {
      id: "dt_old",
      workspace: site.workspace.rowid,
      principal: "a",
      kind: "file.text",
      body: Buffer.from("x"),
      timeMs: Date.now() - 86_400_001,
    });
    const first = await call("Details", { detail_id: "dt_one" }, { as: "a" });
    const second = await call("Details", { detail_id: "dt_one", cursor: first.next_cursor }, { as: "a" });
    expect([first.text.length, first.text + second.text, second.next_cursor]).toEqual([12_500, "é".repeat(20_000), ""]);
    expect((await call("Details", { detail_id: "dt_one" })).kind).toBe("file.text");
    for (const [id, as] of [
      ["dt_one", "src"],
      ["dt_old", "a"],
      ["dt_none", "a"],
      ["nothing", "a"],
    ] as const) {
      expect((await refusal("Details", { detail_id: id }, { as })).reason, id).toBe("ID_NOT_FOUND");
    }
  });

  it("explains every kind of id there is", async () => {
    const first = await save("src/a", "1", { as: "a" });
    const second = await save("b", "2");
    const { lease } = await call("AcquireLease", { request_id: "l", paths: ["b"], intent: "why" });
    const token = (await site.admin("CreateToken", { request_id: "t", principal: "x", scopes: ["read"] })).body.info.id;
    await site.store.write("detail", {
      id: "dt_one",
      workspace: 0,
      principal: "owner",
      kind: "k",
      body: Buffer.from("1234"),
      timeMs: Date.now(),
    });
    const row = site.hosted[0];
    const explained = async (id: string, how = {}) => call("Explain", { id }, how);
    expect(await explained(second.checkpoint)).toMatchObject({
      kind: "checkpoint",
      lineage: [first.checkpoint],
      facts: { cause: "save", generation: "2", paths: [{ path: "b", after_sha256: sha("2") }] },
    });
    expect(await explained(lease.lease_id)).toMatchObject({
      kind: "lease",
      facts: { holder: "owner", intent: "why", held: true, paths: ["b"] },
    });
    expect(await explained(row?.id ?? "")).toMatchObject({ kind: "workspace", lineage: [row?.repository] });
    expect(await explained(second.state.incarnation)).toMatchObject({ kind: "workspace", facts: { id: row?.id } });
    expect(await explained(row?.repository ?? "")).toMatchObject({ kind: "repository", facts: { workspaces: [row?.id] } });
    expect(await explained(token)).toMatchObject({ kind: "token", facts: { principal: "x", scopes: ["read"], revoked: false } });
    expect(await explained("dt_one")).toMatchObject({ kind: "detail", facts: { bytes: "4" } });
    expect(await explained(lease.lease_incarnation)).toMatchObject({ kind: "lease", facts: { current: true } });
    expect(await explained("request:l")).toMatchObject({
      kind: "request",
      facts: { operation: "AcquireLease", outcome: "committed" },
    });
    expect(await explained("STALE_CONTENT")).toMatchObject({ kind: "reason", next: [REASONS.STALE_CONTENT.then] });
    for (const id of ["ck_none", "ls_none", "request:none", "NO_REASON", "xx_1", "__proto__"])
      expect((await refusal("Explain", { id })).reason, id).toBe("ID_NOT_FOUND");
    expect((await refusal("Explain", { id: token }, { as: "a" })).reason).toBe("ID_NOT_FOUND");
    expect((await refusal("Explain", { id: second.checkpoint }, { as: "other" })).reason).toBe("ID_NOT_FOUND");
    expect((await explained(second.checkpoint, { as: "src" })).facts.paths).toEqual([]);
    expect(JSON.stringify(await explained(lease.lease_id))).not.toContain(lease.lease_incarnation);
  });
});

describe("leases", () => {
  it("shows fences to their holders only, and pages", async () => {
    const mine = (await call("AcquireLease", { request_id: "1", paths: ["src/../src"].slice(1), intent: "x" }, { as: "a" }))
      .lease;
    expect(mine).toMatchObject({ holder: "a", paths: [], ttl_ms: "600000" });
    await call(
      "ReleaseLease",
      { lease_id: mine.lease_id, lease_incarnation: mine.lease_incarnation, lease_epoch: mine.lease_epoch },
      { as: "a" },
    );
    await call("AcquireLease", { request_id: "2", paths: ["src"] }, { as: "a" });
    await call("AcquireLease", { request_id: "3", paths: ["b"] });
    const first = await call("ListLeases", { limit: 1 });
    const second = await call("ListLeases", { limit: 1, cursor: first.next_cursor });
    expect(first.leases).toMatchObject([{ holder: "a", lease_incarnation: "", lease_epoch: "0" }]);
    expect(second.leases).toMatchObject([{ holder: "owner", lease_incarnation: mine.lease_incarnation, lease_epoch: "3" }]);
    expect(second.next_cursor).toBe("");
    const context = await call("Context", {}, { as: "a" });
    expect(context.leases).toMatchObject([
      { holder: "a", lease_epoch: "2" },
      { holder: "owner", lease_epoch: "0" },
    ]);
    expect((await refusal("BreakLease", { request_id: "x", lease_id: context.leases[1].lease_id }, { as: "a" })).reason).toBe(
      "SCOPE_FORBIDDEN",
    );
    const broken = await call("BreakLease", { request_id: "x", lease_id: context.leases[0].lease_id, note: "stuck" });
    expect(broken.lease).toMatchObject({ holder: "a", lease_epoch: "0" });
    expect((await call("BreakLease", { request_id: "x", lease_id: context.leases[0].lease_id, note: "stuck" })).replayed).toBe(
      true,
    );
  });

  it("holds times, paths and words to their limits: one less, exactly, one more", async () => {
    const acquire = async (more: object) => {
      const answer = await site.call("AcquireLease", { request_id: `a${++ids}`, ...more });
      const { lease } = answer.body;
      if (lease !== undefined)
        await site.call("ReleaseLease", {
          lease_id: lease.lease_id,
          lease_incarnation: lease.lease_incarnation,
          lease_epoch: lease.lease_epoch,
        });
      return answer.error === undefined ? "ok" : `${answer.error.reason} ${answer.error.facts.field}`;
    };
    for (const [ttl, wanted] of [
      [4_999, "INVALID_REQUEST ttl_ms"],
      [5_000, "ok"],
      [5_001, "ok"],
      [3_599_999, "ok"],
      [3_600_000, "ok"],
      [3_600_001, "INVALID_REQUEST ttl_ms"],
    ] as const) {
      expect(await acquire({ ttl_ms: ttl }), String(ttl)).toBe(wanted);
    }
    expect(await acquire({ ttl_ms: "18446744073709551615" })).toBe("INVALID_REQUEST ttl_ms");
    for (const [wait, wanted] of [
      [59_999, "ok"],
      [60_000, "ok"],
      [60_001, "INVALID_REQUEST wait_ms"],
    ] as const)
      expect(await acquire({ wait_ms: wait })).toBe(wanted);
    for (const [size, wanted] of [
      [1_023, "ok"],
      [1_024, "ok"],
      [1_025, "TOO_LARGE intent"],
    ] as const)
      expect(await acquire({ intent: "i".repeat(size) })).toBe(wanted);
    const paths = (count: number) => Array.from({ length: count }, (_, index) => `d${index}`);
    for (const [count, wanted] of [
      [999, "ok"],
      [1_000, "ok"],
      [1_001, "TOO_LARGE paths"],
    ] as const)
      expect(await acquire({ paths: paths(count) })).toBe(wanted);
    expect((await refusal("AcquireLease", { request_id: "p", paths: ["../x"] })).reason).toBe("PATH_INVALID");
    expect((await refusal("AcquireLease", { request_id: "q" }, { as: "src" })).reason).toBe("SCOPE_FORBIDDEN");
    expect((await refusal("AcquireLease", { request_id: "v", paths: ["src", "b"] }, { as: "src" })).reason).toBe(
      "SCOPE_FORBIDDEN",
    );
    expect((await site.call("AcquireLease", { request_id: "w", paths: ["src/x"] }, { as: "src" })).status).toBe(200);
    for (const missing of ["lease_id", "lease_incarnation", "lease_epoch"]) {
      const body: Record<string, string> = { lease_id: "ls_1", lease_incarnation: "li_1", lease_epoch: "1" };
      delete body[missing];
      for (const method of ["RenewLease", "ReleaseLease"])
        expect((await refusal(method, body)).facts.field, method).toBe(missing);
    }
  });
});

describe("Context", () => {
  it("tells what an agent needs, what changed since, and no more than asked", async () => {
    const first = await save("a", "1");
    await save("b", "2");
    const row = site.hosted[0];
    const plain = await call("Context", {});
    expect(plain).toMatchObject({
      repository: row?.repository,
      workspace: row?.id,
      workspace_name: "ws",
      root: site.root,
      status: "active",
      principal: "owner",
      changes: [],
      changes_cut: false,
    });
    expect(JSON.stringify(plain).length).toBeLessThanOrEqual(4_096);
    const since = await call("Context", { since_generation: first.state.generation });
    expect(since.changes.map((one: { generation: string }) => one.generation)).toEqual(["2"]);
    for (let index = 0; index < 12; index += 1) await save(`c${index}`, "");
    expect(await call("Context", { since_generation: "0" })).toMatchObject({ changes: { length: 10 }, changes_cut: true });
    expect(await call("Context", { since_generation: "0", full: true })).toMatchObject({
      changes: { length: 14 },
      changes_cut: false,
    });
    const some = await call("Context", { sections: ["leases"] });
    expect([some.root, some.base]).toEqual(["", ""]);
    expect((await refusal("Context", { sections: ["leases", "wishes"] })).facts.field).toBe("sections[1]");
  });
});

describe("addressing", () => {
  it("finds a workspace by id or name, and lists them where one must be named", async () => {
    const row = site.hosted[0];
    if (row === undefined) throw new Error("no workspace");
    for (const named of [
      { workspace: row.id },
      { workspace: row.name },
      { repository: row.repository },
      { repository: row.repositoryName, workspace: row.id },
    ]) {
      expect((await call("Context", named)).workspace).toBe(row.id);
    }
    expect((await refusal("Context", { workspace: "none" })).facts.workspaces).toEqual([
      { id: row.id, name: "ws", repository: "ws", status: "open" },
    ]);
    expect((await refusal("Context", { workspace: row.id, repository: "none" })).reason).toBe("WORKSPACE_NOT_FOUND");
    expect((await refusal("Context", { workspace: row.id }, { as: "other" })).reason).toBe("SCOPE_FORBIDDEN");
    expect((await refusal("Context", {}, { as: "other" })).facts.workspaces).toEqual([]);
    site.hosted.push({ ...row, id: "ws_2", name: "two", workspace: undefined });
    expect((await call("Context", {})).workspace).toBe(row.id);
    expect((await refusal("Context", { workspace: "two" })).message).toContain("closed");
    site.hosted.push({ ...row, id: "ws_3", name: "three" });
    const many = await refusal("Context", {});
    expect([many.reason, many.facts.workspaces.length]).toEqual(["WORKSPACE_NOT_FOUND", 3]);
    expect((await call("Capabilities", {})).state).toBeUndefined();
  });
});

describe("administration", () => {
  it("opens, lists, closes workspaces, and tells the daemon's status", async () => {
    const row = site.hosted[0];
    const opened = (await site.admin("OpenWorkspace", { request_id: "o", root: site.root })).body;
    expect(opened).toMatchObject({
      created: false,
      replayed: false,
      info: { id: row?.id, status: "active" },
      state: { generation: "0" },
    });
    await save("a", "1");
    expect((await site.admin("OpenWorkspace", { request_id: "o", root: site.root })).body).toMatchObject({
      replayed: true,
      state: { generation: "1" },
    });
    expect((await site.admin("OpenWorkspace", { request_id: "o2" })).error.facts.field).toBe("root");
    expect((await site.admin("Status", {})).body).toMatchObject({
      version: "9.9.9",
      pid: "1",
      mode: "foreground",
      running_requests: "1",
      workspaces: [{ id: row?.id }],
    });
    expect((await site.admin("CloseWorkspace", { request_id: "c" })).body.info).toMatchObject({ id: row?.id, status: "closed" });
    expect((await site.admin("CloseWorkspace", { request_id: "c" })).body.replayed).toBe(true);
    expect((await site.admin("ListWorkspaces", {})).body.workspaces).toMatchObject([{ id: row?.id, status: "closed" }]);
    expect((await refusal("Context", {})).reason).toBe("WORKSPACE_NOT_FOUND");
  });

  it("makes, lists and revokes tokens, by workspace names", async () => {
    const row = site.hosted[0];
    const made = (
      await site.admin("CreateToken", {
        request_id: "t",
        principal: "x",
        scopes: ["read", "save"],
        workspaces: ["ws"],
        paths: ["src"],
        expires_in_ms: "60000",
      })
    ).body;
    expect(made.info).toMatchObject({
      principal: "x",
      scopes: ["read", "save"],
      workspaces: [row?.id],
      paths: ["src"],
      created_by: "owner",
    });
    expect(Date.parse(made.info.expires) - Date.parse(made.info.created)).toBe(60_000);
    expect((await site.admin("ListTokens", {})).body.tokens.map((one: { id: string }) => one.id)).toEqual([made.info.id]);
    expect(JSON.stringify((await site.admin("ListTokens", {})).body)).not.toContain(made.token);
    expect((await site.admin("RevokeToken", { request_id: "r", id: made.info.id })).body.info.revoked).toBeDefined();
    expect((await site.admin("RevokeToken", { request_id: "r2", id: "tk_none" })).error.reason).toBe("ID_NOT_FOUND");
    for (const workspaces of [["none"], [""]]) {
      const { reason } = (
        await site.admin("CreateToken", { request_id: `n${++ids}`, principal: "x", scopes: ["read"], workspaces })
      ).error;
      expect(["WORKSPACE_NOT_FOUND", "INVALID_REQUEST"]).toContain(reason);
    }
    const day = 86_400_000;
    for (const [ms, ok] of [
      [366 * day - 1, true],
      [366 * day, true],
      [366 * day + 1, false],
    ] as const) {
      expect(
        (await site.admin("CreateToken", { request_id: `e${++ids}`, principal: "x", scopes: ["read"], expires_in_ms: ms }))
          .status === 200,
        String(ms),
      ).toBe(ok);
    }
  });

  it("backs up and shuts down once each, answering first", async () => {
    expect((await site.admin("Backup", { request_id: "b", directory: "relative" })).error.facts.field).toBe("directory");
    expect((await site.admin("Backup", { request_id: "b2", directory: "/tmp/x" })).body).toMatchObject({
      directory: "/tmp/x",
      bytes: "5",
      replayed: false,
    });
    expect((await site.admin("Backup", { request_id: "b2", directory: "/tmp/x" })).body.replayed).toBe(true);
    for (const [ms, ok] of [
      [599_999, true],
      [600_000, true],
      [600_001, false],
    ] as const) {
      expect((await site.admin("Shutdown", { request_id: `d${ms}`, drain_ms: ms })).status === 200, String(ms)).toBe(ok);
    }
    expect((await site.admin("Shutdown", { request_id: "d" })).body).toMatchObject({
      pid: "1",
      running_requests: "0",
      replayed: false,
    });
    expect((await site.admin("Shutdown", { request_id: "d" })).body.replayed).toBe(true);
    expect(site.shutdowns).toEqual([599_999, 600_000, 10_000]);
  });
});

function sha(text: string): string {
  return hashOf(Buffer.from(text));
}
