import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { nodeFs, nodePrograms } from "../../../src/daemon/base/index.ts";
import type { Found, LspAnswer, LspAsk } from "../../../src/daemon/lsp/index.ts";
import { createOutside } from "../../../src/daemon/lsp/queries/outside.ts";
import { DiskWorkspace, sha } from "../../helpers/lsp/disk-workspace.ts";
import { fakeRow, openRoom, placesOf, question } from "../../helpers/lsp/room.ts";
import { tempDir } from "../../helpers/temp.ts";

const FILES = {
  "a.fake": "class Box\n  def open\n  def shut\nclass Tin\n  def open\n",
  "b.fake": "def main\n  open Box shut open\n",
};

function site(options: object = {}, files: Readonly<Record<string, string>> = FILES) {
  const { lsp } = openRoom([fakeRow()], { fake: options });
  const workspace = new DiskWorkspace(tempDir("queries"), files);
  const ask = (action: LspAsk["action"], path: string, over: Partial<LspAsk> = {}): Promise<LspAnswer> =>
    lsp.ask(question(workspace, action, path, over));
  const uri = (path: string): string => pathToFileURL(join(workspace.root, path)).href;
  return { workspace, ask, uri };
}

const range = (line: number, from: number, to: number) => ({ start: { line, character: from }, end: { line, character: to } });

/** What a server says to a method, whatever is asked; set before it is started. */
const says = (method: string, result: unknown): object => ({ on: { [method]: { do: "answer", result } } });

function found<K extends Found["kind"]>(answer: LspAnswer, kind: K): Extract<Found, { kind: K }> {
  if (answer.found.kind !== kind) throw new Error(`found ${answer.found.kind}`);
  return answer.found as Extract<Found, { kind: K }>;
}

describe("a place", () => {
  it("that neither calls nor is called is said to be so", async () => {
    const { ask } = site(says("textDocument/prepareCallHierarchy", null));
    const answer = await ask("incoming_calls", "a.fake", { symbol: "shut" });
    expect([found(answer, "calls").calls.total, answer.note]).toEqual([0, "to fake nothing at that place calls or is called"]);
  });

  it("is a whole word on a line, whichever of several the server knows", async () => {
    const { ask } = site({}, { "a.fake": "def open\n", "b.fake": "reopen open_ 😀open opener\n" });
    expect(placesOf(await ask("definition", "b.fake", { line: 1, symbol: "open" }))).toEqual(["a.fake:1:5-1:9"]);
    expect(found(await ask("hover", "b.fake", { line: 1, symbol: "open" }), "hover").span?.start).toEqual({
      line: 1,
      character: 15,
    });
    await expect(ask("hover", "b.fake", { line: 1, symbol: "ope" })).rejects.toMatchObject({
      reason: "SYMBOL_NOT_FOUND",
      facts: { symbol: "ope", near: ["open", "open_", "reopen", "opener"] },
    });
  });

  it("is the one of a name path, and none of several", async () => {
    const { ask } = site();
    const at = async (symbol: string) => found(await ask("hover", "a.fake", { symbol }), "hover").span?.start;
    expect(await at("Tin/open")).toEqual({ line: 5, character: 7 });
    expect(await at("/Box/open")).toEqual({ line: 2, character: 7 });
    expect(await at("shut")).toEqual({ line: 3, character: 7 });
    expect(await at("open[1]")).toEqual({ line: 5, character: 7 });
    await expect(ask("hover", "a.fake", { symbol: "/open" })).rejects.toMatchObject({
      reason: "SYMBOL_NOT_FOUND",
      facts: { near: ["Box/open", "Tin/open"] },
    });
    await expect(ask("hover", "a.fake", { symbol: "open[2]" })).rejects.toMatchObject({ reason: "SYMBOL_NOT_FOUND" });
  });

  it("is ambiguous where the server's own definitions tell the candidates apart", async () => {
    const { ask } = site({ capabilities: { definitionProvider: null } });
    await expect(ask("hover", "a.fake", { symbol: "open" })).rejects.toMatchObject({
      reason: "SYMBOL_AMBIGUOUS",
      facts: { symbol: "open", candidates: ["/Box/open (line 2)", "/Tin/open (line 5)"] },
    });
  });

  it("is found in the whole workspace by a name alone, unless several files have it", async () => {
    const { ask } = site({}, { ...FILES, "c.fake": "class Tin\n  def open\n" });
    expect(placesOf(await ask("definition", "", { symbol: "Box/shut", server: "fake" }))).toEqual(["a.fake:3:7-3:11"]);
    expect((await ask("hover", "", { symbol: "main" })).sha256).toBe(sha(FILES["b.fake"]));
    await expect(ask("hover", "", { symbol: "Tin/open" })).rejects.toMatchObject({
      reason: "SYMBOL_AMBIGUOUS",
      facts: { candidates: ["/Tin/open in a.fake", "/Tin/open in c.fake"] },
    });
    await expect(ask("hover", "", { symbol: "Boxx" })).rejects.toMatchObject({
      reason: "SYMBOL_NOT_FOUND",
      facts: { symbol: "Boxx" },
    });
  });
});

