import { describe, expect, it } from "vitest";
import { GinError } from "../../../src/daemon/base/index.ts";
import type { LspAnswer, LspAsk } from "../../../src/daemon/lsp/index.ts";
import type { ServerSpec } from "../../../src/daemon/lsp/table/types.ts";
import { DiskWorkspace, sha } from "../../helpers/lsp/disk-workspace.ts";
import { askRestless } from "../../helpers/lsp/restless.ts";
import { fakeRow, openRoom, placesOf, question } from "../../helpers/lsp/room.ts";
import { type FakeLog, within } from "../../helpers/lsp/session.ts";
import { tempDir } from "../../helpers/temp.ts";

const FILES = { "a.fake": "def alpha\n", "b.fake": "alpha alpha\n", "c.fake": "def gamma\n" };

function site(options: object = {}, row: Partial<ServerSpec> = {}, files: Readonly<Record<string, string>> = FILES) {
  const { lsp, sessions } = openRoom([fakeRow(row)], { fake: options });
  const workspace = new DiskWorkspace(tempDir("room"), files);
  const ask = (action: LspAsk["action"], path: string, over: Partial<LspAsk> = {}): Promise<LspAnswer> =>
    lsp.ask(question(workspace, action, path, over));
  const fake = (method: string, params: unknown = null): Promise<unknown> =>
    sessions.at(-1)?.current?.request(method, params, within()) ?? Promise.reject(new Error("no server runs"));
  /** What it was asked by a method, so far. */
  const asked = async (method: string): Promise<number> =>
    ((await fake("fake/log")) as FakeLog).received.filter((one) => one.method === method).length;
  return { lsp, workspace, ask, fake, asked, sessions };
}

const notReady = (state: string) => ({ reason: "NOT_READY", facts: { state, server: "fake" } });

