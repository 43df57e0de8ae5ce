import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { GinError } from "../../../src/daemon/base/index.ts";
import type { Found, Location, Lsp, LspAnswer, LspAsk, SymbolNode } from "../../../src/daemon/lsp/index.ts";
import { noServers } from "../../helpers/lsp/none.ts";
import { caller } from "../api/site.ts";
import { openTools, type ToolSite } from "./site.ts";

const TEXT = "one\ntwo\nthree\nfour\nfive\n";
const SHA = createHash("sha256").update(TEXT).digest("hex");

const span = (line: number, character: number) => ({ start: { line, character }, end: { line, character: character + 1 } });
const location = (line: number, over: Partial<Location> = {}): Location => ({
  path: "a.txt",
  span: span(line, 2),
  outside: false,
  view: "",
  sha256: SHA,
  excerpt: "the line",
  ...over,
});
const symbol = (name: string, kind: string, children: readonly SymbolNode[] = []): SymbolNode => ({
  name,
  namePath: name,
  kind,
  detail: "",
  location: location(1),
  selection: span(1, 7),
  children,
});

/** A room that gives what it is told to, and keeps what it was asked. */
function fake(answer: (question: LspAsk) => Found | GinError, over: Partial<LspAnswer> = {}): Lsp & { readonly asked: LspAsk[] } {
  const asked: LspAsk[] = [];
  return {
    ...noServers(),
    asked,
    async ask(question) {
      asked.push(question);
      const found = answer(question);
      if (found instanceof GinError) throw found;
      return {
        server: "fake",
        serverVersion: "1",
        state: "ready",
        sha256: SHA,
        generation: 7,
        partial: false,
        note: "",
        found,
        ...over,
      };
    },
  };
}

async function open(lsp: Lsp): Promise<ToolSite> {
  return await openTools({ "a.txt": TEXT }, { lsp, callers: { reader: caller("reader", { scopes: new Set(["read"]) }) } });
}

const none: Found = { kind: "locations", locations: { items: [], total: 0 } };

