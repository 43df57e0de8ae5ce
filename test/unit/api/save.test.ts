import { existsSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { createServer as createHttp2Server } from "node:http2";
import { join } from "node:path";
import { ConnectError, createClient } from "@connectrpc/connect";
import { connectNodeAdapter, createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { beforeEach, expect, it } from "vitest";
import { LIMITS } from "../../../src/daemon/api/index.ts";
import { ErrorDetailSchema } from "../../../src/gen/gin/v1/common_pb.ts";
import { GinService } from "../../../src/gen/gin/v1/service_pb.ts";
import { hashOf } from "../../kernel/workspace/model.ts";
import { type ApiSite, caller, openApi } from "./site.ts";

let site: ApiSite;
let ids = 0;
beforeEach(async () => {
  site = await openApi({
    callers: {
      tcp: caller("t", { transport: "tcp", tokenId: "tk_1", scopes: new Set(["read", "save", "lease"]) }),
      src: caller("src", { paths: ["src"], scopes: new Set(["read", "save"]) }),
    },
  });
});

const save = (edits: unknown[], more: object = {}, how = {}) =>
  site.call("Save", { request_id: `s${++ids}`, edits, ...more }, how);
const refusal = async (edits: unknown[], more: object = {}, how = {}) => {
  const { error } = await save(edits, more, how);
  return [error?.reason, error?.facts?.field];
};
const sha = (text: string): string => hashOf(Buffer.from(text));

it("refuses edits whose form is wrong, naming the field", async () => {
  const at = (edit: object) =>
    refusal([
      { path: "ok", expect: "absent", text: "" },
      { path: "a", expect: "absent", ...edit },
    ]);
  const bad: [object, string][] = [
    [{}, "edits[1]"],
    [{ path: "", text: "" }, "edits[1].path"],
    [{ text: "", data: "" }, "edits[1]"],
    [{ text: "", delete: true }, "edits[1]"],
    [{ link: "b", data: "" }, "edits[1]"],
    [{ link: "" }, "edits[1].link"],
    [{ delete: true, rename_to: "b" }, "edits[1].rename_to"],
    [{ link: "x", rename_to: "b" }, "edits[1].rename_to"],
    [{ delete: true, executable: true }, "edits[1].executable"],
    [{ link: "x", executable: false }, "edits[1].executable"],
    [{ text: "", expect: "" }, "edits[1].expect"],
    [{ text: "", expect: "ABSENT" }, "edits[1].expect"],
    [{ text: "", expect: sha("x").toUpperCase() }, "edits[1].expect"],
    [{ text: "", expect: undefined }, "edits[1].expect"],
  ];
  for (const [edit, field] of bad) expect(await at(edit), JSON.stringify(edit)).toEqual(["INVALID_REQUEST", field]);
  expect(await refusal([])).toEqual(["INVALID_REQUEST", "edits"]);
  expect((await at({ object: sha("x") }))[0]).toBe("UNSUPPORTED");
  expect(await refusal([{ path: "a", expect: "absent", text: "" }], { lease_epoch: "1" })).toEqual([
    "INVALID_REQUEST",
    "lease_incarnation",
  ]);
  expect(await refusal([{ path: "a", expect: "absent", text: "" }], { lease_incarnation: "li_x" })).toEqual([
    "INVALID_REQUEST",
    "lease_epoch",
  ]);
  expect(site.workspace.state().generation).toBe(0);
});

it("does every kind of edit, and says what became of each path", async () => {
  const made = (
    await save([
      { path: "a", expect: "absent", text: "a\n" },
      { path: "b", expect: "absent", data: Buffer.from([0, 255]).toString("base64"), executable: true },
      { path: "l", expect: "absent", link: "a" },
    ])
  ).body;
  expect(made.paths).toEqual([
    { path: "a", sha256: sha("a\n"), size: "2", merged: false, no_change: false, deleted: false },
    { path: "b", sha256: hashOf(Buffer.from([0, 255])), size: "2", merged: false, no_change: false, deleted: false },
    { path: "l", sha256: sha("a"), size: "1", merged: false, no_change: false, deleted: false },
  ]);
  expect(made).toMatchObject({
    no_change: false,
    dry_run: false,
    apply_pending: false,
    rescued: [],
    detail_id: "",
    checkpoint: made.state.head,
  });
  expect(readlinkSync(join(site.root, "l"))).toBe("a");
  expect((await site.call("ReadPath", { path: "b" })).body).toMatchObject({ data: "AP8=", encoding: "binary", executable: true });
  const changed = (
    await save([
      { path: "a", expect: sha("a\n"), rename_to: "c", text: "c\n" },
      { path: "b", expect: hashOf(Buffer.from([0, 255])), executable: false },
      { path: "l", expect: sha("a"), delete: true },
    ])
  ).body;
  expect(existsSync(join(site.root, "a"))).toBe(false);
  expect(readFileSync(join(site.root, "c"), "utf8")).toBe("c\n");
  expect(changed.paths.filter((one: { deleted: boolean }) => one.deleted).map((one: { path: string }) => one.path)).toContain(
    "l",
  );
  const same = (await save([{ path: "c", expect: sha("c\n"), text: "c\n" }])).body;
  expect([same.no_change, same.state.head, same.checkpoint]).toEqual([true, changed.state.head, changed.state.head]);
});

it("takes edits without expect when a generation is given", async () => {
  await save([{ path: "a", expect: "absent", text: "1" }]);
  expect((await save([{ path: "a", text: "2" }], { generation: "1" })).status).toBe(200);
  expect((await save([{ path: "a", text: "3" }], { generation: "1" })).error.reason).toBe("STALE_GENERATION");
  expect((await save([{ path: "a", text: "3" }], { generation: "2", incarnation: "in_other" })).error.reason).toBe(
    "STALE_INCARNATION",
  );
  expect((await save([{ path: "a", text: "3" }], { generation: "2", epoch: "99" })).error.reason).toBe("STALE_EPOCH");
});

it("judges and changes nothing in a dry run", async () => {
  const dry = (await save([{ path: "a", expect: "absent", text: "1" }], { dry_run: true })).body;
  expect([dry.dry_run, dry.paths[0].sha256, existsSync(join(site.root, "a"))]).toEqual([true, sha("1"), false]);
  writeFileSync(join(site.root, "a"), "x");
  expect((await save([{ path: "a", expect: "absent", text: "1" }], { dry_run: true })).error.reason).toBe("STALE_CONTENT");
});

it("asks TCP callers for a lease by default, everybody or nobody when told so", async () => {
  const edit = [{ path: "a", expect: "absent", text: "1" }];
  const refused = (await save(edit, {}, { as: "tcp" })).error;
  expect(refused.reason).toBe("LEASE_REQUIRED");
  const { lease } = (
    await site.call(
      "Call",
      { ...refused.next_call, acquire_lease: { ...refused.next_call.acquire_lease, request_id: "l" } },
      { as: "tcp" },
    )
  ).body.acquire_lease;
  expect(
    (await save(edit, { lease_incarnation: lease.lease_incarnation, lease_epoch: lease.lease_epoch }, { as: "tcp" })).status,
  ).toBe(200);
  const always = await openApi({ requireLease: "always" });
  expect((await always.call("Save", { request_id: "r", edits: edit })).error.reason).toBe("LEASE_REQUIRED");
  const never = await openApi({ requireLease: "never", callers: { tcp: caller("t", { transport: "tcp" }) } });
  expect((await never.call("Save", { request_id: "r", edits: edit }, { as: "tcp" })).status).toBe(200);
});

it("keeps callers to their paths and the owner's rights to the owner", async () => {
  expect((await save([{ path: "src/a", expect: "absent", text: "1" }], {}, { as: "src" })).status).toBe(200);
  expect((await save([{ path: "srcfoo", expect: "absent", text: "1" }], {}, { as: "src" })).error.reason).toBe("SCOPE_FORBIDDEN");
  expect((await save([{ path: "src/a", expect: sha("1"), rename_to: "out" }], {}, { as: "src" })).error.reason).toBe(
    "SCOPE_FORBIDDEN",
  );
  expect((await save([{ path: "src/a", expect: sha("1"), delete: true }], {}, { as: "src" })).status).toBe(200);
  expect((await save([{ path: "src/l", expect: "absent", link: "a" }], {}, { as: "src" })).error.facts).toEqual({
    scope: "admin",
  });
});

it("holds messages and edits to their limits: one less, exactly, one more", async () => {
  const message = LIMITS.save_message_bytes.value;
  for (const [size, ok] of [
    [message - 1, true],
    [message, true],
    [message + 1, false],
  ] as const) {
    const { status, error } = await save([{ path: `m${size}`, expect: "absent", text: "" }], { message: "m".repeat(size) });
    expect([status === 200, error?.facts?.limit], String(size)).toEqual([ok, ok ? undefined : message]);
  }
  expect((await save([{ path: "u", expect: "absent", text: "" }], { message: "é".repeat(message / 2 + 1) })).error.reason).toBe(
    "TOO_LARGE",
  );
  const most = LIMITS.save_edits.value;
  const edits = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ path: `f/${index}`, expect: "absent", text: "" }));
  const over = (await save(edits(most + 1), { dry_run: true })).error;
  expect([over.reason, over.facts]).toEqual(["TOO_LARGE", { field: "edits", limit: most, unit: "entries" }]);
  for (const count of [most - 1, most]) {
    expect((await save(edits(count), { dry_run: true })).body.paths.length, String(count)).toBe(count);
  }
});