describe("an answer", () => {
  it("that is not there yet says what is being done, without the absolute path of the workspace", async () => {
    const readiness = { kind: "progress", matches: /^Loading/, graceMs: 20_000 } as const;
    const workspace = new DiskWorkspace(tempDir("room"), FILES);
    const progress = { title: `Loading ${workspace.root}/a.fake`, ms: null };
    const { lsp, sessions } = openRoom([fakeRow({ readiness })], { fake: { progress } });
    const asked = lsp.ask(question(workspace, "references", "a.fake", { symbol: "alpha", timeoutMs: 2_000 }));
    await expect.poll(() => sessions[0]?.progress.length).toBe(1);
    expect(lsp.servers(workspace).map(({ state, note }) => [state, note])).toEqual([["indexing", "Loading a.fake"]]);
    const refusal = await asked.catch((thrown: unknown) => thrown);
    expect(refusal).toMatchObject({ ...notReady("indexing"), retryAfterMs: 500, retryable: true });
    expect((refusal as Error).message).not.toContain(workspace.root);
  });

  it("is had by who waits for a server that somebody restarts: nobody but the caller gives a question up", async () => {
    const { ask, sessions } = site({ on: { initialize: { do: "delay", ms: 300 } } });
    const waiting = ask("hover", "a.fake", { line: 1, character: 5 });
    await expect.poll(() => sessions[0]?.state).toBe("starting");
    await ask("restart", "");
    expect(await waiting).toMatchObject({ server: "fake", found: { text: "`def alpha`" } });
    expect(sessions.length).toBe(2);
  });

  it("says which server gave it, of which content and generation", async () => {
    const { ask, workspace } = site();
    const answer = await ask("references", "a.fake", { line: 1, symbol: "alpha" });
    expect(placesOf(answer)).toEqual(["a.fake:1:5-1:10", "b.fake:1:1-1:6", "b.fake:1:7-1:12"]);
    expect(answer).toMatchObject({
      server: "fake",
      serverVersion: "1.2.3",
      state: "ready",
      sha256: sha(FILES["a.fake"]),
      generation: workspace.generation,
      partial: false,
      note: "",
    });
  });

  it("is of what is on disk when it is asked for, and says so by its generation", async () => {
    const { ask, workspace } = site();
    await ask("references", "a.fake", { symbol: "alpha" });
    const before = workspace.generation;
    workspace.write("b.fake", "x\nalpha\n");
    workspace.write("d.fake", "alpha\n");
    workspace.remove("c.fake");
    const answer = await ask("references", "a.fake", { symbol: "alpha" });
    expect(placesOf(answer)).toEqual(["a.fake:1:5-1:10", "b.fake:2:1-2:6", "d.fake:1:1-1:6"]);
    expect(answer.generation).toBe(before + 1);
  });

  it("is asked for again when a file that it speaks of changed before it was given", async () => {
    const { ask, workspace, asked } = site();
    let settled = 0;
    workspace.beforeSettle = async () => {
      settled += 1;
      if (settled === 2) workspace.write("b.fake", "  alpha\n");
    };
    expect(placesOf(await ask("references", "a.fake", { line: 1, character: 5 }))).toEqual(["a.fake:1:5-1:10", "b.fake:1:3-1:8"]);
    expect(await asked("textDocument/references")).toBe(2);
  });

  it("about the whole workspace is asked for again when any of its files changed, and partial when they never rest", async () => {
    const { ask, workspace, asked } = site();
    let settled = 0;
    let changing = 2;
    workspace.beforeSettle = async () => {
      settled += 1;
      if (settled === changing) workspace.write("c.fake", `def delta${settled}\n`);
    };
    const ours = ["a.fake:1:5-1:10", "b.fake:1:1-1:6", "b.fake:1:7-1:12"];
    expect(placesOf(await ask("references", "a.fake", { line: 1, character: 5 }))).toEqual(ours);
    expect(await asked("textDocument/references")).toBe(2);
    // What is about one place is given.
    changing = settled + 2;
    expect(placesOf(await ask("definition", "b.fake", { line: 1, character: 1 }))).toEqual(["a.fake:1:5-1:10"]);
    expect(await asked("textDocument/definition")).toBe(1);
    workspace.beforeSettle = async () => {
      settled += 1;
      workspace.write("c.fake", `def delta${settled}\n`);
    };
    const mixed = await ask("references", "a.fake", { line: 1, character: 5 });
    expect(placesOf(mixed)).toEqual(ours);
    expect(mixed).toMatchObject({ partial: true, note: expect.stringContaining("a mixture of before and after") });
    // Files that are none of the server's do not count.
    workspace.beforeSettle = async () => {
      settled += 1;
      workspace.write("readme.txt", `${settled}\n`);
    };
    expect(await ask("references", "a.fake", { line: 1, character: 5 })).toMatchObject({ partial: false });
  });

  it("is refused as changing when what it speaks of never rests: three times is enough", async () => {
    const { ask, workspace, asked } = site();
    let settled = 0;
    workspace.beforeSettle = async () => {
      settled += 1;
      workspace.write("b.fake", `alpha ${"x ".repeat(settled)}\n`);
    };
    await expect(ask("references", "a.fake", { line: 1, character: 5 })).rejects.toMatchObject(notReady("changing"));
    expect(await asked("textDocument/references")).toBe(3);
  });

  it("is not of a mixture: what others had it told meanwhile has it asked again", async () => {
    const { ask, workspace, asked, fake } = site();
    await ask("hover", "a.fake", { line: 1, character: 5 });
    await fake("fake/on", { method: "textDocument/references", action: { do: "delay", ms: 200, times: 1 } });
    const slow = ask("references", "a.fake", { line: 1, character: 5 });
    while ((await asked("textDocument/references")) === 0);
    workspace.write("d.fake", "alpha\n");
    await ask("hover", "c.fake", { line: 1, character: 5 });
    const answer = await slow;
    expect(placesOf(answer)).toContain("d.fake:1:1-1:6");
    expect(answer).toMatchObject({ generation: workspace.generation, partial: false });
    expect(await asked("textDocument/references")).toBe(2);
  });

  it("is not of what was there for a moment: a change that was taken back has it asked again", async () => {
    const { ask, workspace, asked, fake } = site();
    await ask("hover", "a.fake", { line: 1, character: 5 });
    await fake("fake/on", { method: "textDocument/references", action: { do: "delay", ms: 300, times: 1 } });
    const slow = ask("references", "a.fake", { line: 1, character: 5 });
    while ((await asked("textDocument/references")) === 0);
    const before = workspace.generation;
    for (const text of ["\n\n alpha\n", FILES["b.fake"]]) {
      workspace.write("b.fake", text);
      await ask("hover", "c.fake", { line: 1, character: 5 });
    }
    expect(placesOf(await slow)).toEqual(["a.fake:1:5-1:10", "b.fake:1:1-1:6", "b.fake:1:7-1:12"]);
    expect([workspace.generation - before, await asked("textDocument/references")]).toEqual([2, 2]);
  });

  it("of a server that does not see the whole project is partial, where others matter", async () => {
    const { ask } = site({}, { wholeProject: false });
    expect(await ask("references", "a.fake", { symbol: "alpha" })).toMatchObject({
      partial: true,
      note: "fake knows only the files it has opened or indexed, not the whole project",
    });
    expect(await ask("hover", "a.fake", { symbol: "alpha" })).toMatchObject({ partial: false, note: "" });
  });
});

