import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { GinError } from "../../../src/daemon/base/index.ts";
import type { Diagnostic, EditPlan, FileDiagnostics, Found, Lsp, LspAsk, ServerStatus } from "../../../src/daemon/lsp/index.ts";
import { openStore } from "../../../src/daemon/store/index.ts";
import { noServers } from "../../helpers/lsp/none.ts";
import { Story } from "../history/storyline.ts";
import { type ApiSite, caller, fastDir, openApi } from "./site.ts";

const sha = (text: string): string => createHash("sha256").update(text).digest("hex");
const span = { start: { line: 1, character: 1 }, end: { line: 1, character: 2 } };

/** A room whose answers are made here. */
function room(answer: (question: LspAsk) => Found | Promise<Found>, servers: readonly ServerStatus[] = []): Lsp {
  return {
    ...noServers(),
    servers: () => servers,
    async ask(question) {
      const found = await answer(question);
      return { server: "fake", serverVersion: "1.0", state: "ready", sha256: "", generation: 3, partial: false, note: "", found };
    },
  };
}

async function open(lsp: Lsp): Promise<ApiSite> {
  const scopes = new Set(["read", "lsp", "save"] as const);
  return await openApi({
    lsp,
    callers: { agent: caller("agent", { scopes }), narrow: caller("owner", { paths: ["a.ts"] }) },
  });
}

const diagnostic = (message: string): Diagnostic => ({ span, severity: "error", code: "", source: "", message });
const file = (path: string, count: number): FileDiagnostics => ({
  path,
  sha256: sha(path),
  server: "fake",
  diagnostics: Array.from({ length: count }, (_, index) => diagnostic(`${path} ${index}`)),
});

describe("pages of one answer", () => {
  it("end within a file that goes on in the next, and lose none; what the caller may not see is left out", async () => {
    let asked = 0;
    const site = await open(
      room(() => {
        asked += 1;
        return { kind: "diagnostics", files: { items: [file("a.ts", 3), file("b.ts", 0), file("c.ts", 4)], total: 3 } };
      }),
    );
    const seen: string[] = [];
    const pages: string[][] = [];
    for (let cursor = ""; ; ) {
      const { body } = await site.call("Lsp", { action: "diagnostics", page_size: 3, cursor });
      pages.push(body.diagnostics.map((one: { path: string; diagnostics: object[] }) => `${one.path} ${one.diagnostics.length}`));
      for (const one of body.diagnostics) seen.push(...one.diagnostics.map((each: { message: string }) => each.message));
      expect([body.total, body.server, body.server_state]).toEqual([3, "fake", "ready"]);
      cursor = body.next_cursor;
      if (cursor === "") break;
    }
    expect(pages).toEqual([["a.ts 3"], ["b.ts 0", "c.ts 2"], ["c.ts 2"]]);
    expect(seen).toEqual(["a.ts 0", "a.ts 1", "a.ts 2", "c.ts 0", "c.ts 1", "c.ts 2", "c.ts 3"]);
    expect(asked).toBe(1);
    const { body } = await site.call("Lsp", { action: "diagnostics", page_size: 4 }, { as: "narrow" });
    expect(body.diagnostics.map((one: { path: string }) => one.path)).toEqual(["a.ts"]);
  });

  it("expire when newer answers push them out, and belong to whoever asked", async () => {
    const site = await open(room(() => ({ kind: "diagnostics", files: { items: [file("a.ts", 2)], total: 1 } })));
    const ask = (more: object = {}, as = "owner") => site.call("Lsp", { action: "diagnostics", page_size: 1, ...more }, { as });
    const { next_cursor: first } = (await ask()).body;
    expect((await ask({ cursor: first })).body.diagnostics[0].diagnostics[0].message).toBe("a.ts 1");
    expect((await ask({ cursor: first }, "agent")).error.reason).toBe("INVALID_CURSOR");
    for (let count = 0; count < 64; count += 1) await ask();
    expect((await ask({ cursor: first })).error.reason).toBe("CURSOR_EXPIRED");
    expect((await ask({ cursor: `${first}x` })).error.reason).toBe("INVALID_CURSOR");
  });

  it("take no more memory for being long: fewer long ones are kept than short ones", async () => {
    let length = 40_000;
    const site = await open(room(() => ({ kind: "diagnostics", files: { items: [file("a.ts", length)], total: 1 } })));
    const ask = (more: object = {}) => site.call("Lsp", { action: "diagnostics", page_size: 1, ...more });
    const cursors: string[] = [];
    for (let count = 0; count < 3; count += 1) cursors.push((await ask()).body.next_cursor);
    const kept = async () => (await Promise.all(cursors.map((cursor) => ask({ cursor })))).map(({ error }) => error?.reason);
    expect(await kept()).toEqual(["CURSOR_EXPIRED", undefined, undefined]);
    length = 300_000;
    cursors.splice(0, 3, (await ask()).body.next_cursor);
    expect(await kept()).toEqual([undefined]);
  });
});

