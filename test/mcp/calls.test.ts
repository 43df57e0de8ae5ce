import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/clients/sdk/index.ts";
import { runGin } from "../helpers/gin.ts";
import { type Bridge, startBridge } from "./bridge.ts";
import { HELLO, type Site, startSite } from "./setup.ts";

const PAGE_BYTES = 25_000;

let site: Site;
let bridge: Bridge;
beforeAll(async () => {
  site = await startSite();
  bridge = startBridge(["--host", site.host, "--root", site.root]);
  await bridge.initialize();
});

const sha = (text: string | Uint8Array): string => createHash("sha256").update(text).digest("hex");

const gin = (...args: string[]) => runGin([...args, "--root", site.root, "--principal", "mcp-tester"], { host: site.host });

describe("answers", () => {
  it("are what the CLI prints", async () => {
    const read = await bridge.tool("gin_read", { path: "a.txt" });
    expect(`${read.texts[0]}\n`).toBe((await gin("read", "a.txt", "--json")).stdout);
    const capabilities = await bridge.tool("gin_capabilities");
    expect(`${capabilities.texts[0]}\n`).toBe((await gin("capabilities", "--json")).stdout);
    const missing = await bridge.tool("gin_read", { path: "nope" });
    expect(missing.isError).toBe(true);
    expect(`${missing.texts[0]}\n`).toBe((await gin("read", "nope", "--json")).stdout);
    const request = { read_path: { path: "a.txt" } };
    const call = await bridge.tool("gin_call", { request });
    expect(`${call.texts[0]}\n`).toBe((await gin("call", "--json", JSON.stringify(request))).stdout);
  });

  it("a save, its replay, its outcome, and what explains it", async () => {
    const edits = [
      { path: "new/b.txt", expect: "absent", text: "b\n" },
      { path: "new/c.bin", expect: "absent", data: Buffer.from([0, 255]).toString("base64"), executable: true },
    ];
    const saved = await bridge.tool("gin_save", { edits, message: "two", request_id: "r-1" });
    expect(saved).toMatchObject({ isError: false, json: { request_id: "r-1", replayed: false, no_change: false } });
    expect(saved.texts).toHaveLength(1);
    expect(readFileSync(join(site.root, "new/b.txt"), "utf8")).toBe("b\n");
    expect(readFileSync(join(site.root, "new/c.bin"))).toEqual(Buffer.from([0, 255]));
    expect((await bridge.tool("gin_save", { edits, message: "two", request_id: "r-1" })).json).toMatchObject({
      replayed: true,
      checkpoint: saved.json.checkpoint,
    });
    const outcome = await bridge.tool("gin_call", { request: { request_outcome: { target_request_id: "r-1" } } });
    expect(outcome.json).toMatchObject({ request_outcome: { outcome: "OUTCOME_COMMITTED" } });
    const explained = await bridge.tool("gin_explain", { id: String(saved.json.checkpoint) });
    expect(explained.json).toMatchObject({ kind: "checkpoint", facts: { principal: "mcp-tester" } });
  });

  it("mints a request id and always returns it", async () => {
    const text = `${Math.random()}`;
    const saved = await bridge.tool("gin_save", { edits: [{ path: "minted.txt", expect: "absent", text }] });
    expect(saved.json.request_id).toMatch(/^rq_[0-9a-v]{20}$/);
    const refused = await bridge.tool("gin_save", { edits: [{ path: "minted.txt", expect: "absent", text: "other" }] });
    expect(refused).toMatchObject({ isError: true, json: { error: { reason: "STALE_CONTENT" } } });
    const { request_id: id } = JSON.parse(refused.texts[1] ?? "") as { request_id: string };
    expect(id).toMatch(/^rq_/);
    const outcome = await bridge.tool("gin_call", { request: { request_outcome: { target_request_id: id } } });
    expect(outcome.json).toMatchObject({ request_outcome: { outcome: "OUTCOME_REJECTED" } });
  });

  it("a collision gives the current text, and merges when asked", async () => {
    const base = "one\ntwo\nthree\nfour\nfive\n";
    await bridge.tool("gin_save", { edits: [{ path: "m.txt", expect: "absent", text: base }] });
    writeFileSync(join(site.root, "m.txt"), base.replace("one", "ONE"));
    const edit = { path: "m.txt", expect: sha(base), text: base.replace("five", "FIVE") };
    const stale = await bridge.tool("gin_save", { edits: [edit] });
    expect(stale.json).toMatchObject({
      error: { reason: "STALE_CONTENT", facts: { paths: [{ current_text: base.replace("one", "ONE"), merge: "clean" }] } },
    });
    expect((await bridge.tool("gin_save", { edits: [edit], on_conflict: "merge" })).json).toMatchObject({
      paths: [{ merged: true }],
    });
    expect(readFileSync(join(site.root, "m.txt"), "utf8")).toBe("ONE\ntwo\nthree\nfour\nFIVE\n");
  });

  it("a lease by gin_call fences a gin_save", async () => {
    const acquired = await bridge.tool("gin_call", { request: { acquire_lease: { paths: ["fenced"], intent: "test" } } });
    const lease = (acquired.json.acquire_lease as JsonObject).lease as JsonObject;
    const fence = { lease_incarnation: lease.lease_incarnation, lease_epoch: lease.lease_epoch };
    const edits = [{ path: "fenced/x", expect: "absent", text: "x" }];
    expect((await bridge.tool("gin_save", { edits })).json).toMatchObject({ error: { reason: "LEASE_HELD" } });
    expect((await bridge.tool("gin_save", { edits, ...fence })).isError).toBe(false);
    const release = await bridge.tool("gin_call", { request: { release_lease: { lease_id: lease.lease_id, ...fence } } });
    expect(release.json).toMatchObject({ release_lease: { released: true } });
  });

  it("a save of megabytes goes through, and one the daemon does not take is refused by it", async () => {
    const text = "0123456789abcde\n".repeat(512 * 1024);
    const saved = await bridge.tool("gin_save", { edits: [{ path: "large.txt", expect: "absent", text }] });
    expect(saved.json).toMatchObject({ paths: [{ path: "large.txt", size: String(text.length), sha256: sha(text) }] });
    const many = Array.from({ length: 10_001 }, (_, at) => ({ path: `f${at}`, expect: "absent", text: "" }));
    expect((await bridge.tool("gin_save", { edits: many })).json).toMatchObject({ error: { reason: "TOO_LARGE" } });
  });

  it("every optional field reaches the engine", async () => {
    const lines = await bridge.tool("gin_read", {
      path: "a.txt",
      start_line: 1,
      end_line: 1,
      content: true,
      snapshot: "head",
      limit: 3,
    });
    expect(lines.json).toMatchObject({ text: "hel" });
    expect((await bridge.tool("gin_read", { path: "a.txt", if_hash: HELLO })).json).toMatchObject({ unchanged: true });
    const { json: context } = await bridge.tool("gin_context", { since_generation: "0", full: true, sections: ["changes"] });
    expect(context.root).toBe("");
    expect((context.changes as JsonObject[]).length).toBeGreaterThan(0);
    const { generation, incarnation, epoch } = context.state as JsonObject;
    const edits = [{ path: "a.txt", rename_to: "moved.txt" }];
    const dry = await bridge.tool("gin_save", { edits, dry_run: true, incarnation, generation, epoch });
    expect(dry).toMatchObject({ isError: false, json: { dry_run: true } });
    expect(existsSync(join(site.root, "a.txt"))).toBe(true);
    const stale = await bridge.tool("gin_save", { edits, generation: 0 });
    expect(stale.json).toMatchObject({ error: { reason: "STALE_GENERATION" } });
    expect((await bridge.tool("gin_save", { edits: [{ ...edits[0], expect: HELLO }], epoch: "999" })).json).toMatchObject({
      error: { reason: "STALE_EPOCH" },
    });
    const removed = await bridge.tool("gin_save", { edits: [{ path: "minted.txt", delete: true }], generation });
    expect(removed.isError).toBe(false);
  });
});