it("moves the facts of a refusal that do not fit into gRPC trailers to Details", async () => {
  const server = createHttp2Server(
    connectNodeAdapter({ ...site.api.routerOptions, routes: site.api.routes, contextValues: () => site.contextOf("owner") }),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const url = `http://127.0.0.1:${port}`;
  const sessions = new Http2SessionManager(url);
  const client = createClient(GinService, createGrpcTransport({ baseUrl: url, sessionManager: sessions }));
  writeFileSync(join(site.root, "a"), "now\n".repeat(3_000));
  const thrown = await client.save({ requestId: "g", edits: [{ path: "a", expect: sha("then"), text: "x" }] }).then(
    () => undefined,
    (error: unknown) => error,
  );
  const detail = thrown instanceof ConnectError ? thrown.findDetails(ErrorDetailSchema)[0] : undefined;
  expect([detail?.reason, detail?.facts, detail?.detailId.slice(0, 3)]).toEqual(["STALE_CONTENT", undefined, "dt_"]);
  const page = (await site.call("Details", { detail_id: detail?.detailId })).body;
  expect([page.kind, JSON.parse(page.text.split("\n")[0]).paths[0].path]).toEqual(["error.facts", "a"]);
  sessions.abort();
  await new Promise((resolve) => server.close(resolve));
});
