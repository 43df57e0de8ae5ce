import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { INSTRUCTIONS, TOOLS } from "../../src/mcp-bridge/index.ts";
import { LINE_MAX_BYTES } from "../../src/mcp-bridge/transport/stdio.ts";
import { VERSION } from "../../src/paths/index.ts";
import { tempHost } from "../helpers/temp.ts";
import { type Bridge, CHANNELS, modern, startBridge, told } from "./bridge.ts";
import { onDemand, type Site, startSite } from "./setup.ts";

const LEGACY = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

let site: Site;
beforeAll(async () => {
  site = await startSite();
});

const args = (): string[] => ["--host", site.host, "--root", site.root];

describe.each(CHANNELS)("on a %s", (channel) => {
  // The channel makes no difference to the revision: all on one, one on the other.
  it.each(channel === "pipe" ? LEGACY : LEGACY.slice(1, 2))("serves %s from initialize to a read", async (version) => {
    const bridge = startBridge(args(), { channel });
    const hello = await bridge.initialize(version);
    expect(hello.result).toMatchObject({ protocolVersion: version, serverInfo: { name: "gin", version: VERSION } });
    expect((await bridge.ask("ping")).result).toEqual({});
    const list = await bridge.ask("tools/list");
    expect(list.result).not.toHaveProperty("resultType");
    const read = await bridge.tool("gin_read", { path: "a.txt" });
    expect(read).toMatchObject({ isError: false, json: { text: "hello\n" } });
    bridge.input.end();
    expect(await bridge.end).toEqual({ code: 0, signal: null });
    expect(bridge.stderr()).toBe("");
  });

  it("serves 2026-07-28 without a handshake", async () => {
    const bridge = startBridge(args(), { channel });
    const discovered = await bridge.ask("server/discover", modern());
    expect(discovered.result).toMatchObject({
      resultType: "complete",
      supportedVersions: ["2026-07-28"],
      instructions: INSTRUCTIONS,
      ttlMs: 300_000,
      cacheScope: "public",
    });
    const list = await bridge.ask("tools/list", modern());
    expect(list.result).toMatchObject({ ttlMs: 300_000, cacheScope: "public" });
    const read = await bridge.ask("tools/call", modern({ name: "gin_read", arguments: { path: "a.txt" } }));
    expect(read.result).toMatchObject({ resultType: "complete" });
    expect(told(read).json).toMatchObject({ text: "hello\n" });
    expect((await bridge.ask("ping", modern())).error?.code).toBe(-32601);
  });
});

describe("both eras on one process", () => {
  it("a discover does not close the door to initialize", async () => {
    const bridge = startBridge(args());
    await bridge.ask("server/discover", modern());
    expect((await bridge.initialize("2025-11-25")).result).toMatchObject({ protocolVersion: "2025-11-25" });
    expect((await bridge.tool("gin_read", { path: "a.txt" })).isError).toBe(false);
  });

  it("an unknown revision is answered with one we serve, or told which we serve", async () => {
    const bridge = startBridge(args());
    const answer = await bridge.ask("server/discover", modern({}, "tester", "2031-01-01"));
    expect(answer.error).toMatchObject({ code: -32022, data: { supported: ["2026-07-28"], requested: "2031-01-01" } });
    expect((await bridge.initialize("2031-01-01")).result).toMatchObject({ protocolVersion: "2025-11-25" });
  });

  it("the principal is the host's name, made fit", async () => {
    const legacy = startBridge(args());
    await legacy.initialize("2025-06-18", "Claude Code (beta)/../x");
    expect((await legacy.tool("gin_context")).json).toMatchObject({ principal: "mcp-Claude-Code-beta-..-x" });
    const now = startBridge(args());
    const context = await now.ask("tools/call", modern({ name: "gin_context", arguments: {} }, "codex"));
    expect(told(context).json).toMatchObject({ principal: "mcp-codex" });
    const named = startBridge([...args(), "--principal", "ada/tests"]);
    await named.initialize();
    expect((await named.tool("gin_context")).json).toMatchObject({ principal: "ada/tests" });
  });
});