describe("answers while files change all the time", () => {
  it("are each of one generation, in every place", async () => {
    const text = (empty: number, uses: boolean, change: number) => `${"\n".repeat(empty)}x${change}${uses ? " alpha" : ""}\n`;
    const told = await askRestless(
      { row: fakeRow(), extension: "fake", config: ["project", ""], declaration: "def alpha\n", text, pauseMs: 40 },
      20,
    );
    expect(told.wrong).toEqual([]);
    expect(told.whole).toBeGreaterThan(1);
  });
});

describe("a question is refused", () => {
  it("for another content than the caller read", async () => {
    const { ask, workspace } = site();
    const ifHash = sha(FILES["a.fake"]);
    expect(placesOf(await ask("definition", "b.fake", { line: 1, character: 1, ifHash: sha(FILES["b.fake"]) }))).toEqual([
      "a.fake:1:5-1:10",
    ]);
    workspace.write("a.fake", "def other\n");
    await expect(ask("hover", "a.fake", { line: 1, character: 5, ifHash })).rejects.toMatchObject({
      reason: "STALE_CONTENT",
      facts: { paths: [{ path: "a.fake", expected_sha256: ifHash, current_sha256: sha("def other\n") }] },
    });
  });

  it("for paths that are not the caller's, not there, protected or nobody's language", async () => {
    const { ask, sessions } = site();
    const authorise = (path: string): void => {
      if (path.startsWith("secret/")) throw new GinError("SCOPE_FORBIDDEN", "not yours");
    };
    await expect(ask("symbols", "secret/a.fake", { authorise })).rejects.toMatchObject({ reason: "SCOPE_FORBIDDEN" });
    await expect(ask("symbols", ".env/a.fake")).rejects.toMatchObject({ reason: "PATH_SENSITIVE" });
    await expect(ask("symbols", "../a.fake")).rejects.toMatchObject({ reason: "PATH_INVALID" });
    await expect(ask("symbols", "a.txt")).rejects.toMatchObject({ reason: "UNSUPPORTED" });
    await expect(ask("symbols", "a.fake", { server: "none" })).rejects.toMatchObject({ reason: "UNSUPPORTED" });
    expect(sessions).toHaveLength(0);
    await expect(ask("symbols", "none.fake")).rejects.toMatchObject({ reason: "PATH_NOT_FOUND" });
  });

  it("for a place that is not there or not said", async () => {
    const { ask } = site();
    for (const [over, field] of [
      [{ line: 9, character: 1 }, "line"],
      [{ line: 1, character: 99 }, "character"],
      [{ line: 1 }, "character"],
      [{}, "line"],
    ] as const) {
      await expect(ask("hover", "a.fake", over)).rejects.toMatchObject({ reason: "INVALID_REQUEST", facts: { field } });
    }
  });

  it("for what the server cannot do, naming it", async () => {
    const { ask } = site({ capabilities: { hoverProvider: null, callHierarchyProvider: false } });
    await expect(ask("hover", "a.fake", { symbol: "alpha" })).rejects.toMatchObject({
      reason: "UNSUPPORTED",
      facts: { requested: "textDocument/hover" },
    });
    await expect(ask("incoming_calls", "a.fake", { symbol: "alpha" })).rejects.toMatchObject({ reason: "UNSUPPORTED" });
  });

  it("by the server itself, with its code", async () => {
    const { ask } = site({ on: { "textDocument/hover": { do: "error", code: -32603, message: "out of luck" } } });
    await expect(ask("hover", "a.fake", { symbol: "alpha" })).rejects.toMatchObject({
      reason: "LSP_REFUSED",
      facts: { server: "fake", code: -32603, message: "out of luck" },
    });
  });
});

