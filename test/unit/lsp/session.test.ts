import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import type { InitializeParams } from "vscode-languageserver-protocol";
import type { Encoding, Run } from "../../../src/daemon/lsp/session/index.ts";
import { type FakeLog, fakeSession, heldOf, within } from "../../helpers/lsp/session.ts";
import { tempDir } from "../../helpers/temp.ts";

const logOf = async (run: Run): Promise<FakeLog> => (await run.request("fake/log", {}, within())) as FakeLog;

/** What the server asks us, and how we answer. */
const asks = (run: Run, method: string, params: unknown = {}): Promise<unknown> =>
  run.request("fake/do", { do: "request", method, params }, within());

test("a server that asks for its settings is not told of them as well", async () => {
  const session = fakeSession({}, { asksSettings: true, settings: () => ({ a: 1 }) });
  const run = await session.run(within());
  expect(await asks(run, "workspace/configuration", { items: [{ section: "a" }] })).toEqual({ result: [{ a: 1 }] });
  const { received } = await logOf(run);
  expect(received.map(({ method }) => method)).not.toContain("workspace/didChangeConfiguration");
});

test("one process for all who ask, told who we are and what we can, and running only with what it was given", async () => {
  const directory = tempDir("lsp");
  const settings = { python: { analysis: { strict: true } } };
  const session = fakeSession(
    { encoding: "utf-8" },
    {
      directory,
      env: { ONLY: "1" },
      initializationOptions: { a: 1 },
      settings: (section) => (section === undefined ? settings : section === "python" ? settings.python : undefined),
    },
  );
  const states: string[] = [session.state];
  session.onState((state) => states.push(state));
  expect([session.current, session.pid]).toEqual([undefined, undefined]);

  const runs = await Promise.all([1, 2, 3].map(() => session.run(within())));
  const [run] = runs as [Run];
  expect(new Set(runs).size).toBe(1);
  expect(session.current).toBe(run);
  expect(states).toEqual(["stopped", "starting", "ready"]);
  expect([run.number, run.encoding, run.info, run.capabilities.definitionProvider]).toEqual([
    1,
    "utf-8",
    { name: "fake", version: "1.2.3" },
    true,
  ]);

  const log = await logOf(run);
  expect(log).toMatchObject({ processId: process.pid, pid: session.pid });
  expect(log.received.map(({ method }) => method)).toEqual([
    "initialize",
    "initialized",
    "workspace/didChangeConfiguration",
    "fake/log",
  ]);
  expect(log.received[2]?.params).toEqual({ settings });
  const told = log.received[0]?.params as InitializeParams;
  const folder = { uri: pathToFileURL(directory).href, name: directory.split("/").at(-1) };
  expect(told).toMatchObject({
    rootUri: folder.uri,
    workspaceFolders: [folder],
    initializationOptions: { a: 1 },
    clientInfo: { name: "gin" },
  });
  expect(told.capabilities).toMatchObject({
    general: { positionEncodings: ["utf-16", "utf-8", "utf-32"], staleRequestSupport: { cancel: true } },
    workspace: {
      applyEdit: false,
      configuration: true,
      workspaceFolders: true,
      workspaceEdit: {
        documentChanges: true,
        resourceOperations: ["create", "rename", "delete"],
        failureHandling: "transactional",
      },
      didChangeWatchedFiles: { dynamicRegistration: true, relativePatternSupport: true },
    },
    window: { workDoneProgress: true },
    textDocument: {
      diagnostic: { dynamicRegistration: true, relatedDocumentSupport: true },
      publishDiagnostics: { versionSupport: true },
      documentSymbol: { hierarchicalDocumentSymbolSupport: true },
      codeAction: { dataSupport: true, resolveSupport: { properties: ["edit"] } },
      rename: { prepareSupport: true },
    },
  });
});

test.for(["utf-8", "utf-16", "utf-32"] satisfies Encoding[])("it counts in %s when it says so", async (encoding) => {
  expect((await fakeSession({ encoding }).run(within())).encoding).toBe(encoding);
});

test("what a server asks of its client is answered, and changes nothing", async () => {
  const directory = tempDir("lsp");
  const session = fakeSession({}, { directory, settings: (section) => (section === "a.b" ? { c: 1 } : undefined) });
  const run = await session.run(within());
  const uri = pathToFileURL(directory).href;
  const items = [{ section: "a.b" }, { section: "none" }, { scopeUri: uri }];
  expect(await asks(run, "workspace/configuration", { items })).toEqual({ result: [{ c: 1 }, null, null] });
  expect(await asks(run, "workspace/workspaceFolders")).toEqual({ result: [{ uri, name: directory.split("/").at(-1) }] });
  const edit = { changes: { [`${uri}/a`]: [] } };
  expect(await asks(run, "workspace/applyEdit", { edit })).toMatchObject({ result: { applied: false } });
  expect(await asks(run, "window/workDoneProgress/create", { token: 1 })).toEqual({ result: null });
  const question = { type: 1, message: "sure?", actions: [{ title: "yes" }] };
  expect(await asks(run, "window/showMessageRequest", question)).toEqual({ result: null });
  expect(await asks(run, "window/showDocument", { uri: "https://example.com" })).toEqual({ result: { success: false } });
  expect(await asks(run, "jdtls/executeClientCommand")).toMatchObject({ error: { code: -32601 } });
});

