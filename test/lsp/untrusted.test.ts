import { chmodSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, it } from "vitest";
import { systemClock, systemRandom } from "../../src/daemon/base/index.ts";
import { startServers } from "../../src/daemon/language-servers.ts";
import type { LspAsk } from "../../src/daemon/lsp/index.ts";
import { mergeConfig } from "../../src/paths/index.ts";
import { DiskWorkspace } from "../helpers/lsp/disk-workspace.ts";
import { question } from "../helpers/lsp/room.ts";
import { missing, wholePath } from "../helpers/lsp/servers.ts";
import { silent } from "../helpers/lsp/session.ts";
import { atTeardown } from "../helpers/teardown.ts";
import { tempDir } from "../helpers/temp.ts";

/** A workspace, and its first and only question to the servers a daemon with this environment has. */
async function firstAsked(
  workspace: DiskWorkspace,
  env: Readonly<Record<string, string>>,
  action: LspAsk["action"],
  path: string,
  over: Partial<LspAsk>,
) {
  const before = { ...process.env };
  Object.assign(process.env, { PATH: wholePath, ...env });
  const ports = { clock: systemClock, random: systemRandom, log: silent };
  const servers = startServers(mergeConfig({}, {}, {}).config, () => [workspace.root], ports);
  try {
    return await servers.ask(question(workspace, action, path, over));
  } finally {
    process.env = before;
    await servers.close();
  }
}

it("a server of an untrusted workspace fetches nothing, not even for the question it is started by", async (ctx) => {
  const lacks = missing("yaml-language-server");
  if (lacks !== undefined) return ctx.skip(lacks);
  const fetched: (string | undefined)[] = [];
  const web = createServer(({ url }, response) => {
    fetched.push(url);
    response.end(JSON.stringify({ type: "object", properties: { name: { description: "fetched" } } }));
  });
  await new Promise<void>((resolve) => web.listen(0, "127.0.0.1", resolve));
  atTeardown(() => void web.close());
  const { port } = web.address() as AddressInfo;
  const text = `# yaml-language-server: $schema=http://127.0.0.1:${port}/schema.json\nname: x\n`;
  const hover = async (trusted: boolean) => {
    const workspace = new DiskWorkspace(tempDir("fetch"), { "a.yaml": text });
    workspace.trusted = trusted;
    const { found } = await firstAsked(workspace, {}, "hover", "a.yaml", { line: 2, character: 2 });
    return found.kind === "hover" && found.text.includes("fetched");
  };
  expect([await hover(false), fetched]).toEqual([false, []]);
  // By the question, and by what is complained of.
  expect([await hover(true), [...new Set(fetched)]]).toEqual([true, ["/schema.json"]]);
});

it("a virtual environment inside of an untrusted workspace is not run, though the daemon was started from it", async (ctx) => {
  const lacks = missing("pylsp");
  if (lacks !== undefined) return ctx.skip(lacks);
  const ran = async (trusted: boolean): Promise<boolean> => {
    const root = tempDir("venv");
    const log = join(tempDir("log"), "ran");
    mkdirSync(join(root, ".venv/bin"), { recursive: true });
    writeFileSync(join(root, ".venv/pyvenv.cfg"), "home = /usr/bin\nversion = 3.11\n");
    const python = join(root, ".venv/bin/python");
    writeFileSync(python, `#!/bin/sh\necho ran >> '${log}'\nexec /usr/bin/python3 "$@"\n`);
    chmodSync(python, 0o755);
    symlinkSync("python", join(root, ".venv/bin/python3"));
    const workspace = new DiskWorkspace(root, { "a.py": "import os\nos.getcwd()\n" });
    workspace.trusted = trusted;
    const env = { VIRTUAL_ENV: join(root, ".venv") };
    const { found } = await firstAsked(workspace, env, "hover", "a.py", { line: 2, character: 5, server: "pylsp" });
    expect(found.kind === "hover" && found.text).toContain("getcwd() -> str");
    return existsSync(log);
  };
  expect([await ran(false), await ran(true)]).toEqual([false, true]);
});