describe("an edit that is saved", () => {
  /** Replaces a.ts's first line by the name, expecting what is on disk when it is planned. */
  function planning(root: () => string, over: Partial<EditPlan> = {}, afterPlan: (attempt: number) => void = () => {}) {
    let attempts = 0;
    return room(({ newName = "" }) => {
      attempts += 1;
      const before = readFileSync(join(root(), "a.ts"), "utf8");
      const content = Buffer.from(before.replace(/^.*/, newName));
      const plan: EditPlan = {
        title: `rename to ${newName}`,
        edits: [{ path: "a.ts", expect: sha(before), content }],
        files: [
          {
            path: "a.ts",
            renamedTo: "",
            deleted: false,
            created: false,
            before: sha(before),
            changes: [{ span, newText: newName }],
          },
        ],
        verify: async () => ({ references: { before: 2, after: 2 }, introduced: [], resolved: 1, note: "" }),
        ...over,
      };
      afterPlan(attempts);
      return { kind: "edit", plan };
    });
  }
  const RENAME = { action: "rename", path: "a.ts", symbol: "x", new_name: "y" };

  it("is planned anew when the file changed in between, unless the caller named the content", async () => {
    let root = "";
    const racing = planning(
      () => root,
      {},
      (attempt) => {
        if (attempt % 2 === 1) writeFileSync(join(root, "a.ts"), `x\nraced ${attempt}\n`);
      },
    );
    const site = await open(racing);
    root = site.root;
    writeFileSync(join(root, "a.ts"), "x\n");
    const done = await site.call("Lsp", { ...RENAME, apply: true, request_id: "r-1", message: "why" });
    expect(done.body).toMatchObject({ no_change: false, title: "rename to y", verified: { references_before: 2, resolved: 1 } });
    expect(readFileSync(join(root, "a.ts"), "utf8")).toBe("y\nraced 1\n");
    const { changes } = (await site.call("Context", { full: true })).body;
    expect(changes[0]).toMatchObject({ id: done.body.checkpoint, message: "why", cause: "CAUSE_TOOL" });
    const fixed = await site.call("Lsp", { ...RENAME, apply: true, request_id: "r-2", if_hash: sha("y\nraced 1\n") });
    expect(fixed.error.reason).toBe("STALE_CONTENT");
  });

  it("by a line is not planned anew for another content of that file: something else may stand there", async () => {
    const asked: (string | undefined)[] = [];
    const plan: EditPlan = {
      title: "t",
      edits: [{ path: "b.ts", expect: sha("y\n"), content: Buffer.from("z\n") }],
      files: [],
      verify: async () => ({ introduced: [], resolved: 0, note: "" }),
    };
    const lsp: Lsp = {
      ...noServers(),
      async ask({ ifHash }) {
        asked.push(ifHash);
        if (ifHash !== undefined && asked.length > 2) throw new GinError("STALE_CONTENT", "a.ts has another content");
        const facts = { server: "fake", serverVersion: "", state: "ready", generation: 1, partial: false, note: "" } as const;
        return { ...facts, sha256: sha("x\n"), found: { kind: "edit", plan } };
      },
    };
    const site = await open(lsp);
    for (const [path, text] of Object.entries({ "a.ts": "x\n", "b.ts": "raced\n" })) writeFileSync(join(site.root, path), text);
    const byLine = { action: "rename", path: "a.ts", line: 1, character: 1, new_name: "y", apply: true };
    expect((await site.call("Lsp", { ...byLine, request_id: "r-1" })).error.reason).toBe("STALE_CONTENT");
    expect(asked).toEqual([undefined, sha("x\n"), sha("x\n")]);
    expect((await site.call("Lsp", { ...RENAME, apply: true, request_id: "r-2" })).error.reason).toBe("STALE_CONTENT");
    expect(asked.slice(3)).toEqual([undefined, undefined, undefined]);
  });

  it("stands whatever the server says afterwards, and its replay says what was stored", async () => {
    let root = "";
    const site = await open(
      planning(() => root, {
        verify: async () => {
          throw new GinError("NOT_READY", "fake crashed");
        },
      }),
    );
    root = site.root;
    writeFileSync(join(root, "a.ts"), "x\n");
    const done = await site.call("Lsp", { ...RENAME, apply: true, request_id: "r-1" });
    expect(done.body.verified).toMatchObject({ note: "not verified: fake crashed" });
    const again = await site.call("Lsp", { ...RENAME, apply: true, request_id: "r-1" });
    expect(again.body).toMatchObject({ replayed: true, checkpoint: done.body.checkpoint, files: done.body.files });
    expect((await site.call("Lsp", { ...RENAME, new_name: "z", apply: true, request_id: "r-1" })).error.reason).toBe(
      "REQUEST_ID_REUSED",
    );
    const outcome = await site.call("RequestOutcome", { target_request_id: "r-1" });
    expect(outcome.body).toMatchObject({ outcome: "OUTCOME_COMMITTED", operation: "Lsp" });
  });

  it("of so many files that their names alone are too long to be kept is kept without them", async () => {
    let root = "";
    const files = Array.from({ length: 900 }, (_, index) => ({
      path: `${"directory/".repeat(8)}${index}.ts`,
      renamedTo: "",
      deleted: false,
      created: false,
      before: sha(String(index)),
      changes: [{ span, newText: "y" }],
    }));
    const site = await open(planning(() => root, { files }));
    root = site.root;
    writeFileSync(join(root, "a.ts"), "x\n");
    const renamed = { ...RENAME, apply: true, request_id: "r-1" };
    const done = (await site.call("Lsp", renamed)).body;
    expect([done.files.length, done.total, done.files[0].changes.length]).toEqual([900, 900, 1]);
    const again = (await site.call("Lsp", renamed)).body;
    expect(again).toMatchObject({ replayed: true, checkpoint: done.checkpoint, total: 900, files: [] });
  });

  it("is recorded when there is nothing to change; refused when it is too wide for the caller", async () => {
    let root = "";
    const site = await open(planning(() => root, { edits: [], files: [] }));
    root = site.root;
    writeFileSync(join(root, "a.ts"), "x\n");
    const same = { ...RENAME, apply: true, request_id: "r-1" };
    expect((await site.call("Lsp", same)).body).toMatchObject({ no_change: true, checkpoint: "", replayed: false });
    expect((await site.call("Lsp", same)).body).toMatchObject({ no_change: true, replayed: true });
    const reader = await openApi({
      lsp: planning(() => root),
      callers: { reader: caller("reader", { scopes: new Set(["read", "lsp"]) }) },
    });
    expect((await reader.call("Lsp", same, { as: "reader" })).error).toMatchObject({
      reason: "SCOPE_FORBIDDEN",
      facts: { scope: "save" },
    });
  });
});