test("what it registers is known until it is unregistered; malformed ones, and ids that are not there, do no harm", async () => {
  const run = await fakeSession({ diagnostics: "push", capabilities: { documentFormattingProvider: false } }).run(within());
  const method = "workspace/didChangeWatchedFiles";
  const watchers = (globPattern: string) => ({ watchers: [{ globPattern }] });
  const registrations = [
    { id: "1", method, registerOptions: watchers("**/*.py") },
    { id: "2", method, registerOptions: watchers("**/*.toml") },
    { id: "3", method: "textDocument/formatting" },
    { id: 4, method },
    null,
  ];
  expect(await asks(run, "client/registerCapability", { registrations })).toEqual({ result: null });
  expect(run.registered(method)).toEqual([watchers("**/*.py"), watchers("**/*.toml")]);
  expect(run.registered("textDocument/formatting")).toEqual([undefined]);
  await asks(run, "client/unregisterCapability", {
    unregisterations: [
      { id: "1", method },
      { id: "none", method },
    ],
  });
  await asks(run, "client/unregisterCapability", "nonsense");
  expect(run.registered(method)).toEqual([watchers("**/*.toml")]);
});

test("notifications and requests to ask again are heard, in order, by those who still listen; a listener that fails spoils nothing", async () => {
  const run = await fakeSession().run(within());
  const heard: unknown[] = [];
  run.on("fake/note", () => {
    throw new Error("not mine");
  });
  const end = run.on("fake/note", (params) => heard.push(params));
  run.on("workspace/diagnostic/refresh", (params) => heard.push(["refresh", params]));
  await run.request("fake/do", { do: "notify", method: "fake/note", params: { n: 1 } }, within());
  expect(await asks(run, "workspace/diagnostic/refresh", undefined)).toEqual({ result: null });
  end();
  await run.request("fake/do", { do: "notify", method: "fake/note", params: { n: 2 } }, within());
  expect(heard).toEqual([{ n: 1 }, ["refresh", undefined]]);
});

test("a flood of notifications waits in the pipe, and arrives whole, in order, with the answer behind it", async () => {
  const run = await fakeSession().run(within());
  const heard: number[] = [];
  run.on("fake/n", (params) => heard.push((params as { n: number }).n));
  const frames = Array.from({ length: 20_000 }, (_, n) => {
    const body = JSON.stringify({ jsonrpc: "2.0", method: "fake/n", params: { n } });
    return `Content-Length: ${body.length}\r\n\r\n${body}`;
  });
  const flooded = run.request("fake/do", { do: "raw", text: frames.join("") }, within(500)).catch(() => "no answer");
  await run.request("fake/log", {}, within());
  expect(heard).toEqual(frames.map((_, n) => n));
  expect(await flooded).toBe("no answer");
});

test("what is sent arrives in the order of the calls, though nobody waits between them", async () => {
  const run = await fakeSession().run(within());
  const sent = Array.from({ length: 200 }, (_, n) =>
    n % 3 === 0 ? run.request("fake/sleep", { ms: 0, n }, within()) : run.notify("fake/note", { n, padding: "x".repeat(n * 50) }),
  );
  await Promise.all(sent);
  const { received } = await logOf(run);
  const numbers = received.flatMap(({ params }) => (params as { n?: number }).n ?? []);
  expect(numbers).toEqual(sent.map((_, n) => n));
});

test.for([
  [-32801, { reason: "NOT_READY", retryable: true, facts: { server: "fake", state: "changing" } }],
  [-32802, { reason: "NOT_READY", retryable: true, facts: { server: "fake", state: "changing" } }],
  [-32803, { reason: "LSP_REFUSED", facts: { server: "fake", code: -32803, message: "no such luck" } }],
  [-32601, { reason: "LSP_REFUSED", facts: { server: "fake", code: -32601, message: "no such luck" } }],
  [1234, { reason: "LSP_REFUSED", facts: { server: "fake", code: 1234, message: "no such luck" } }],
] as const)("the server's error %i becomes ours", async ([code, error]) => {
  const run = await fakeSession().run(within());
  await expect(run.request("fake/do", { do: "error", code, message: "no such luck" }, within())).rejects.toMatchObject(error);
});

