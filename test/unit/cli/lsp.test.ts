import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/clients/sdk/index.ts";
import { fakeDaemon } from "../sdk/fake-daemon.ts";
import { type Driven, drive } from "./drive.ts";

/** Runs a command line against a fake that answers Lsp; gives what was asked. */
async function against(
  answer: JsonObject,
  argv: readonly string[],
  input: string | Uint8Array = "",
): Promise<Driven & { readonly asked: JsonObject }> {
  const daemon = await fakeDaemon(() => ({ json: { lsp: answer } }));
  const driven = await drive([...argv, "--endpoint", `unix:${daemon.socketPath}`], { input });
  const { timeout_ms: _wait, ...asked } = (daemon.seen[0]?.json.lsp ?? {}) as JsonObject;
  return { ...driven, asked };
}

async function asked(...argv: string[]): Promise<JsonObject> {
  return (await against({}, ["lsp", ...argv])).asked;
}

async function shown(answer: JsonObject, ...argv: string[]): Promise<string> {
  return (await against(answer, ["lsp", ...argv])).stdout;
}

const at = (line: number, character: number): JsonObject => ({
  start: { line, character },
  end: { line, character: character + 3 },
});

describe("what is asked", () => {
  test("takes the place as PATH:LINE:CHARACTER, a name, or both", async () => {
    expect(await asked("definition", "src/a.ts:3:7")).toEqual({ action: "definition", path: "src/a.ts", line: 3, character: 7 });
    expect(await asked("hover", "a:b.ts:3", "--symbol", "x")).toEqual({ action: "hover", path: "a:b.ts", line: 3, symbol: "x" });
    expect(await asked("implementation", "--symbol", "Cart/total")).toEqual({ action: "implementation", symbol: "Cart/total" });
    expect(await asked("references", "a.ts:1:1", "--no-declaration")).toMatchObject({ include_declaration: false });
    expect(await asked("calls", "a.ts:1:1")).toMatchObject({ action: "incoming_calls" });
    expect(await asked("calls", "a.ts:1:1", "--out")).toMatchObject({ action: "outgoing_calls" });
    expect(await asked("type-definition", "a.ts:1:2")).toMatchObject({ action: "type_definition" });
  });

  test("takes files, a checkpoint or the workspace for diagnostics, and common flags", async () => {
    expect(await asked("diagnostics")).toEqual({ action: "diagnostics" });
    expect(await asked("diagnostics", "a.ts")).toEqual({ action: "diagnostics", path: "a.ts" });
    expect(await asked("diagnostics", "a.ts", "b.ts")).toEqual({ action: "diagnostics", paths: ["a.ts", "b.ts"] });
    expect(await asked("diagnostics", "--checkpoint", "ck_1", "--server", "pyright", "--limit", "5", "--cursor", "c")).toEqual({
      action: "diagnostics",
      checkpoint: "ck_1",
      server: "pyright",
      page_size: 5,
      cursor: "c",
    });
    expect(await asked("symbols", "a.ts", "--if-hash", "AB".repeat(32))).toMatchObject({ if_hash: "ab".repeat(32) });
    expect(await asked("workspace-symbols", "Cart")).toEqual({ action: "workspace_symbols", query: "Cart" });
    expect(await asked("view", "vw1")).toEqual({ action: "view", view: "vw1" });
    expect(await asked("restart", "--server", "gopls")).toEqual({ action: "restart", server: "gopls" });
  });

  test("saves only with --apply, and then with fence and reason", async () => {
    expect(await asked("rename", "a.ts:1:1", "--to", "b")).toEqual({
      action: "rename",
      path: "a.ts",
      line: 1,
      character: 1,
      new_name: "b",
    });
    const fence = ["--lease-incarnation", "li_1", "--lease-epoch", "7", "-m", "why", "--request-id", "r-1"];
    expect(await asked("rename", "--symbol", "x", "--to", "b", "--apply", ...fence)).toEqual({
      action: "rename",
      symbol: "x",
      new_name: "b",
      apply: true,
      message: "why",
      lease_incarnation: "li_1",
      lease_epoch: "7",
      request_id: "r-1",
    });
    expect(
      await asked("actions", "a.ts:2:1", "--end", "3:4", "--only", "quickfix", "--take", "ca1", "--apply", "--request-id", "r"),
    ).toMatchObject({
      action: "code_actions",
      line: 2,
      character: 1,
      end_line: 3,
      end_character: 4,
      only: ["quickfix"],
      code_action: "ca1",
      apply: true,
    });
    expect(await asked("format", "a.ts:2", "--end", "9")).toEqual({ action: "format", path: "a.ts", line: 2, end_line: 9 });
    expect(await asked("organize-imports", "a.ts")).toEqual({ action: "organize_imports", path: "a.ts" });
  });

  test("tries a text from a file, standard input, or the file's absence", async () => {
    const { asked: tried } = await against({ action: "check" }, ["lsp", "check", "a.ts", "--from", "-"], "let é;\n");
    expect(tried).toEqual({ action: "check", trials: [{ path: "a.ts", text: "let é;\n" }] });
    expect(await asked("check", "a.ts", "--delete")).toEqual({ action: "check", trials: [{ path: "a.ts", delete: true }] });
    const latin = await against({}, ["lsp", "check", "a.ts", "--from", "-"], Buffer.from("let \u00e9;\n", "latin1"));
    expect([latin.status, latin.asked]).toEqual([2, {}]);
  });

  test("refuses what cannot be meant, before anything is sent", async () => {
    const cases = [
      ["definition"],
      ["rename", "a.ts:1:1"],
      ["rename", "a.ts:1:1", "--to", "b", "-m", "why"],
      ["actions", "a.ts:1:1", "--apply"],
      ["actions", "a.ts:1:1", "--end", "x"],
      ["check", "a.ts"],
      ["check", "a.ts", "--from", "-", "--delete"],
      ["diagnostics", "a.ts", "--checkpoint", "ck_1"],
      ["symbols", "a.ts", "--limit", "0"],
    ];
    for (const words of cases) {
      const { status, asked: sent } = await against({}, ["lsp", ...words]);
      expect([words, status, sent]).toEqual([words, 2, {}]);
    }
  });
});