describe("arguments that cannot form a request", () => {
  it.each([
    ["gin_read", {}, "path is missing"],
    ["gin_read", { path: 5 }, "path must be text"],
    ["gin_read", { path: "a", limit: -1 }, "limit must be 0 or more"],
    ["gin_read", { path: "a", limit: 1.5 }, "limit must be an integer"],
    ["gin_read", { path: "a", file: "b" }, "no argument file"],
    ["gin_read", { path: "a", content: "yes" }, "content must be true or false"],
    ["gin_save", {}, "edits is missing"],
    ["gin_save", { edits: "x" }, "edits must be an array"],
    ["gin_save", { edits: [{ text: "x" }] }, "edits[0].path is missing"],
    ["gin_save", { edits: [{ path: "x", oldText: "y" }] }, "no argument edits[0].oldText"],
    ["gin_save", { edits: [], on_conflict: "overwrite" }, "on_conflict must be one of refuse, merge"],
    ["gin_save", { edits: [], lease_epoch: 2 ** 60 }, "lease_epoch must be a whole number"],
    ["gin_context", { sections: ["all"] }, "sections[0] must be one of"],
    ["gin_call", { request: {} }, "exactly one operation"],
    ["gin_call", { request: { save: {}, context: {} } }, "exactly one operation"],
    ["gin_call", { request: { context: { request_id: "a" } }, request_id: "b" }, "given twice"],
  ])("%s %j: a tool error that says the fix", async (name, args, message) => {
    const { isError, json } = await bridge.tool(name, args);
    expect(isError).toBe(true);
    expect(json).toMatchObject({ bridge_error: { kind: "arguments", message: expect.stringContaining(message) } });
    expect((json.bridge_error as JsonObject).suggestion).not.toBe("");
  });

  it("what the engine judges is the engine's answer", async () => {
    const { json } = await bridge.tool("gin_call", { request: { read_path: { path: "a.txt", nope: 1 } } });
    expect(json).toMatchObject({ error: { reason: "INVALID_REQUEST" } });
    expect((await bridge.tool("gin_call", { request: { frobnicate: {} } })).json).toMatchObject({
      error: { reason: "INVALID_REQUEST" },
    });
    expect((await bridge.tool("gin_read", { path: "../x" })).json).toMatchObject({ error: { reason: "PATH_INVALID" } });
  });

  it("an object sent as its JSON text is taken, as some hosts send it", async () => {
    const edits = JSON.stringify([{ path: "quoted.txt", expect: "absent", text: "[1]" }]);
    expect((await bridge.tool("gin_save", { edits, message: null })).isError).toBe(false);
    const request = JSON.stringify({ read_path: { path: "quoted.txt" } });
    expect((await bridge.tool("gin_call", { request })).json).toMatchObject({ read_path: { text: "[1]" } });
  });
});