test("a question that is not answered in time is cancelled at the server, and holds up no other", async () => {
  const run = await fakeSession({ on: { "textDocument/hover": { do: "silence" } } }).run(within());
  const gone = new AbortController();
  const late = run.request("textDocument/hover", {}, within(300));
  const unwanted = run.request("textDocument/hover", {}, within(20_000, gone.signal));
  expect(await run.request("workspace/symbol", { query: "" }, within())).toEqual([]);
  gone.abort();
  await expect(unwanted).rejects.toMatchObject({ reason: "CANCELLED" });
  await expect(late).rejects.toMatchObject({ reason: "NOT_READY", facts: { server: "fake", state: "timed_out" } });
  const { received, cancelled } = await logOf(run);
  const hovers = received.filter(({ method }) => method === "textDocument/hover").map(({ id }) => id);
  expect(cancelled).toEqual([hovers[1], hovers[0]]);
});

test("a server that goes on after a cancellation is not believed, and one too late is not asked at all", async () => {
  const run = await fakeSession({ ignore: ["cancel"], on: { "fake/sleep": { do: "delay", ms: 300 } } }).run(within());
  const gone = new AbortController();
  const asked = run.request("fake/sleep", { ms: 0 }, within(20_000, gone.signal));
  gone.abort();
  await expect(asked).rejects.toMatchObject({ reason: "CANCELLED" });
  await expect(run.request("fake/sleep", {}, within(20_000, gone.signal))).rejects.toMatchObject({ reason: "CANCELLED" });
  await expect(run.request("fake/sleep", {}, within(-1))).rejects.toMatchObject({ facts: { state: "timed_out" } });
  // Its own answer comes after the one that was given up, which is received and dropped.
  await run.request("fake/sleep", { ms: 0 }, within());
  expect((await logOf(run)).received.filter(({ method }) => method === "fake/sleep")).toHaveLength(2);
});

/** Asks many times, and gives each up at once. */
async function giveUp(run: Run, method: string, count: number): Promise<WeakRef<AbortSignal>[]> {
  const signals: WeakRef<AbortSignal>[] = [];
  for (let asked = 0; asked < count; asked += 1) {
    const gone = new AbortController();
    signals.push(new WeakRef(gone.signal));
    const answer = run.request(method, { ms: 0 }, within(20_000, gone.signal));
    gone.abort();
    // Not by `rejects`, which keeps the error, whose stack keeps the signal.
    expect(await answer.catch((thrown: unknown) => (thrown as { reason: string }).reason)).toBe("CANCELLED");
  }
  return signals;
}

const UNANSWERING = { ignore: ["cancel"], on: { "textDocument/hover": { do: "silence" } } };

test("who gave up is not kept while the server owes the answer", async () => {
  const run = await fakeSession(UNANSWERING).run(within());
  const signals = await giveUp(run, "textDocument/hover", 150);
  await run.request("fake/sleep", { ms: 0 }, within());
  await expect.poll(() => heldOf(signals), { timeout: 20_000 }).toBeLessThan(5);
});

test("a server that goes on and leaves more than a thousand questions unanswered is ended; late answers count as answers", async () => {
  const session = fakeSession(UNANSWERING);
  const run = await session.run(within());
  await giveUp(run, "textDocument/hover", 500);
  for (let round = 0; round < 2; round += 1) {
    await giveUp(run, "fake/sleep", 400);
    await run.request("fake/sleep", { ms: 20 }, within());
  }
  await giveUp(run, "textDocument/hover", 500);
  expect(session.state).toBe("ready");
  await giveUp(run, "textDocument/hover", 1);
  expect([session.state, session.note]).toEqual(["crashed", "it left 1001 questions unanswered"]);
  await run.ended;
});

test("a large answer is taken whole", async () => {
  const run = await fakeSession().run(within());
  const answer = (await run.request("fake/do", { do: "huge", bytes: 24 * 1024 * 1024 }, within())) as string;
  expect([answer.length > 24 * 1024 * 1024 - 100, /^x+$/.test(answer)]).toEqual([true, true]);
});

test("the last 4 KiB of what it says on its standard error are kept, from a whole character on", async () => {
  const session = fakeSession({ stderr: "ä".repeat(3_000), on: { "fake/sleep": { do: "spam", bytes: 10_001 } } });
  const run = await session.run(within());
  await expect.poll(() => session.stderrTail).toBe("ä".repeat(2_048));
  await run.request("fake/sleep", { ms: 0 }, within());
  await expect.poll(() => session.stderrTail.includes("spam line 700")).toBe(true);
  expect(Buffer.byteLength(session.stderrTail)).toBe(4_096);
});