describe("locations", () => {
  it("come in every form there is, each place once, in the files' order for references", async () => {
    const { workspace } = site();
    const uri = (path: string) => pathToFileURL(join(workspace.root, path)).href;
    const forms: readonly (readonly [unknown, readonly string[]])[] = [
      [null, []],
      [[], []],
      [{ uri: uri("b.fake"), range: range(0, 4, 8) }, ["b.fake:1:5-1:9"]],
      [
        [
          { uri: uri("b.fake"), range: range(0, 4, 8) },
          { uri: uri("a.fake"), range: range(3, 6, 9) },
          { uri: uri("a.fake"), range: range(0, 6, 9) },
          { uri: uri("b.fake"), range: range(0, 4, 8) },
        ],
        ["a.fake:1:7-1:10", "a.fake:4:7-4:10", "b.fake:1:5-1:9"],
      ],
      [
        [
          {
            targetUri: uri("a.fake"),
            targetRange: range(0, 0, 9),
            targetSelectionRange: range(0, 6, 9),
            originSelectionRange: range(0, 0, 1),
          },
        ],
        ["a.fake:1:7-1:10"],
      ],
    ];
    for (const [result, places] of forms) {
      const { lsp } = openRoom([fakeRow()], { fake: says("textDocument/references", result) });
      const answer = await lsp.ask(question(workspace, "references", "a.fake", { line: 1, character: 1 }));
      expect(placesOf(answer)).toEqual(places);
      expect(answer.partial).toBe(false);
    }
  });

  it("that are malformed, protected, hidden or elsewhere never spoil the others", async () => {
    const root = tempDir("elsewhere");
    const workspace = new DiskWorkspace(root, { ...FILES, "hidden/h.fake": "x\n" });
    workspace.write(".env", "KEY=1\n");
    const uri = (path: string) => pathToFileURL(join(root, path)).href;
    const result = [
      { uri: 7, range: range(0, 0, 1) },
      { uri: uri("a.fake"), range: { start: { line: -1, character: 0 } } },
      "nonsense",
      { uri: uri(".env"), range: range(0, 0, 3) },
      { uri: uri("hidden/h.fake"), range: range(0, 0, 1) },
      { uri: "jdt://contents/rt.jar/java.lang/String.class?=x", range: range(9, 0, 6) },
      { uri: "file://%zz", range: range(0, 0, 1) },
      { uri: uri("a.fake"), range: range(999, 5, 6) },
      { uri: uri("b.fake"), range: range(1, 7, 10) },
    ];
    const { lsp } = openRoom([fakeRow()], { fake: says("textDocument/references", result) });
    const answer = await lsp.ask(
      question(workspace, "references", "a.fake", { line: 1, character: 1, visible: (path) => !path.startsWith("hidden/") }),
    );
    const { locations } = found(answer, "locations");
    expect(locations.items.filter(({ outside }) => !outside).map(({ path, span }) => [path, span.start])).toEqual([
      ["a.fake", { line: 6, character: 1 }],
      ["b.fake", { line: 2, character: 8 }],
    ]);
    expect(locations.items.filter(({ outside }) => outside).map(({ path, view, excerpt }) => [path, view, excerpt])).toEqual([
      ["%zz", "", ""],
      ["contents/rt.jar/java.lang/String.class?=x", "", ""],
    ]);
    expect(answer.partial).toBe(true);
    expect(answer.note.split("; ").sort()).toEqual([
      "2 malformed locations of the server are left out",
      "locations in files that you may not see are left out",
      "locations in protected files are left out",
    ]);
  });

  it("that a link from elsewhere leads to are the workspace's own, and seen by those who may see that path", async () => {
    const files = { "a/a.fake": "outside_1\n", "b/b.fake": "def secret\n", "node_modules/box/c.fake": "def box\n" };
    const workspace = new DiskWorkspace(tempDir("queries"), files);
    const link = join(tempDir("links"), "link");
    symlinkSync(workspace.root, link);
    for (const root of [`/proc/self/root${workspace.root}`, link]) {
      const { lsp } = openRoom([fakeRow()], { fake: { outside: `${root}/b/b.fake` } });
      const ask = (over: Partial<LspAsk>) =>
        lsp.ask(question(workspace, "definition", "a/a.fake", { line: 1, character: 1, ...over }));
      expect(placesOf(await ask({}))).toEqual(["b/b.fake:1:1-1:1"]);
      const narrow = await ask({ visible: (path) => path.startsWith("a/") });
      expect(found(narrow, "locations").locations).toEqual({ items: [], total: 0 });
      expect(narrow).toMatchObject({ partial: true, note: "locations in files that you may not see are left out" });
    }
  });

  it("and what a server refuses with tell no absolute path of the workspace", async () => {
    const workspace = new DiskWorkspace(tempDir("queries"), { "a.fake": "def x\n" });
    const uri = pathToFileURL(join(workspace.root, "a.fake")).href;
    const path = join(workspace.root, "a.fake");
    const { lsp } = openRoom([fakeRow()], {
      fake: {
        on: {
          "textDocument/hover": { do: "error", code: -32603, message: `no package for ${uri} (${path})` },
          "textDocument/completion": { do: "answer", result: [{ label: "x", detail: `from ${path}` }] },
        },
      },
    });
    const at = { line: 1, character: 5 };
    await expect(lsp.ask(question(workspace, "hover", "a.fake", at))).rejects.toMatchObject({
      reason: "LSP_REFUSED",
      facts: { server: "fake", code: -32603, message: "no package for a.fake (a.fake)" },
    });
    const { completions } = found(await lsp.ask(question(workspace, "completion", "a.fake", at)), "completions");
    expect(completions.items.map(({ detail }) => detail)).toEqual(["from a.fake"]);
  });

  it("of which something else was reported are not named to who may not see them", async () => {
    const workspace = new DiskWorkspace(tempDir("queries"), { "a/a.fake": "a\n", "b/b.fake": "b\n" });
    const uri = (path: string) => pathToFileURL(join(workspace.root, path)).href;
    const items = [{ uri: uri("b/b.fake"), kind: "full", version: 99, items: [] }];
    const { lsp } = openRoom([fakeRow()], {
      fake: {
        capabilities: { diagnosticProvider: { interFileDependencies: true, workspaceDiagnostics: true } },
        on: { "workspace/diagnostic": { do: "answer", result: { items } } },
      },
    });
    for (const path of ["a/a.fake", "b/b.fake"]) await lsp.ask(question(workspace, "symbols", path));
    const note = async (over: Partial<LspAsk>) => (await lsp.ask(question(workspace, "diagnostics", "", over))).note;
    expect(await note({})).toBe("what was reported of b/b.fake is of another content");
    expect(await note({ visible: (path) => path.startsWith("a/") })).toBe(
      "what was reported of a file that you may not see is of another content",
    );
  });

  it("in another workspace have no view, but for packages installed there", async () => {
    const other = tempDir("other");
    mkdirSync(join(other, "node_modules/box"), { recursive: true });
    for (const path of ["own.fake", "node_modules/box/box.fake"]) writeFileSync(join(other, path), "def box\n");
    const workspace = new DiskWorkspace(tempDir("queries"), { "a.fake": "outside_1\n" });
    const outside = createOutside({ fs: nodeFs, programs: nodePrograms, isSensitive: () => false, roots: () => [other] });
    const text = (path: string) => outside.text(join(other, path), fakeRow(), workspace.root)?.text;
    expect([text("own.fake"), text("node_modules/box/box.fake")]).toEqual([undefined, "def box\n"]);
  });

  it("outside with one very long line are shown from its beginning on", async () => {
    const file = join(tempDir("library"), "long.fake");
    writeFileSync(file, `${"x".repeat(2 * 1024 * 1024)}\nshort\n`);
    const { lsp } = openRoom([fakeRow()], { fake: { outside: file } });
    const workspace = new DiskWorkspace(tempDir("queries"), { "a.fake": "outside_1\n" });
    const answer = await lsp.ask(question(workspace, "definition", "a.fake", { line: 1, character: 1 }));
    const view = found(answer, "locations").locations.items[0]?.view ?? "";
    const shown = await lsp.ask(question(workspace, "view", "", { view }));
    expect(found(shown, "view").text).toBe("x".repeat(256 * 1024));
    expect(shown).toMatchObject({ partial: true, note: "the beginning of line 1 of 2: it is too long to be shown" });
  });

  it("that could not be looked into are not named to who may not see them", async () => {
    const workspace = new DiskWorkspace(tempDir("queries"), { "a/a.fake": "def x\n" });
    workspace.write("b/b.fake", Buffer.from([0x20, 0x78, 0x20, 0xff, 0x00]));
    const { lsp } = openRoom([fakeRow({ projects: "open" })]);
    const note = async (over: Partial<LspAsk>) =>
      (await lsp.ask(question(workspace, "references", "a/a.fake", { symbol: "x", ...over }))).note;
    expect(await note({})).toBe("b/b.fake could not be looked into (BINARY_FILE)");
    const narrow = await note({ visible: (path) => path.startsWith("a/") });
    expect(narrow).toContain("a file that you may not see could not be looked into (BINARY_FILE)");
    expect(narrow).not.toContain("b/b.fake");
  });

  it("outside are read by their id only, and only what is a program's text", async () => {
    const library = tempDir("library");
    mkdirSync(join(library, "node_modules/box/.ssh"), { recursive: true });
    const box = join(library, "node_modules/box/box.fake");
    writeFileSync(box, "def 😀outside_box\nsecond\nthird\n");
    writeFileSync(join(library, "secret.txt"), "secret\n");
    writeFileSync(join(library, "node_modules/box/.ssh/id.fake"), "secret\n");
    symlinkSync(join(library, "secret.txt"), join(library, "link.fake"));
    const workspace = new DiskWorkspace(tempDir("queries"), { "a.fake": "outside_1\n" });
    const at = async (file: string) => {
      const { lsp } = openRoom([fakeRow()], {
        fake: says("textDocument/definition", { uri: pathToFileURL(file).href, range: range(0, 6, 17) }),
      });
      const answer = await lsp.ask(question(workspace, "definition", "a.fake", { line: 1, character: 1 }));
      return { lsp, location: found(answer, "locations").locations.items[0] };
    };
    const { lsp, location } = await at(box);
    expect(location).toMatchObject({
      path: "box/box.fake",
      outside: true,
      sha256: "",
      excerpt: "def 😀outside_box",
      span: { start: { line: 1, character: 6 }, end: { line: 1, character: 17 } },
    });
    const view = (id: string, over: Partial<LspAsk> = {}) => lsp.ask(question(workspace, "view", "", { view: id, ...over }));
    const id = location?.view ?? "";
    expect((await view(id)).found).toEqual({
      kind: "view",
      path: "box/box.fake",
      text: "def 😀outside_box\nsecond\nthird\n",
      lines: 3,
    });
    expect(await view(id, { line: 2, endLine: 2 })).toMatchObject({
      found: { text: "second\n" },
      note: "lines 2 to 2 of 3",
      partial: false,
    });
    await expect(view("lv_AAAAAAAAAAAAAAAAAAAAAA")).rejects.toMatchObject({ reason: "ID_NOT_FOUND" });
    const other = new DiskWorkspace(tempDir("queries"), {});
    await expect(lsp.ask(question(other, "view", "", { view: id }))).rejects.toMatchObject({ reason: "ID_NOT_FOUND" });
    for (const file of ["secret.txt", "node_modules/box/.ssh/id.fake", "link.fake", "none.fake", "node_modules"]) {
      expect((await at(join(library, file))).location).toMatchObject({ view: "", excerpt: "" });
    }
    writeFileSync(box, "\0");
    await expect(view(id)).rejects.toMatchObject({ reason: "PATH_NOT_FOUND" });
  });

  it("are bounded in their excerpts, which hold no half characters", async () => {
    const line = `def alpha ${"😀".repeat(200)}`;
    const { ask } = site({}, { "a.fake": `${line}\n` });
    const [one] = found(await ask("references", "a.fake", { symbol: "alpha" }), "locations").locations.items;
    expect(one?.excerpt).toBe(`def alpha ${"😀".repeat(95)}`);
  });
});

