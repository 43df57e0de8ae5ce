import { readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { expect, test } from "vitest";
import { locateHost, VERSION, writeMetadata } from "../../../src/paths/index.ts";
import { ginBin, runGin } from "../../helpers/gin.ts";
import { runCommand } from "../../helpers/process.ts";
import { tempDir, tempHost } from "../../helpers/temp.ts";
import { fakeDaemon } from "../sdk/fake-daemon.ts";

/** Preloaded into the CLI: writes which built-in modules and which files it had loaded when it ended. */
const PROBE = `
const fs = require("node:fs");
process.on("exit", () => {
  const builtins = process.moduleLoadList.filter((name) => name.startsWith("NativeModule ")).map((name) => name.slice(13));
  fs.writeFileSync(process.env.PROBE_OUT, JSON.stringify({ builtins, files: Object.keys(require.cache) }));
});
`;

/** What a command line loads, against a daemon that published its socket. */
async function loadedBy(args: readonly string[]): Promise<{ readonly builtins: string[]; readonly files: string[] }> {
  const { host } = tempHost();
  const daemon = await fakeDaemon(() => ({
    json: { read_path: { kind: "PATH_KIND_FILE", text: "hi\n" }, call_tool: { ok: true }, pid: "1" },
  }));
  writeMetadata(locateHost({ host }).metadata, {
    pid: process.pid,
    process_start: "",
    started_ms: 0,
    version: VERSION,
    protocol: 1,
    socket: daemon.socketPath,
    endpoint: "",
    mode: "foreground",
  });
  const dir = tempDir("probe");
  const out = join(dir, "out.json");
  writeFileSync(join(dir, "probe.cjs"), PROBE);
  const { code, stderr } = await runGin(args, {
    host,
    env: { NODE_OPTIONS: `--require ${join(dir, "probe.cjs")}`, PROBE_OUT: out },
  });
  expect([code, stderr]).toEqual([0, ""]);
  const { builtins, files } = JSON.parse(readFileSync(out, "utf8")) as { builtins: string[]; files: string[] };
  return { builtins, files: files.map((file) => basename(file)).filter((file) => file !== "probe.cjs") };
}

test.each([[["read", "a.txt"]], [["tool", "read_file", "--json", '{"path":"a.txt"}']]])(
  "gin %j loads one file and of Node's own modules neither http, crypto, child_process nor https",
  async (args) => {
    const { builtins, files } = await loadedBy(args);
    expect(files).toEqual(["gin", "gin.cjs"]);
    expect(builtins).toContain("net");
    const dear = ["http", "_http_client", "https", "tls", "crypto", "child_process", "http2", "worker_threads", "inspector"];
    expect(dear.filter((name) => builtins.includes(name))).toEqual([]);
  },
);

test("a rare command is run by the bundle of all commands", async () => {
  const { files } = await loadedBy(["status", "--json"]);
  expect(files).toEqual(["gin", "gin.cjs", "gin-whole.cjs"]);
});

test("the bundle that a quick command starts from holds its own code alone, and not much of it", () => {
  const text = readFileSync(join(dirname(ginBin), "..", "dist", "gin.cjs"), "utf8");
  expect(text.length).toBeLessThan(76 * 1024);
  expect(text).not.toMatch(/@bufbuild|@connectrpc|gin\.v1\.SaveRequest/);
  // A character beyond latin1 would double what V8 has to read.
  expect(/^[\0-\x7f]*$/.test(text)).toBe(true);
});

test("without a build bin/gin says which command makes it", async () => {
  const dir = tempDir("unbuilt");
  const { code, stdout } = await runCommand("cp", ["-r", dirname(ginBin), dir]);
  expect([code, stdout]).toEqual([0, ""]);
  const run = await runCommand(process.execPath, [join(dir, "bin", "gin"), "read", "a"]);
  expect(run).toMatchObject({ code: 2, stdout: "", stderr: "gin is not built: run `npm ci && npm run build` in its folder\n" });
});

test("a build that is broken is not taken for one that is missing", async () => {
  const dir = tempDir("broken");
  await runCommand("cp", ["-r", dirname(ginBin), dir]);
  await runCommand("mkdir", [join(dir, "dist")]);
  writeFileSync(join(dir, "dist", "gin.cjs"), 'require("./gone.cjs");');
  const run = await runCommand(process.execPath, [join(dir, "bin", "gin"), "read", "a"]);
  expect(run.code).not.toBe(2);
  expect(run.stderr).toContain("gone.cjs");
});
