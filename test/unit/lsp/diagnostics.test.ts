import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import type { FileDiagnostics, LspAnswer, LspAsk } from "../../../src/daemon/lsp/index.ts";
import type { ServerSpec } from "../../../src/daemon/lsp/table/types.ts";
import { DiskWorkspace, sha } from "../../helpers/lsp/disk-workspace.ts";
import { fakeRow, openRoom, question } from "../../helpers/lsp/room.ts";
import { type FakeLog, within } from "../../helpers/lsp/session.ts";
import { tempDir } from "../../helpers/temp.ts";

function site(options: object, files: Readonly<Record<string, string>>, row: Partial<ServerSpec> = {}) {
  const { lsp, sessions } = openRoom([fakeRow(row)], { fake: options });
  const workspace = new DiskWorkspace(tempDir("diagnostics"), files);
  const ask = (path: string, over: Partial<LspAsk> = {}): Promise<LspAnswer> =>
    lsp.ask(question(workspace, "diagnostics", path, over));
  const fake = (method: string, params: unknown = null): Promise<unknown> =>
    sessions.at(-1)?.current?.request(method, params, within()) ?? Promise.reject(new Error("no server runs"));
  const log = async (method: string) =>
    ((await fake("fake/log")) as FakeLog).received.filter((one) => one.method === method).map(({ params }) => params);
  const uri = (path: string): string => pathToFileURL(`${workspace.root}/${path}`).href;
  return { workspace, ask, fake, log, uri, lsp };
}

function filesIn({ found }: LspAnswer): readonly FileDiagnostics[] {
  if (found.kind !== "diagnostics") throw new Error(`found ${found.kind}`);
  return found.files.items;
}
interface Opened {
  readonly textDocument: { readonly uri: string };
}

/** Each file's diagnostics as "line:character message", or why there are none. */
const said = (answer: LspAnswer) =>
  Object.fromEntries(
    filesIn(answer).map(({ path, diagnostics, refused }) => [
      path,
      refused?.reason ?? diagnostics.map(({ span: { start }, message }) => `${start.line}:${start.character} ${message}`),
    ]),
  );
const notReady = (state: string) => expect.objectContaining({ reason: "NOT_READY", facts: { state, server: "fake" } });

describe.each([
  ["pulled", { diagnostics: "pull" }],
  ["pushed with versions", { diagnostics: "push" }],
  ["pushed without versions", { diagnostics: "push", pushVersion: "none" }],
  ["pushed late", { diagnostics: "push", pushDelayMs: 300 }],
])("diagnostics that are %s", (_name, options) => {
  it("are those of the content that is there when they are asked for", async () => {
    const { ask, workspace } = site(options, { "a.fake": "x\n  😀 undefined_1\n", "b.fake": "fine\n" });
    const first = await ask("a.fake");
    expect(said(first)).toEqual({ "a.fake": ["2:5 undefined_1 is not defined"] });
    expect(first).toMatchObject({ server: "fake", state: "ready", partial: false, note: "", generation: workspace.generation });
    expect(filesIn(first)[0]).toMatchObject({
      sha256: sha("x\n  😀 undefined_1\n"),
      diagnostics: [{ severity: "error", code: "undefined-name", source: "fake" }],
    });
    for (let round = 2; round < 5; round++) {
      workspace.write("a.fake", `undefined_${round}\n`);
      expect(said(await ask("a.fake"))).toEqual({ "a.fake": [`1:1 undefined_${round} is not defined`] });
    }
    // Another file mends it: what was said before is old, although the file is as it was.
    workspace.write("b.fake", "def undefined_4\n");
    expect(said(await ask("a.fake"))).toEqual({ "a.fake": [] });
  });
});