describe("what servers say", () => {
  it("of a place comes in every form", async () => {
    for (const [contents, text] of [
      ["plain", "plain"],
      [{ kind: "markdown", value: "**bold**" }, "**bold**"],
      [{ language: "c", value: "int x;" }, "```c\nint x;\n```"],
      [[{ language: "c", value: "int x;" }, "", "of use"], "```c\nint x;\n```\n\nof use"],
    ] as const) {
      const { ask } = site(says("textDocument/hover", { contents, range: range(0, 0, 5) }));
      expect((await ask("hover", "a.fake", { line: 1, character: 1 })).found).toEqual({
        kind: "hover",
        text,
        span: { start: { line: 1, character: 1 }, end: { line: 1, character: 6 } },
      });
    }
    const { ask } = site({ on: { "textDocument/hover": { do: "answer", result: null } } });
    expect((await ask("hover", "a.fake", { line: 1, character: 1 })).found).toEqual({ kind: "hover", text: "", span: undefined });
  });

  it("of a document's symbols is a tree, also where they come flat", async () => {
    const flat = (uri: string) => [
      { name: "open", kind: 6, containerName: "Box", location: { uri, range: range(1, 2, 10) } },
      { name: "Box", kind: 5, location: { uri, range: { start: { line: 0, character: 0 }, end: { line: 2, character: 10 } } } },
      { name: "Tin", kind: 5, location: { uri, range: range(3, 6, 9) } },
      { name: "open", kind: 6, containerName: "Tin", location: { uri, range: range(4, 6, 10) } },
      { name: "", kind: 6, location: { uri, range: range(4, 6, 10) } },
    ];
    const workspace = new DiskWorkspace(tempDir("queries"), FILES);
    const { lsp } = openRoom([fakeRow()], {
      fake: says("textDocument/documentSymbol", flat(pathToFileURL(join(workspace.root, "a.fake")).href)),
    });
    const answer = await lsp.ask(question(workspace, "symbols", "a.fake"));
    const { symbols } = found(answer, "symbols");
    expect(symbols.total).toBe(4);
    expect(
      symbols.items.map(({ namePath, kind, selection, children }) => [
        namePath,
        kind,
        selection.start,
        children.map((one) => [one.namePath, one.selection.start]),
      ]),
    ).toEqual([
      ["Box", "class", { line: 1, character: 7 }, [["Box/open", { line: 2, character: 7 }]]],
      ["Tin", "class", { line: 4, character: 7 }, [["Tin/open", { line: 5, character: 7 }]]],
    ]);
  });

  it("of the workspace's symbols begins with the exact name, and leaves out what may not be seen", async () => {
    const { ask } = site({}, { "a.fake": "def reopen\ndef opener\ndef open\n", "hidden/b.fake": "def open\n" });
    const answer = await ask("workspace_symbols", "", { query: "open", visible: (path) => !path.startsWith("hidden/") });
    expect(found(answer, "symbols").symbols.items.map(({ name }) => name)).toEqual(["open", "opener", "reopen"]);
    expect(answer).toMatchObject({ server: "fake", partial: true, note: "locations in files that you may not see are left out" });
  });

  it("of several servers is one list, and says whom it is without", async () => {
    const rows = [
      fakeRow(),
      fakeRow({ id: "other", languages: { ".other": "other" } }),
      fakeRow({ id: "never", languages: { ".never": "never" } }),
    ];
    const { lsp } = openRoom(rows, { other: { on: { "workspace/symbol": { do: "error", code: -32603, times: 1 } } } });
    const workspace = new DiskWorkspace(tempDir("queries"), { "a.fake": "def open\n", "b.other": "x\n", "c.never": "x\n" });
    const ask = (action: LspAsk["action"], path: string, over: Partial<LspAsk> = {}) =>
      lsp.ask(question(workspace, action, path, over));
    await Promise.all([ask("symbols", "a.fake"), ask("symbols", "b.other")]);
    const first = await ask("workspace_symbols", "", { query: "open" });
    expect(first).toMatchObject({
      server: "fake",
      partial: true,
      note: "without what others know: other (LSP_REFUSED), never (stopped)",
    });
    const second = await ask("workspace_symbols", "", { query: "open" });
    expect(second).toMatchObject({ server: "fake, other", note: "without what others know: never (stopped)" });
    expect(found(second, "symbols").symbols.items.map(({ name }) => name)).toEqual(["open"]);
    // A name is looked for by those that sleep too.
    await expect(ask("hover", "", { symbol: "nowhere" })).rejects.toMatchObject({ reason: "SYMBOL_NOT_FOUND" });
    expect((await ask("workspace_symbols", "", { query: "open" })).note).toBe("");
    await expect(ask("status", "", { server: "nobody" })).rejects.toMatchObject({ reason: "UNSUPPORTED" });
  });

  it("of calls holds where they are made", async () => {
    const { ask } = site();
    const incoming = found(await ask("incoming_calls", "a.fake", { symbol: "shut" }), "calls").calls;
    expect(
      incoming.items.map(({ name, location, sites }) => [name, location.path, sites.map(({ path, span }) => [path, span.start])]),
    ).toEqual([["main", "b.fake", [["b.fake", { line: 2, character: 12 }]]]]);
    const outgoing = found(await ask("outgoing_calls", "b.fake", { symbol: "main" }), "calls").calls;
    expect(outgoing.items.map(({ name, sites }) => [name, sites.map(({ path, span }) => [path, span.start.character])])).toEqual([
      ["Box", [["b.fake", 8]]],
      ["open", [["b.fake", 3]]],
      ["open", [["b.fake", 17]]],
      ["shut", [["b.fake", 12]]],
    ]);
  });

  it("of a call's signature marks the one in use, and of completions keeps the best", async () => {
    const signatures = [
      { label: "f(a)", parameters: [{ label: "a" }] },
      {
        label: "f(a, bc)",
        documentation: { kind: "markdown", value: "Does f." },
        parameters: [{ label: [2, 3] }, { label: [5, 7] }],
      },
    ];
    const { ask } = site(says("textDocument/signatureHelp", { signatures, activeSignature: 1, activeParameter: 1 }));
    expect(found(await ask("signature", "a.fake", { line: 1, character: 1 }), "signatures").signatures).toEqual([
      { label: "f(a)", documentation: "", parameters: ["a"], active: false, activeParameter: 1 },
      { label: "f(a, bc)", documentation: "Does f.", parameters: ["a", "bc"], active: true, activeParameter: 1 },
    ]);
    const items = Array.from({ length: 300 }, (_, index) => ({ label: `n${index}`, sortText: String(999 - index), kind: 3 }));
    const many = site(
      says("textDocument/completion", {
        isIncomplete: true,
        items: [...items, { label: "best", sortText: "0", textEdit: { newText: "best()", range: range(0, 0, 0) } }],
      }),
    );
    const answer = await many.ask("completion", "a.fake", { line: 1, character: 1 });
    const { completions } = found(answer, "completions");
    expect([completions.total, completions.items.length]).toEqual([301, 200]);
    expect(completions.items.slice(0, 2)).toEqual([
      { label: "best", kind: "text", detail: "", insertText: "best()" },
      { label: "n299", kind: "function", detail: "", insertText: "n299" },
    ]);
    expect(answer).toMatchObject({ partial: true, note: "the server has more: type further" });
  });
});