it("what servers say on their standard error is for the owner", async () => {
  const status: ServerStatus = {
    server: "fake",
    folder: "",
    state: "ready",
    name: "Fake",
    version: "1",
    note: "",
    install: "",
    languages: ["toy"],
    residentBytes: 4_096,
    openDocuments: 2,
    restarts: 1,
    idleMs: 12.5,
    stderrTail: "secret",
  };
  const site = await open(room(() => ({ kind: "servers", servers: [status] }), [status]));
  const tail = async (as: string) => (await site.call("Lsp", { action: "status" }, { as })).body.servers[0].stderr_tail;
  expect([await tail("owner"), await tail("agent")]).toEqual(["secret", ""]);
  const context = async (full: boolean) => (await site.call("Context", { full })).body.servers[0];
  expect(await context(true)).toMatchObject({ stderr_tail: "secret", idle_ms: "13", resident_bytes: "4096" });
  expect(await context(false)).toMatchObject({ stderr_tail: "", state: "ready" });
  const features = (await site.call("Capabilities", {})).body.features;
  expect(features).toContainEqual({ name: "language_servers", value: "enabled", note: "fake ready" });
});

it("Context stays within 4 kB however many servers there are and whatever they say", async () => {
  const wordy: ServerStatus = {
    server: "rust-analyzer",
    folder: "some/where/deep",
    state: "not_installed",
    name: "n".repeat(40),
    version: "v".repeat(80),
    note: "a long note ".repeat(100),
    install: "brew install it, or unpack a release and put its bin in PATH",
    languages: Array.from({ length: 20 }, (_, index) => `language-${index}`),
    residentBytes: 999_999_999,
    openDocuments: 64,
    restarts: 4,
    idleMs: 599_999,
    stderrTail: "e".repeat(4_096),
  };
  const site = await open(room(() => ({ kind: "servers", servers: [] }), Array(12).fill(wordy)));
  const { body } = await site.call("Context", {});
  expect(body.servers.length).toBe(5);
  expect(JSON.stringify(body).length).toBeLessThanOrEqual(4_096);
  expect((await site.call("Context", { full: true })).body.servers.length).toBe(12);
});

