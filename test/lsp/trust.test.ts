import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { systemClock, systemRandom } from "../../src/daemon/base/index.ts";
import { startServers, withWorkspaces } from "../../src/daemon/language-servers.ts";
import { mergeConfig } from "../../src/paths/index.ts";
import { noServers } from "../helpers/lsp/none.ts";
import { silent } from "../helpers/lsp/session.ts";
import { atTeardown } from "../helpers/teardown.ts";
import { tempDir } from "../helpers/temp.ts";
import { type ApiSite, caller, openApi } from "../unit/api/site.ts";

/** A program by a server's name that says that it was started, and is none. */
function decoy(directory: string, name: string, log: string): void {
  mkdirSync(directory, { recursive: true });
  const file = join(directory, name);
  writeFileSync(file, `#!/bin/sh\necho started >> '${log}'\nexit 3\n`);
  chmodSync(file, 0o755);
}

/** The api over servers found in these directories alone, with the workspace's own directory as a root. */
async function open(bin: readonly string[], disabled: readonly string[] = []): Promise<ApiSite> {
  const path = process.env.PATH;
  process.env.PATH = [...bin, "/usr/bin", "/bin"].join(delimiter);
  const settings = Object.fromEntries(disabled.map((id) => [id, { disabled: true }]));
  const roots: string[] = [];
  const servers = startServers(mergeConfig({ lsp_servers: settings }, {}, {}).config, () => roots, {
    clock: systemClock,
    random: systemRandom,
    log: silent,
  });
  atTeardown(() => {
    process.env.PATH = path;
    return servers.close();
  });
  const site = await openApi({
    lsp: servers,
    engine: { import: true },
    callers: { agent: caller("agent", { scopes: new Set(["read", "lsp"]) }) },
  });
  roots.push(site.root);
  writeFileSync(join(site.root, "main.zig"), "const a = 1;\n");
  // Refused until the first import has ended.
  await vi.waitFor(() => site.workspace.sync(), { timeout: 30_000, interval: 20 });
  return site;
}

const HOVER = { action: "hover", path: "main.zig", line: 1, character: 7, timeout_ms: 20_000 };

async function states(site: ApiSite): Promise<string[]> {
  const { body } = await site.call("Lsp", { action: "status" });
  return body.servers.map((one: { server: string; state: string }) => `${one.server} ${one.state}`);
}

describe("a server that could run the workspace's code", () => {
  it("is not started until the owner trusts the workspace, and no more when the word is taken back", async () => {
    const bin = tempDir("bin");
    const log = join(tempDir("log"), "started");
    decoy(bin, "zls", log);
    const site = await open([bin]);
    expect(await states(site)).toEqual(["zls needs_trust"]);
    const refused = await site.call("Lsp", HOVER);
    expect(refused.error).toMatchObject({ reason: "LSP_NEEDS_TRUST", facts: { server: "zls" } });
    expect(refused.error.suggestion).toContain("gin workspace trust");
    expect((await site.admin("TrustWorkspace", { request_id: "t-1" }, { as: "agent" })).error.reason).toBe("SCOPE_FORBIDDEN");
    const trusted = await site.admin("TrustWorkspace", { request_id: "t-1" });
    expect(trusted.body).toMatchObject({ info: { trusted: true }, replayed: false });
    expect((await site.admin("TrustWorkspace", { request_id: "t-1" })).body).toMatchObject({
      info: { trusted: true },
      replayed: true,
    });
    expect((await site.admin("ListWorkspaces", {})).body.workspaces[0].trusted).toBe(true);
    expect((await site.call("Context", {})).body.trusted).toBe(true);
    // It is started now, and what it is shows in the answer.
    expect((await site.call("Lsp", HOVER)).error).toMatchObject({
      reason: "NOT_READY",
      facts: { server: "zls", state: "crashed" },
    });
    await site.admin("TrustWorkspace", { request_id: "t-2", revoke: true });
    expect((await site.call("Lsp", HOVER)).error.reason).toBe("LSP_NEEDS_TRUST");
  });

  it("is not started for a request that was admitted before the word was taken back", async () => {
    const site = await open([tempDir("bin")]);
    const [hosted] = site.hosted;
    if (hosted === undefined) throw new Error("nothing is served");
    const now = { ...hosted, trusted: false };
    const servers = withWorkspaces(noServers(), site.store, () => now);
    expect(servers.of({ ...hosted, trusted: true }, site.workspace).trusted).toBe(false);
    expect(servers.of({ ...hosted, trusted: true }, site.workspace)).toBe(servers.of(now, site.workspace));
  });

  it("is never taken from the workspace itself, whatever PATH says", async () => {
    const log = join(tempDir("log"), "started");
    const link = join(tempDir("links"), "bin");
    const site = await open([link]);
    decoy(join(site.root, "bin"), "zls", log);
    symlinkSync(join(site.root, "bin"), link);
    await site.admin("TrustWorkspace", { request_id: "t-1" });
    const { error } = await site.call("Lsp", HOVER);
    expect(error).toMatchObject({ reason: "UNSUPPORTED", facts: { requested: "zls" } });
    expect(error.suggestion).toContain("install zls");
    expect(await states(site)).toEqual(["zls not_installed"]);
  });

  it("is not there at all when the owner switched it off", async () => {
    const bin = tempDir("bin");
    decoy(bin, "zls", join(bin, "log"));
    const site = await open([bin], ["zls"]);
    expect(await states(site)).toEqual([]);
    expect((await site.call("Lsp", HOVER)).error).toMatchObject({
      reason: "UNSUPPORTED",
      suggestion: "the owner set lsp_servers so",
    });
  });
});