describe("what is no request", () => {
  let bridge: Bridge;
  beforeAll(async () => {
    bridge = startBridge(args());
    await bridge.initialize();
  });

  it.each([
    ["not JSON", "{nope", -32700, null],
    ["not UTF-8", Buffer.from([0x22, 0xff, 0xfe, 0x22]), -32700, null],
    ["a batch", '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600, null],
    ["a number", "5", -32600, null],
    ["no version", '{"id":"v","method":"ping"}', -32600, "v"],
    ["a null id", '{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, null],
    ["a broken id", '{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600, null],
    ["no method", '{"jsonrpc":"2.0","id":"m"}', -32600, "m"],
    ["params that are a list", '{"jsonrpc":"2.0","id":"p","method":"tools/list","params":[1]}', -32600, "p"],
  ] as const)("%s is answered with %s and the conversation goes on", async (_what, line, code, id) => {
    const seen = bridge.received.length;
    bridge.input.write(line);
    bridge.input.write("\n");
    const answer = await bridge.until((message) => bridge.received.indexOf(message) >= seen);
    expect(answer).toMatchObject({ id, error: { code } });
    expect((await bridge.ask("ping")).result).toEqual({});
  });

  it("a line that is too long is refused once, and the next one is read", async () => {
    const seen = bridge.received.length;
    bridge.input.write(Buffer.alloc(LINE_MAX_BYTES + 5, "x"));
    bridge.input.write("\n\n  \n");
    const answer = await bridge.until((message) => bridge.received.indexOf(message) >= seen);
    expect(answer).toMatchObject({ id: null, error: { code: -32600 } });
    expect((await bridge.ask("ping")).result).toEqual({});
    expect(bridge.received.length).toBe(seen + 2);
  });

  it("unknown tools and methods are JSON-RPC errors, notifications get no answer", async () => {
    const seen = bridge.received.length;
    bridge.send({ method: "notifications/nobody", params: {} });
    bridge.send({ method: "notifications/cancelled", params: { requestId: 4711 } });
    expect((await bridge.ask("tools/call", { name: "gin_nope", arguments: {} })).error?.code).toBe(-32602);
    expect((await bridge.ask("resources/list")).error?.code).toBe(-32601);
    expect((await bridge.ask("tools/list", { cursor: "x" })).error?.code).toBe(-32602);
    expect(bridge.received.length).toBe(seen + 3);
  });
});

describe("a bridge whose daemon or configuration is bad", () => {
  async function opensQuickly(bridge: Bridge): Promise<void> {
    const started = performance.now();
    await bridge.ask("server/discover", modern());
    await bridge.initialize();
    expect((await bridge.ask("tools/list")).result?.tools).toHaveLength(TOOLS.length);
    // The goal is one second, process start included; a busy machine gets five times that.
    expect(performance.now() - started).toBeLessThan(5_000);
  }

  it("answers before a frozen daemon does", async () => {
    const frozen = await startSite();
    frozen.daemon.child.kill("SIGSTOP");
    const bridge = startBridge(["--host", frozen.host, "--root", frozen.root]);
    await opensQuickly(bridge);
    const call = bridge.tool("gin_read", { path: "a.txt" });
    frozen.daemon.child.kill("SIGCONT");
    expect((await call).json).toMatchObject({ text: "hello\n" });
  });

  it.each([
    ["an unknown flag", () => ["--nope"], "configuration", "--nope"],
    ["an endpoint that is none", () => ["--endpoint", "ftp://x"], "configuration", "--endpoint"],
    [
      "a token file that is not there",
      () => ["--endpoint", "http://127.0.0.1:1", "--token-file", "/nowhere/t"],
      "configuration",
      "/nowhere",
    ],
    ["a root and a workspace", () => ["--root", "/tmp", "--workspace", "w"], "configuration", "--root"],
    ["a workspace nobody has", () => ["--host", site.host, "--workspace", "ws_none"], "WORKSPACE_NOT_FOUND", "no workspace"],
    ["nobody listening", () => ["--endpoint", "http://127.0.0.1:1"], "not_sent", "no daemon is listening"],
    ["no daemon and none allowed", () => ["--host", tempHost().host, "--no-spawn", "--workspace", "w"], "not_sent", "no daemon"],
  ] as const)("%s is the answer to a call, with what to do, and ends nothing", async (_what, wrong, kind, names) => {
    const bridge = startBridge(wrong());
    await opensQuickly(bridge);
    for (let call = 0; call < 2; call += 1) {
      const { isError, json } = await bridge.tool("gin_context");
      expect(isError).toBe(true);
      const error = (json.bridge_error ?? json.error) as { kind?: string; reason?: string; message: string; suggestion: string };
      expect(error.kind ?? error.reason).toBe(kind);
      expect(error.message).toContain(names);
      expect(error.suggestion).not.toBe("");
    }
    expect((await bridge.ask("ping")).result).toEqual({});
  });

  it("a token file that is put there later is taken", async () => {
    const { host } = tempHost();
    const tcp = await startSite([]);
    const file = join(host, "token");
    const bridge = startBridge(["--endpoint", tcp.daemon.ready.endpoint, "--token-file", file]);
    await bridge.initialize();
    expect((await bridge.tool("gin_context")).json).toMatchObject({ bridge_error: { kind: "configuration" } });
    writeFileSync(file, readFileSync(tcp.daemon.ready.token_file), { mode: 0o600 });
    expect((await bridge.tool("gin_context")).json).toMatchObject({ principal: "local" });
  });

  it("without --root the project of the host is meant, and never the whole of / or home", async () => {
    const { root, host } = onDemand();
    mkdirSync(join(root, "sub"));
    writeFileSync(join(root, "sub", "x.txt"), "x");
    const byVariable = startBridge(["--host", host], { env: { CLAUDE_PROJECT_DIR: root } });
    await byVariable.initialize();
    expect((await byVariable.tool("gin_read", { path: "sub/x.txt" })).json).toMatchObject({ text: "x" });
    const byCwd = startBridge(["--host", host], { cwd: root });
    await byCwd.initialize();
    expect((await byCwd.tool("gin_context")).json).toMatchObject({ root });
    for (const cwd of ["/", root]) {
      const nowhere = startBridge(["--host", host], { cwd, env: { HOME: root } });
      await nowhere.initialize();
      const { json } = await nowhere.tool("gin_context");
      expect(json).toMatchObject({ bridge_error: { kind: "configuration", message: expect.stringContaining("--root") } });
    }
  });
});
