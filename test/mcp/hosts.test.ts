import { readFileSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/clients/sdk/index.ts";
import { TOOLS } from "../../src/mcp-bridge/index.ts";
import { runCommand } from "../helpers/process.ts";
import { type ForeignClient, fromNpm, installed } from "./clients.ts";
import { type Codex, startCodex } from "./codex.ts";
import { type Project, snippet, startProject } from "./project.ts";
import { startRelay } from "./relay.ts";
import { startSite } from "./setup.ts";

/** Installing may take minutes; the tests themselves take seconds. */
const INSTALL_MS = 300_000;

const program = (folder: string, name: string): string => join(folder, "node_modules", ".bin", name);

/** The text of a tool's answer as JSON. */
const answer = (result: JsonObject): JsonObject =>
  JSON.parse((result.content as { text: string }[])[0]?.text ?? "") as JsonObject;

describe.each(["legacy", "modern"])("Codex's app-server, %s", (era) => {
  const codex = fromNpm("codex-0.171.0", "@openai/codex@0.171.0");

  async function start(folder: string, project: Project, entry: string): Promise<Codex> {
    // Codex speaks the modern era only where the server's entry and a flag both say so.
    const modern = era === "modern";
    const env = '\nenv = { CODEX_MCP_PROTOCOL_VERSION = "2026-07-28" }\n';
    project.write("home", ".codex/config.toml", entry + (modern ? env : ""));
    return await startCodex(program(folder, "codex"), project, modern ? ["--enable", "mcp_2026_07_28"] : []);
  }

  it("lists, reads and saves with the documented snippet", { timeout: INSTALL_MS }, async (context) => {
    const folder = await installed(codex, context);
    const project = startProject();
    const client = await start(folder, project, snippet("Codex"));
    const { data } = await client.ask("mcpServerStatus/list", {});
    const [server] = data as { name: string; tools: JsonObject }[];
    expect(Object.keys(server?.tools ?? {}).sort()).toEqual(TOOLS.map((tool) => tool.name).sort());
    expect(answer(await client.call("gin_read", { path: "a.txt" }))).toMatchObject({ text: "hello\n" });
    const edits = [{ path: "codex.txt", expect: "absent", text: `by ${era}\n` }];
    expect(answer(await client.call("gin_save", { edits }))).toMatchObject({ paths: [{ path: "codex.txt" }] });
    expect(readFileSync(join(project.root, "codex.txt"), "utf8")).toBe(`by ${era}\n`);
    const stale = await client.call("gin_save", { edits });
    expect(stale).toMatchObject({ isError: true });
    expect(answer(stale)).toMatchObject({ error: { reason: "STALE_CONTENT" } });
    const missing = await client.call("gin_read", { path: "nope" });
    expect(missing).toMatchObject({ isError: true });
    expect(answer(missing)).toMatchObject({ error: { reason: "PATH_NOT_FOUND" } });
    expect(answer(await client.call("gin_context", {})).principal).toMatch(/^mcp-codex/);
    expect(project.wire()).toContain(
      era === "modern" ? '"io.modelcontextprotocol/protocolVersion":"2026-07-28"' : '"protocolVersion":"2025-06-18"',
    );
  });

  it("gives a slow read up, which stops it at the daemon, and goes on", { timeout: INSTALL_MS }, async (context) => {
    const folder = await installed(codex, context);
    const site = await startSite();
    const relay = await startRelay(site.daemon.ready.socket);
    const project = startProject();
    const args = `args = ["mcp", "--endpoint", ${JSON.stringify(relay.endpoint)}]\ntool_timeout_sec = 1`;
    const client = await start(folder, project, `[mcp_servers.gin]\ncommand = "gin"\n${args}\n`);
    expect(answer(await client.call("gin_read", { path: "a.txt" }))).toMatchObject({ text: "hello\n" });
    relay.hold();
    const closed = relay.closedByBridge();
    await expect(client.call("gin_read", { path: "a.txt", content: false })).rejects.toThrow(/tim/i);
    await closed;
    expect(project.wire()).toContain('"notifications/cancelled"');
    relay.release();
    expect(answer(await client.call("gin_read", { path: "a.txt" }))).toMatchObject({ text: "hello\n" });
  });
});

describe("opencode", () => {
  const opencode: ForeignClient = {
    ...fromNpm("opencode-1.18.33", "opencode-ai@1.18.33"),
    // Its own script puts the program of this machine in place.
    more: [["node", "node_modules/opencode-ai/postinstall.mjs"]],
  };

  it("connects with the documented snippet", { timeout: INSTALL_MS }, async (context) => {
    const folder = await installed(opencode, context);
    const project = startProject();
    project.write("root", "opencode.json", snippet("opencode"));
    const { root: cwd, env } = project;
    const done = await runCommand(program(folder, "opencode"), ["mcp", "list"], { cwd, env });
    expect(done.code, done.stderr).toBe(0);
    expect(stripVTControlCharacters(done.stdout + done.stderr)).toMatch(/✓ gin connected/);
    expect(project.wire()).toContain('"protocolVersion":"2025-11-25"');
  });
});

describe("Gemini CLI", () => {
  const gemini = fromNpm("gemini-0.61.0", "@google/gemini-cli@0.61.0");

  it("connects with the documented snippet, in a folder it trusts", { timeout: INSTALL_MS }, async (context) => {
    const folder = await installed(gemini, context);
    const project = startProject();
    project.write("root", ".gemini/settings.json", snippet("Gemini CLI"));
    const env = { ...project.env, GEMINI_CLI_TRUST_WORKSPACE: "true" };
    const done = await runCommand(program(folder, "gemini"), ["mcp", "list"], { cwd: project.root, env });
    expect(done.code, done.stderr).toBe(0);
    expect(stripVTControlCharacters(done.stdout + done.stderr)).toMatch(/✓ gin: gin mcp .*Connected/);
    expect(project.wire()).toContain('"protocolVersion":"2025-06-18"');
  });
});

describe("mcporter", () => {
  const mcporter = fromNpm("mcporter-0.12.3", "mcporter@0.12.3");

  it("lists every tool, reads and saves", { timeout: INSTALL_MS }, async (context) => {
    const folder = await installed(mcporter, context);
    const { root: cwd, env } = startProject();
    const run = (...args: string[]) =>
      runCommand(process.execPath, [program(folder, "mcporter"), ...args], { cwd, env: { ...env, NO_COLOR: "1" } });
    const list = await run("list", "--stdio", "gin mcp", "--name", "gin");
    expect(list.code, list.stderr).toBe(0);
    for (const { name } of TOOLS) expect(list.stdout).toContain(`function ${name}(`);
    const read = await run("call", "--stdio", "gin mcp", "gin_read", "path=a.txt");
    expect(JSON.parse(read.stdout)).toMatchObject({ text: "hello\n" });
    const edits = JSON.stringify([{ path: "porter.txt", expect: "absent", text: "by mcporter\n" }]);
    const saved = await run("call", "--stdio", "gin mcp", "gin_save", `edits=${edits}`);
    expect(JSON.parse(saved.stdout)).toMatchObject({ paths: [{ path: "porter.txt" }] });
    expect(readFileSync(join(cwd, "porter.txt"), "utf8")).toBe("by mcporter\n");
  });
});