describe("pages", () => {
  async function pages(args: object, part: (page: JsonObject) => Buffer): Promise<Buffer> {
    const parts: Buffer[] = [];
    let cursor = "";
    for (let page = 0; page < 200; page += 1) {
      const answer = await bridge.tool("gin_read", { ...args, ...(cursor !== "" && { cursor }) });
      expect(answer.isError).toBe(false);
      expect(Buffer.byteLength(answer.texts[0] ?? "")).toBeLessThanOrEqual(PAGE_BYTES);
      parts.push(part(answer.json));
      cursor = String(answer.json.next_cursor);
      if (cursor === "") return Buffer.concat(parts);
    }
    throw new Error("pages without end");
  }

  it.each([
    ["plain", "a line of text\n".repeat(6_000)],
    ["all quotes", '"\\'.repeat(40_000)],
    ["control characters", "\u0001".repeat(20_000)],
    ["four-byte characters", "\u{1f600}".repeat(10_000)],
  ])("text of %s is whole after its last page, each within 25 kB", async (name, text) => {
    const path = `page-${name.replaceAll(" ", "-")}.txt`;
    writeFileSync(join(site.root, path), text);
    expect(sha(await pages({ path }, (page) => Buffer.from(String(page.text), "utf8")))).toBe(sha(text));
  });

  it("so are bytes and a directory", async () => {
    const bytes = Buffer.alloc(90_000, 0xfe);
    writeFileSync(join(site.root, "page.bin"), bytes);
    expect(sha(await pages({ path: "page.bin" }, (page) => Buffer.from(String(page.data), "base64")))).toBe(sha(bytes));
    mkdirSync(join(site.root, "many"));
    const names = Array.from({ length: 300 }, (_, at) => `${String(at).padStart(3, "0")}-${"n".repeat(200)}`);
    for (const name of names) writeFileSync(join(site.root, "many", name), "");
    const listed = await pages({ path: "many", limit: 1000 }, (page) =>
      Buffer.from((page.entries as JsonObject[]).map((entry) => `${entry.name}\n`).join("")),
    );
    expect(listed.toString()).toBe(names.map((name) => `${name}\n`).join(""));
  });

  it("what has no pages is cut and says where, and a call to repeat is never cut short", async () => {
    const edits = Array.from({ length: 60 }, (_, at) => ({ path: `wide/${at}-${"w".repeat(200)}`, expect: "absent", text: "w" }));
    await bridge.tool("gin_save", { edits: edits.map((edit) => ({ ...edit, path: `${edit.path}/${"d".repeat(200)}` })) });
    for (const at of Array(12).keys()) {
      await bridge.tool("gin_save", { edits: [{ path: `log-${at}`, expect: "absent", text: "x" }], message: "m".repeat(4_000) });
    }
    const full = await bridge.tool("gin_context", { full: true });
    expect(Buffer.byteLength(full.texts[0] ?? "")).toBeLessThanOrEqual(PAGE_BYTES);
    expect(full.json.cut).toContain("changes");
    const text = `${"long\n".repeat(20_000)}`;
    writeFileSync(join(site.root, "long.txt"), text);
    const stale = await bridge.tool("gin_save", { edits: [{ path: "long.txt", expect: "absent", text: `${text}x` }] });
    expect(Buffer.byteLength(stale.texts[0] ?? "")).toBeLessThanOrEqual(PAGE_BYTES);
    const error = stale.json.error as JsonObject;
    expect(error.reason).toBe("STALE_CONTENT");
    if (error.next_call !== undefined) expect(JSON.stringify(error.next_call)).toContain(JSON.stringify(`${text}x`));
  });
});