describe("a server", () => {
  it("that says that things change is asked again within the time", async () => {
    const { ask, asked } = site({ on: { "textDocument/hover": { do: "error", code: -32801, times: 3 } } });
    expect((await ask("hover", "a.fake", { symbol: "alpha" })).found).toMatchObject({ text: "`def alpha`" });
    expect(await asked("textDocument/hover")).toBe(4);
    const other = site({ on: { "textDocument/hover": { do: "error", code: -32801 } } });
    await other.ask("symbols", "a.fake");
    await expect(other.ask("hover", "a.fake", { symbol: "alpha", timeoutMs: 4_000 })).rejects.toMatchObject(notReady("changing"));
  });

  it("that is still indexing gives no empty list, and says of what it gives that it is not all", async () => {
    const indexing = { readiness: { kind: "progress", matches: /Indexing/, graceMs: 10_000 }, early: true } as const;
    const { ask } = site({ progress: { ms: null } }, indexing);
    const timeoutMs = 4_000;
    await ask("symbols", "a.fake");
    await Promise.all([
      expect(ask("references", "a.fake", { symbol: "alpha", timeoutMs })).rejects.toMatchObject(notReady("indexing")),
      expect(ask("incoming_calls", "a.fake", { symbol: "alpha", timeoutMs })).rejects.toMatchObject(notReady("indexing")),
      expect(ask("workspace_symbols", "", { query: "nothing", timeoutMs })).rejects.toMatchObject(notReady("indexing")),
    ]);
    await expect(ask("definition", "b.fake", { line: 1, character: 99, timeoutMs })).rejects.toMatchObject({
      reason: "INVALID_REQUEST",
    });
    const found = await ask("definition", "b.fake", { line: 1, symbol: "alpha", timeoutMs });
    expect(found).toMatchObject({ state: "indexing", partial: true, note: "fake is still looking at the workspace" });
    expect(await ask("workspace_symbols", "", { query: "alpha", timeoutMs })).toMatchObject({ partial: true, state: "indexing" });
    // What it knows of one file it knows.
    expect(await ask("symbols", "a.fake", { timeoutMs })).toMatchObject({ partial: false, state: "indexing" });
  });

  it("that hangs costs its own question only, and that is cancelled at it", async () => {
    const { ask, fake } = site({ on: { "textDocument/hover": { do: "silence" } } });
    await ask("symbols", "a.fake");
    const hung = ask("hover", "a.fake", { symbol: "alpha", timeoutMs: 1_000 });
    const others = await Promise.all([1, 2, 3].map(() => ask("definition", "b.fake", { line: 1, character: 1 })));
    expect(others.map(placesOf)).toEqual([["a.fake:1:5-1:10"], ["a.fake:1:5-1:10"], ["a.fake:1:5-1:10"]]);
    await expect(hung).rejects.toMatchObject(notReady("timed_out"));
    let log = (await fake("fake/log")) as FakeLog;
    while (log.cancelled.length === 0) log = (await fake("fake/log")) as FakeLog;
    expect(log.cancelled).toEqual([log.received.find(({ method }) => method === "textDocument/hover")?.id]);
  });

  it("that crashes in mid-answer is said to have, and is there for the next question", async () => {
    const { ask } = site({ on: { "textDocument/references": { do: "crash-mid" } } });
    await expect(ask("references", "a.fake", { symbol: "alpha" })).rejects.toMatchObject(notReady("crashed"));
    expect(placesOf(await ask("definition", "b.fake", { line: 1, character: 1 }))).toEqual(["a.fake:1:5-1:10"]);
    expect((await ask("status", "")).found).toMatchObject({ servers: [{ server: "fake", state: "ready", restarts: 1 }] });
  });

  it("is asked no more by one who gave up", async () => {
    const { ask, asked } = site({ on: { "textDocument/hover": { do: "silence" } } });
    const abort = new AbortController();
    const waiting = ask("hover", "a.fake", { line: 1, character: 5, signal: abort.signal });
    await ask("symbols", "b.fake");
    while ((await asked("textDocument/hover")) === 0);
    abort.abort();
    await expect(waiting).rejects.toMatchObject({ reason: "CANCELLED" });
    await expect(ask("symbols", "a.fake", { signal: abort.signal })).rejects.toMatchObject({ reason: "CANCELLED" });
  });

  it("that is restarted while it is asked is asked again by itself", async () => {
    const { ask, asked, sessions } = site({ on: { "textDocument/hover": { do: "silence" } } });
    await ask("symbols", "a.fake");
    const refused = expect(ask("hover", "a.fake", { line: 1, character: 5 })).rejects.toMatchObject(notReady("stopped"));
    while ((await asked("textDocument/hover")) === 0);
    await ask("restart", "");
    // The new one is as silent: what matters is that it was asked.
    while (sessions.length < 2 || sessions[1]?.current === undefined || (await asked("textDocument/hover")) === 0)
      await new Promise((resolve) => setImmediate(resolve));
    await ask("restart", "");
    await refused;
  });

  it("is started anew by a restart, and ended with the workspace", async () => {
    const { lsp, ask, sessions, workspace } = site();
    await ask("symbols", "a.fake");
    expect(lsp.servers(workspace)).toMatchObject([{ server: "fake", state: "ready", version: "1.2.3", openDocuments: 1 }]);
    expect((await ask("restart", "", { server: "fake" })).found).toMatchObject({ kind: "servers" });
    expect(sessions[0]?.pid).toBeUndefined();
    await ask("symbols", "a.fake");
    expect(sessions).toHaveLength(2);
    await lsp.detach(workspace.rowid);
    expect(sessions[1]?.pid).toBeUndefined();
  });
});