it("a question has ten seconds unless it says, one of a batch what the batch has", async () => {
  const waits: number[] = [];
  const site = await open(
    room(({ timeoutMs }) => {
      waits.push(timeoutMs);
      return { kind: "hover", text: "", span: undefined };
    }),
  );
  const hover = { action: "hover", path: "a.ts", symbol: "x" };
  await site.call("Lsp", hover);
  await site.call("Lsp", { ...hover, timeout_ms: 300_000 });
  await site.call("LspBatch", { queries: [hover, { ...hover, timeout_ms: 5 }, { ...hover, timeout_ms: 99_000 }] });
  await site.call("LspBatch", { queries: [hover], timeout_ms: 120_000 });
  expect(waits).toEqual([10_000, 300_000, 30_000, 5, 30_000, 120_000]);
  expect((await site.call("LspBatch", { queries: [hover], timeout_ms: 300_001 })).error.facts.field).toBe("timeout_ms");
  expect((await site.call("LspBatch", { queries: Array(21).fill(hover) })).error.reason).toBe("TOO_LARGE");
  expect((await site.call("LspBatch", { queries: [] })).error.facts.field).toBe("queries");
});

it("a view is read in pages of lines", async () => {
  const text = Array.from({ length: 2_500 }, (_, index) => `line ${index + 1}\n`).join("");
  const site = await open(room(() => ({ kind: "view", path: "lib.d.ts", text, lines: 2_500 })));
  const first = (await site.call("Lsp", { action: "view", view: "v" })).body;
  expect([first.lines, first.total, first.locations[0]]).toMatchObject([2_500, 2_500, { path: "lib.d.ts", outside: true }]);
  let whole = first.text;
  for (let cursor = first.next_cursor; cursor !== ""; ) {
    const { body } = await site.call("Lsp", { action: "view", view: "v", cursor });
    whole += body.text;
    cursor = body.next_cursor;
  }
  expect(whole).toBe(text);
});

it("what a checkpoint touched is told of this workspace's own, whole or not at all", async () => {
  const directory = fastDir();
  const store = await openStore({ directory: join(directory, "data"), inline: true });
  const story = await Story.begin(store, "ws_1");
  const own = await story.tell({ a: "1\n", b: "2\n" });
  const wide = await story.tell(Object.fromEntries(Array.from({ length: 1_001 }, (_, index) => [`f${index}`, "x\n"])));
  const other = await (await Story.begin(store, "ws_2")).tell({ secret: "1\n" });
  await store.close();
  const lsp = room(({ workspace, checkpoint = "" }) => {
    const items = workspace.touched(checkpoint).map((path) => file(path, 0));
    return { kind: "diagnostics", files: { items, total: items.length } };
  });
  const site = await openApi({ directory, lsp });
  const ask = (checkpoint: string) => site.call("Lsp", { workspace: "ws_1", action: "diagnostics", checkpoint });
  expect((await ask(own)).body.diagnostics.map(({ path }: { path: string }) => path)).toEqual(["a", "b"]);
  for (const checkpoint of [other, "ck_none"]) {
    expect((await ask(checkpoint)).error).toMatchObject({ reason: "ID_NOT_FOUND", facts: { id: checkpoint } });
  }
  expect((await ask(wide)).error).toMatchObject({ reason: "TOO_LARGE", facts: { limit: 1_000, unit: "entries" } });
});