describe("lsp_query", () => {
  it("shows a location with lines around it, the line itself marked; one outside, gone or of another content by its own line", async () => {
    const items = [
      location(3),
      location(1, { path: "lib.d.ts", outside: true, view: "vw1", sha256: "" }),
      location(2, { sha256: "0".repeat(64) }),
      location(4, { path: "gone.txt" }),
    ];
    const { ok } = await open(fake(() => ({ kind: "locations", locations: { items, total: 4 } })));
    const { result, meta } = await ok(
      "lsp_query",
      { action: "definition", path: "./a.txt", line: 1, character: 1 },
      { requestId: "" },
    );
    expect(result.split("\n")).toEqual([
      "4 locations",
      "a.txt:3:2",
      "  1 one",
      "  2 two",
      "> 3 three",
      "  4 four",
      "  5 five",
      "lib.d.ts:1:2 (outside the workspace, view vw1)",
      "> 1 the line",
      "a.txt:2:2",
      "> 2 the line",
      "gone.txt:4:2",
      "> 4 the line",
    ]);
    expect(meta).toEqual({ server: "fake", state: "ready", sha256: SHA, generation: 7 });
  });

  it("counts references beyond the hundred it shows, with one line around each", async () => {
    const items = Array.from({ length: 120 }, () => location(2));
    const { ok } = await open(fake(() => ({ kind: "locations", locations: { items, total: 300 } })));
    const { result } = await ok("lsp_query", { action: "references", path: "a.txt", symbol: "two" });
    expect(result.startsWith("300 references\na.txt:2:2\n  1 one\n> 2 two\n  3 three\n")).toBe(true);
    expect(result.endsWith("\n… 200 more; Lsp pages through all of them")).toBe(true);
  });

  it("says partial first, and none only of what has none", async () => {
    const files = [
      { path: "a.txt", sha256: SHA, server: "fake", diagnostics: [] },
      {
        path: "b.txt",
        sha256: "" as const,
        server: "fake",
        diagnostics: [],
        refused: { reason: "NOT_READY", message: "it starts" },
      },
      {
        path: "c.txt",
        sha256: SHA,
        server: "fake",
        diagnostics: [{ span: span(4, 1), severity: "error" as const, code: "E1", source: "cc", message: "no" }],
      },
    ];
    const { ok } = await open(
      fake(() => ({ kind: "diagnostics", files: { items: files, total: 3 } }), { partial: true, note: "not all" }),
    );
    expect((await ok("lsp_query", { action: "diagnostics", path: "a.txt" })).result).toBe(
      "partial: not all\na.txt: none\nb.txt: not known: it starts\n1 diagnostic\nc.txt:4:1: error: no [cc E1]",
    );
  });

  it("shows symbols as a tree, and a rename as what it would change", async () => {
    const rename: Found = {
      kind: "edit",
      plan: {
        title: "rename",
        edits: [],
        files: [
          {
            path: "a.txt",
            renamedTo: "",
            deleted: false,
            created: false,
            before: SHA,
            changes: [{ span: span(2, 1), newText: "zwei" }],
          },
        ],
        verify: async () => ({ introduced: [], resolved: 0, note: "" }),
      },
    };
    const tree: Found = {
      kind: "symbols",
      symbols: { items: [symbol("Cart", "class", [symbol("ONE", "enum_member")])], total: 1 },
    };
    const room = fake(({ action }) => (action === "rename" ? rename : tree));
    const { ok } = await open(room);
    expect((await ok("lsp_query", { action: "symbols", path: "a.txt", line: 3 })).result).toBe(
      "Class Cart (line 1:7)\n  Enum member ONE (line 1:7)",
    );
    const { result } = await ok("lsp_query", {
      action: "rename",
      path: "a.txt",
      line: 2,
      symbol: "two",
      new_name: "zwei",
      if_checksum: SHA,
    });
    expect(result).toBe(`would change 1 file (${SHA.slice(0, 12)})\na.txt\n  2:1: zwei`);
    expect(
      room.asked.map(({ action, path, line, symbol: named, newName, ifHash }) => ({
        action,
        path,
        line,
        named,
        newName,
        ifHash,
      })),
    ).toEqual([
      { action: "symbols", path: "a.txt", line: undefined, named: undefined, newName: undefined, ifHash: undefined },
      { action: "rename", path: "a.txt", line: 2, named: "two", newName: "zwei", ifHash: SHA },
    ]);
  });

  it("refuses a question without a place, with the call that lists names", async () => {
    const { call } = await open(fake(() => none));
    const listed = { tool: "lsp_query", arguments: { action: "symbols", path: "a.txt" } };
    const cases: [object, string][] = [
      [{ action: "hover", path: "a.txt" }, "args/line"],
      [{ action: "hover", path: "a.txt", line: 2 }, "args/character"],
    ];
    for (const [args, field] of cases) {
      expect(await call("lsp_query", args)).toMatchObject({
        ok: false,
        error_code: "invalid_args",
        facts: { field },
        next_call: listed,
      });
    }
    expect((await call("lsp_query", { action: "hover", path: "a.txt", character: 2, symbol: "x" })).facts.field).toBe(
      "args/line",
    );
    expect((await call("lsp_query", { action: "rename", path: "a.txt", symbol: "x" })).facts.field).toBe("args/new_name");
    expect((await call("lsp_query", { action: "guess", path: "a.txt" })).error_code).toBe("invalid_args");
    expect((await call("lsp_query", { action: "hover", path: "a.txt", line: 0, character: 1 })).error_code).toBe("invalid_args");
  });

  it("passes the room's refusals on with their codes; names that are not there or many with the call that lists them", async () => {
    const errors: { readonly [path: string]: GinError } = {
      a: new GinError("SYMBOL_AMBIGUOUS", "two of it", undefined, { facts: { symbol: "x", candidates: ["A/x", "B/x"] } }),
      b: new GinError("NOT_READY", "it is indexing", undefined, {
        facts: { state: "indexing", server: "fake" },
        retryAfterMs: 500,
      }),
      c: new GinError("UNSUPPORTED", "not installed", "apt install it"),
      d: new GinError("LSP_NEEDS_TRUST", "it could run code"),
    };
    const { call } = await open(fake(({ path }) => errors[path] ?? none));
    const ask = (path: string) => call("lsp_query", { action: "hover", path, symbol: "x" });
    expect(await ask("a")).toMatchObject({
      error_code: "symbol_ambiguous",
      facts: { candidates: ["A/x", "B/x"] },
      next_call: { tool: "lsp_query", arguments: { action: "symbols", path: "a" } },
    });
    expect(await ask("b")).toMatchObject({ error_code: "not_ready", facts: { state: "indexing", retry_after_ms: "500" } });
    expect(await ask("c")).toMatchObject({ error_code: "unsupported", suggestion: "apt install it" });
    expect((await ask("d")).error_code).toBe("lsp_needs_trust");
  });

  it("needs the scope lsp", async () => {
    const room = fake(() => none);
    const { call } = await open(room);
    for (const [tool, args] of [
      ["lsp_query", { action: "symbols", path: "a.txt" }],
      ["lsp_batch", { queries: [{ action: "symbols", path: "a.txt" }] }],
    ] as const) {
      expect((await call(tool, args, { as: "reader" })).facts).toMatchObject({ reason: "SCOPE_FORBIDDEN", scope: "lsp" });
    }
    expect(room.asked).toEqual([]);
  });
});

describe("lsp_batch", () => {
  it("asks side by side, in order, and counts; a refusal is its own question's", async () => {
    let waiting = 0;
    let most = 0;
    const room = fake(() => none);
    const slow: Lsp = {
      ...room,
      async ask(question) {
        waiting += 1;
        most = Math.max(most, waiting);
        await new Promise((resolve) => setImmediate(resolve));
        waiting -= 1;
        if (question.path === "gone")
          throw new GinError("PATH_NOT_FOUND", "nothing is at gone", undefined, { facts: { path: "gone" } });
        return room.ask(question);
      },
    };
    const { ok } = await open(slow);
    const queries = [
      { action: "definition", path: "a.txt", symbol: "one" },
      { action: "definition", path: "gone", symbol: "one" },
      { action: "hover", path: "a.txt" },
      { action: "references", path: "a.txt", symbol: "one" },
    ];
    const answer = JSON.parse((await ok("lsp_batch", { queries })).result);
    expect(answer).toMatchObject({
      succeeded: 2,
      failed: 2,
      results: [
        { index: 0, ok: true, result: "0 locations", meta: { server: "fake" } },
        { index: 1, ok: false, error_code: "file_not_found", facts: { reason: "PATH_NOT_FOUND", path: "gone" } },
        { index: 2, ok: false, error_code: "invalid_args" },
        { index: 3, ok: true, result: "0 references" },
      ],
    });
    expect(most).toBe(3);
  });

  it("takes 1 to 20 questions", async () => {
    const { call } = await open(fake(() => none));
    for (const count of [0, 21]) {
      const queries = Array.from({ length: count }, () => ({ action: "symbols", path: "a.txt" }));
      expect((await call("lsp_batch", { queries })).error_code).toBe("invalid_args");
    }
  });
});
