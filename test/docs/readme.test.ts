import { chmodSync, cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import { ended, type Owned, runCommand, spawnOwned } from "../helpers/process.ts";
import { repo } from "../helpers/repo.ts";
import { isLong } from "../helpers/scale.ts";
import { tempDir } from "../helpers/temp.ts";
import { blocksOf } from "./fences.ts";

const blocks = blocksOf(readFileSync(join(repo, "README.md"), "utf8"));

/** The files a clone would have, as they are in the work tree now. */
async function cloneTo(folder: string): Promise<void> {
  const listed = await runCommand("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], { cwd: repo });
  for (const file of listed.stdout.split("\0").filter(Boolean)) {
    mkdirSync(join(folder, dirname(file)), { recursive: true });
    cpSync(join(repo, file), join(folder, file), { verbatimSymlinks: true });
  }
}

/**
 * A copy of the repository in which what `npm ci` and `npm run build` made is there already, and a directory with an npm that
 * knows it: `npm test` has just run both, and twice would take a minute.
 */
function installedCopy(folder: string): string {
  mkdirSync(folder);
  cpSync(join(repo, "bin"), join(folder, "bin"), { recursive: true });
  for (const made of ["node_modules", "dist"]) symlinkSync(join(repo, made), join(folder, made));
  const npm = join(folder, "..", "npm-bin");
  mkdirSync(npm);
  writeFileSync(join(npm, "npm"), '#!/bin/sh\ncase "$*" in ci|"run build") exit 0 ;; esac\nexit 1\n');
  chmodSync(join(npm, "npm"), 0o755);
  return npm;
}

/** Everything a child writes until `last` is among it; rejects when it ends before. */
function writes(child: Owned, last: string): Promise<string> {
  let text = "";
  return new Promise((done, fail) => {
    child.once("close", (code) => fail(new Error(`ended with ${code}:\n${text}`)));
    child.stdout.setEncoding("utf8").on("data", (more: string) => {
      text += more;
      if (text.includes(last)) done(stripVTControlCharacters(text).replaceAll("\r\n", "\n"));
    });
  });
}

test("the first command sets up and serves the current directory, and prints what to use", { timeout: 600_000 }, async (ctx) => {
  const command = blocks[0]?.script ?? "";
  expect(command).toBe("npm ci && npm run build && bin/gin serve .");
  if ((await runCommand("sh", ["-c", "command -v script"])).code !== 0) ctx.skip("script (bsdutils) is missing: no terminal");
  const dir = tempDir("readme");
  const clone = join(dir, "gin");
  const host = join(dir, "host");
  const path = isLong ? "" : installedCopy(clone) + delimiter;
  if (isLong) await cloneTo(clone);
  const env = { PATH: path + (process.env.PATH ?? ""), GIN_HOST: host, GIN_LOG_LEVEL: "error", NO_COLOR: "1" };
  const terminal = spawnOwned("script", ["-qec", `stty cols 200; ${command}`, "/dev/null"], { cwd: clone, env });
  const text = await writes(terminal, "\n    }\r\n");

  // npm may have left a spinner at the start of the line.
  const ready = JSON.parse(/\{"ready":true.*$/m.exec(text)?.[0] ?? "{}") as Record<string, string>;
  expect(ready.endpoint, text).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  expect(readFileSync(ready.token_file ?? "", "utf8")).toMatch(/^gin_/);
  const shown = readFileSync(join(repo, "README.md"), "utf8");
  for (const line of ["Ctrl-C drains and ends it", "with the token in", "MCP:  add this to your agent's configuration"]) {
    expect(text).toContain(line);
    expect(shown).toContain(line);
  }

  const snippet = JSON.parse(text.slice(text.search(/^ {4}\{$/m))) as {
    mcpServers: { gin: { command: string; args: string[] } };
  };
  const { command: program, args } = snippet.mcpServers.gin;
  const hello = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } };
  const input = `${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: hello })}\n`;
  // From another directory and without the PATH of the terminal, as an agent would.
  const bridge = await runCommand(program, args, { cwd: "/", env: { PATH: "/nowhere", GIN_HOST: undefined }, input });
  expect(JSON.parse(bridge.stdout)).toMatchObject({ id: 1, result: { serverInfo: { name: "gin" } } });

  terminal.stdin.write("\x03");
  await ended(terminal);
});

test("the second command is what CI runs", () => {
  const ci = readFileSync(join(repo, ".ci/run"), "utf8").trimEnd().split("\n");
  expect(blocks[1]?.script.split(" && ")).toEqual(ci.slice(-2));
});