describe("diagnostics of one that computes in threads beside", () => {
  const row: Partial<ServerSpec> = { beside: { failures: /^failed over/ } };
  const options = (beside: object) => ({ diagnostics: "push", pushVersion: "none", beside });

  it("are never those of the text before, however late and often that is pushed", async () => {
    const { ask, workspace } = site(options({ oldMs: [1, 5, 20, 60, 150] }), { "a.fake": "undefined_1\n", "b.fake": "b\n" }, row);
    expect(said(await ask("a.fake"))).toEqual({ "a.fake": ["1:1 undefined_1 is not defined"] });
    for (let round = 2; round < 30; round++) {
      workspace.write("a.fake", round % 3 === 0 ? "fine\n" : `undefined_${round}\n`);
      expect(said(await ask("a.fake"))).toEqual({ "a.fake": round % 3 === 0 ? [] : [`1:1 undefined_${round} is not defined`] });
    }
  });

  it("are none only when it found nothing, not when it failed", async () => {
    const found = site(options({ fails: 4 }), { "a.fake": "undefined_1\n" }, row);
    expect(said(await found.ask("a.fake"))).toEqual({ "a.fake": ["1:1 undefined_1 is not defined"] });
    const none = site(options({ fails: 4 }), { "a.fake": "fine\n" }, row);
    expect(said(await none.ask("a.fake"))).toEqual({ "a.fake": [] });
    const always = site(options({ fails: 1_000_000 }), { "a.fake": "undefined_1\n" }, row);
    await expect(always.ask("a.fake", { timeoutMs: 1_000 })).rejects.toEqual(notReady("timed_out"));
  });

  it("are known without another look until something changes; no name stays open", async () => {
    const { ask, log, workspace } = site(options({}), { "a.fake": "undefined_1\n" }, row);
    const names = async (method: string) => (await log(method)).map((params) => (params as Opened).textDocument.uri);
    await Promise.all([ask("a.fake"), ask("a.fake"), ask("a.fake")]);
    await ask("a.fake");
    const [own, shown, ...more] = await names("textDocument/didOpen");
    expect(more).toEqual([]);
    expect(shown).toMatch(/\/a\.fake#\d+\/.*\/a\.fake$/);
    expect(shown?.split("#")[0]).toBe(own);
    expect(await names("textDocument/didClose")).toEqual([shown]);
    workspace.write("a.fake", "fine\n");
    expect(said(await ask("a.fake"))).toEqual({ "a.fake": [] });
    expect(await names("textDocument/didClose")).toHaveLength(2);
  });
});

describe("diagnostics", () => {
  it("are never an empty list when the server says nothing, or of another version (cclsp#20, serena#1814)", async () => {
    const silent = site({ on: { "textDocument/diagnostic": { do: "silence" } } }, { "a.fake": "undefined_1\n" });
    await expect(silent.ask("a.fake", { timeoutMs: 1_000 })).rejects.toEqual(notReady("timed_out"));
    const wrong = site({ diagnostics: "none" }, { "a.fake": "undefined_1\n", "b.fake": "b\n" });
    await wrong.lsp.ask(question(wrong.workspace, "symbols", "b.fake"));
    const push = { uri: wrong.uri("a.fake"), version: 999, diagnostics: [] };
    const action = { do: "notify", method: "textDocument/publishDiagnostics", params: push };
    await wrong.fake("fake/on", { method: "textDocument/didOpen", action });
    await expect(wrong.ask("a.fake", { timeoutMs: 1_500 })).rejects.toEqual(notReady("timed_out"));
    const none = site({ diagnostics: "none" }, { "a.fake": "undefined_1\n" });
    await expect(none.ask("a.fake", { timeoutMs: 1_000 })).rejects.toEqual(notReady("timed_out"));
    const crashing = site({ on: { "textDocument/diagnostic": { do: "crash" } } }, { "a.fake": "undefined_1\n" });
    await expect(crashing.ask("a.fake")).rejects.toEqual(notReady("crashed"));
    const dying = site({ diagnostics: "push", pushDelayMs: 60_000 }, { "a.fake": "undefined_1\n" });
    const asked = dying.ask("a.fake");
    await expect.poll(() => dying.log("textDocument/didOpen").catch(() => [])).toHaveLength(1);
    void dying.fake("fake/do", { do: "crash" }).catch(() => {});
    await expect(asked).rejects.toEqual(notReady("crashed"));
  });

  it("refer to an earlier answer only for the very same content", async () => {
    const { ask, workspace, log } = site({}, { "a.fake": "undefined_1\n" });
    await ask("a.fake");
    expect(said(await ask("a.fake"))).toEqual({ "a.fake": ["1:1 undefined_1 is not defined"] });
    workspace.write("a.fake", "\nundefined_1\n");
    expect(said(await ask("a.fake"))).toEqual({ "a.fake": ["2:1 undefined_1 is not defined"] });
    const ids = (await log("textDocument/diagnostic")).map(
      (params) => (params as { previousResultId?: string }).previousResultId,
    );
    expect(ids).toEqual([undefined, expect.any(String), undefined]);
  });

  it("that a report says nothing of are not none", async () => {
    const { ask } = site({ on: { "textDocument/diagnostic": { do: "answer", result: null } } }, { "a.fake": "undefined_1\n" });
    await expect(ask("a.fake", { timeoutMs: 4_000 })).rejects.toEqual(notReady("changing"));
  });

  it("are all told, also those without a place, and without the workspace's own absolute path", async () => {
    const { ask, fake, workspace } = site({}, { "a.fake": "a\n" });
    await ask("a.fake");
    const items = [
      { message: `File '${workspace.root}/a.fake' is no module`, source: `schema: file://${workspace.root}/s.json` },
      { range: { start: { line: -1, character: -1 }, end: { line: -1, character: 0 } }, message: "syntax" },
      {
        range: { start: { line: 99, character: 9 }, end: { line: 0, character: 0 } },
        message: { kind: "markdown", value: "beyond" },
      },
    ];
    const action = { do: "answer", result: { kind: "full", items } };
    await fake("fake/on", { method: "textDocument/diagnostic", action });
    const answer = await ask("a.fake");
    expect(said(answer)).toEqual({ "a.fake": ["1:1 File 'a.fake' is no module", "1:1 syntax", "2:1 beyond"] });
    expect(answer.found.kind === "diagnostics" && answer.found.files.items[0]?.diagnostics[0]?.source).toBe("schema: s.json");
  });

  it("come with those of other files that the server told beside them", async () => {
    const { ask, fake, uri } = site({}, { "a.fake": "a\n", "b.fake": "b\n" });
    await ask("a.fake");
    const item = { range: { start: { line: 0, character: 0 }, end: { line: 0, character: 1 } }, message: "beside", severity: 2 };
    const relatedDocuments = {
      [uri("b.fake")]: { kind: "full", items: [item] },
      [uri(".env")]: { kind: "full", items: [item] },
      "file:///elsewhere/c.fake": { kind: "full", items: [item] },
    };
    const result = { kind: "full", items: [], relatedDocuments };
    await fake("fake/on", { method: "textDocument/diagnostic", action: { do: "answer", result } });
    expect(said(await ask("a.fake"))).toEqual({ "a.fake": [], "b.fake": ["1:1 beside"] });
  });

  it("of several files say of each why nothing is known of it", async () => {
    const files = { "a.fake": "undefined_1\n", "b.fake": "fine\n", "c.txt": "undefined_1\n" };
    const { ask, workspace } = site({}, files);
    workspace.write("binary.fake", Buffer.from([0, 1, 2]));
    const answer = await ask("", { paths: ["c.txt", "a.fake", "gone.fake", "b.fake", "binary.fake", "a.fake"] });
    expect(said(answer)).toEqual({
      "c.txt": "not_covered",
      "a.fake": ["1:1 undefined_1 is not defined"],
      "gone.fake": "PATH_NOT_FOUND",
      "b.fake": [],
      "binary.fake": "BINARY_FILE",
    });
    expect(filesIn(answer).map(({ path }) => path)).toEqual(["c.txt", "a.fake", "gone.fake", "b.fake", "binary.fake"]);
    expect(answer).toMatchObject({ partial: true, note: "nothing is known of 3 of 5 files: each says why", server: "fake" });
  });

  it("of several files are an error when nothing at all is known because of the server's state", async () => {
    const { ask } = site(
      { on: { "textDocument/diagnostic": { do: "silence" } } },
      { "a.fake": "undefined_1\n", "b.fake": "fine\n" },
    );
    await expect(ask("", { paths: ["a.fake", "b.fake", "c.txt"], timeoutMs: 1_000 })).rejects.toEqual(notReady("timed_out"));
  });

  it("of a checkpoint are those of the files it touched that the caller may see", async () => {
    const { ask, workspace } = site(
      {},
      { "a.fake": "undefined_1\n", "b.fake": "undefined_2\n", "secret/c.fake": "undefined_3\n" },
    );
    workspace.touched = () => ["a.fake", "secret/c.fake"] as never[];
    const visible = (path: string) => !path.startsWith("secret/");
    expect(said(await ask("", { checkpoint: "ck_1", visible }))).toEqual({ "a.fake": ["1:1 undefined_1 is not defined"] });
  });

  it("of the workspace are those of open and changed files, and partial, where the server does not report on all", async () => {
    const files = { "a.fake": "undefined_1\n", "b.fake": "undefined_2\n", "c.fake": "undefined_3\n", "d.txt": "x\n" };
    const { ask, workspace } = site({}, files);
    const base = workspace.tree();
    Object.assign(workspace, { base: () => base });
    await ask("a.fake");
    workspace.write("b.fake", "undefined_4\n");
    workspace.write("d.txt", "y\n");
    const answer = await ask("");
    expect(said(answer)).toEqual({
      "a.fake": ["1:1 undefined_1 is not defined"],
      "b.fake": ["1:1 undefined_4 is not defined"],
    });
    expect(answer).toMatchObject({
      partial: true,
      note: "fake does not report on a whole workspace: these are the 2 files that are open or changed; name paths, or a checkpoint, for others",
    });
  });

  it("of the workspace are the server's whole report where it gives one, and never of another version", async () => {
    const diagnosticProvider = { interFileDependencies: true, workspaceDiagnostics: true };
    const { ask, fake, uri } = site(
      { capabilities: { diagnosticProvider } },
      { "a.fake": "a\n", "b.fake": "b\n", "c.fake": "c\n" },
    );
    await ask("a.fake");
    const item = (message: string) => ({ range: { start: { line: 0, character: 0 }, end: { line: 0, character: 1 } }, message });
    const items = [
      { uri: uri("c.fake"), version: null, kind: "full", items: [] },
      { uri: uri("b.fake"), version: null, kind: "full", items: [item("told")] },
      { uri: uri("a.fake"), version: 999, kind: "full", items: [] },
      { uri: "file:///elsewhere/d.fake", version: null, kind: "full", items: [item("elsewhere")] },
    ];
    await fake("fake/on", { method: "workspace/diagnostic", action: { do: "answer", result: { items } } });
    const answer = await ask("");
    expect(said(answer)).toEqual({ "b.fake": ["1:1 told"], "c.fake": [] });
    expect(answer).toMatchObject({ partial: true, note: "what was reported of a.fake is of another content" });
    // One that holds the question until something changes is asked about what it has open.
    await fake("fake/on", { method: "workspace/diagnostic", action: { do: "silence" } });
    expect(said(await ask("", { timeoutMs: 3_000 }))).toEqual({ "a.fake": [] });
  });
});