describe("what is shown", () => {
  test("locations with their line, those outside with what reads them; control characters never", async () => {
    const locations = [
      { path: "a.ts", span: at(3, 5), excerpt: "  let \x1b[31mx;", outside: false, view: "" },
      { path: "lib.d.ts", span: at(1, 1), excerpt: "", outside: true, view: "vw_9" },
    ];
    expect(await shown({ action: "definition", locations }, "definition", "a.ts:1:1")).toBe(
      "a.ts:3:5  let \\x1b[31mx;\nlib.d.ts:1:1    (outside: gin lsp view vw_9)\n",
    );
    expect(await shown({ action: "definition", locations: [] }, "definition", "a.ts:1:1")).toBe("nowhere\n");
  });

  test("diagnostics, files without any, and files of which nothing is known, each told apart", async () => {
    const diagnostics = [
      { path: "a.ts", diagnostics: [{ span: at(1, 2), severity: "error", message: "no", source: "ts", code: "1" }], reason: "" },
      { path: "b.ts", diagnostics: [], reason: "" },
      { path: "c.ts", diagnostics: [], reason: "NOT_READY", reason_message: "it is indexing" },
    ];
    expect(await shown({ action: "diagnostics", diagnostics }, "diagnostics")).toBe(
      "a.ts:1:2: error: no [ts 1]\nb.ts: none\nc.ts: not known: NOT_READY: it is indexing\n",
    );
  });

  test("a tree of symbols, calls, signatures, completions and actions", async () => {
    const location = { path: "a.ts", span: at(1, 1) };
    const symbols = [
      { name: "Cart", kind: "class", depth: 0, selection: at(1, 7), location },
      { name: "total", kind: "method", depth: 1, selection: at(2, 3), location, detail: "number" },
    ];
    expect(await shown({ action: "symbols", symbols }, "symbols", "a.ts")).toBe("class Cart  1:7\n  method total  2:3  number\n");
    const calls = [{ name: "main", kind: "function", location, sites: [{ path: "a.ts", span: at(9, 2) }] }];
    expect(await shown({ action: "incoming_calls", calls }, "calls", "a.ts:1:1")).toBe(
      "function main  a.ts:1:1\n  at a.ts:9:2\n",
    );
    const signatures = [{ label: "f(a)", active: true, documentation: "does" }];
    expect(await shown({ action: "signature", signatures }, "signature", "a.ts:1:1")).toBe("> f(a)\n  does\n");
    const actions = [{ id: "ca1", kind: "quickfix", title: "add it", preferred: true, disabled: "not here" }];
    expect(await shown({ action: "code_actions", code_actions: actions }, "actions", "a.ts:1:1")).toContain(
      "ca1  quickfix  add it (preferred) (cannot be applied: not here)",
    );
  });

  test("a preview says that nothing was changed, a save what was found afterwards", async () => {
    const files = [
      { path: "a.ts", renamed_to: "", deleted: false, created: false, changes: [{ span: at(1, 7), new_text: "sum" }] },
    ];
    const preview = await against({ action: "rename", title: "rename", files }, ["lsp", "rename", "a.ts:1:7", "--to", "sum"]);
    expect([preview.stdout, preview.stderr]).toEqual(["a.ts\n  1:7-1:10  sum\n", "nothing was changed; --apply saves it\n"]);
    const verified = { references_before: 3, references_after: 2, introduced: [], resolved: 0, note: "one is gone" };
    const saved = { action: "rename", files, checkpoint: "ck_1", request_id: "r", verified };
    expect(await shown(saved, "rename", "a.ts:1:7", "--to", "sum", "--apply")).toBe(
      "a.ts\n  1:7-1:10  sum\ncheckpoint ck_1, request r, references 3 before, 2 after, one is gone\n",
    );
    expect(await shown({ action: "format", files: [], no_change: true }, "format", "a.ts")).toBe("nothing is to be changed\n");
  });

  test("partial first, then how to go on; the message itself with --json", async () => {
    const answer = { action: "references", locations: [], partial: true, note: "more may be known later", next_cursor: "c2" };
    const { stderr } = await against(answer, ["lsp", "references", "a.ts:1:1"]);
    expect(stderr).toMatch(/^partial: more may be known later\nmore: gin lsp references a.ts:1:1 .*--cursor c2\n$/);
    expect(JSON.parse(await shown(answer, "references", "a.ts:1:1", "--json"))).toEqual(answer);
  });

  test("servers: what runs, what is missing and how it is installed", async () => {
    const servers = [
      {
        server: "typescript",
        folder: "",
        state: "ready",
        version: "7.0.2",
        resident_bytes: "104857600",
        open_documents: 3,
        idle_ms: "2000",
        note: "",
        install: "",
        languages: ["typescript"],
      },
      {
        server: "gopls",
        folder: "go",
        state: "not_installed",
        version: "",
        resident_bytes: "0",
        open_documents: 0,
        idle_ms: "0",
        note: "",
        install: "go install it",
        languages: ["go"],
      },
    ];
    expect(await shown({ action: "status", servers }, "status")).toBe(
      [
        "server      folder  state          version  memory     open  idle  note",
        "typescript  .       ready          7.0.2    100.0 MiB  3     2 s   typescript",
        "gopls       go      not_installed                      0           install: go install it; go",
        "",
      ].join("\n"),
    );
  });
});

test("workspace trust says what the owner's word means now", async () => {
  const daemon = await fakeDaemon(({ json }) => ({ json: { info: { id: "ws_1", name: "w", trusted: json.revoke !== true } } }));
  const run = (...argv: string[]) => drive(["workspace", "trust", "ws_1", ...argv, "--endpoint", `unix:${daemon.socketPath}`]);
  expect((await run("--request-id", "t-1")).stderr).toContain("trusted: language servers may run");
  expect((await run("--off")).stderr).toContain("not trusted");
  expect(daemon.seen.map(({ path, json }) => [path, json.workspace, json.revoke ?? false])).toEqual([
    ["/gin.v1.AdminService/TrustWorkspace", "ws_1", false],
    ["/gin.v1.AdminService/TrustWorkspace", "ws_1", true],
  ]);
});
