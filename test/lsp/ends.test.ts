import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { runGin } from "../helpers/gin.ts";
import { alive } from "../helpers/lsp/session.ts";
import { atTeardown } from "../helpers/teardown.ts";
import { tempDir } from "../helpers/temp.ts";

/** A daemon, a workspace with a TypeScript file, and the servers that run for it: they have the temporary directory that marks them. */
interface Site {
  readonly daemon: TestDaemon;
  readonly root: string;
  gin(...argv: string[]): Promise<string>;
  /** Asks, so that the server runs. */
  ask(): Promise<void>;
  servers(): number[];
}

async function open(): Promise<Site> {
  const dir = tempDir("ends");
  const [root, host, tmp] = [join(dir, "root"), join(dir, "host"), join(dir, "tmp")];
  for (const made of [root, host, tmp]) mkdirSync(made, { mode: 0o700 });
  writeFileSync(join(root, "a.ts"), "export const one = 1;\n");
  const daemon = await startDaemon({ host, root, args: ["--listen", "none"], env: { TMPDIR: tmp } });
  atTeardown(() => daemon.kill());
  const gin = async (...argv: string[]): Promise<string> => {
    const { code, stdout, stderr } = await runGin(argv, { host });
    if (code !== 0) throw new Error(`gin ${argv.join(" ")}: ${code} ${stderr}`);
    return stdout;
  };
  const servers = (): number[] =>
    readdirSync("/proc")
      .map(Number)
      .filter((pid) => pid > 0 && pid !== daemon.child.pid && marked(pid, `TMPDIR=${tmp}`) && alive(pid));
  return {
    daemon,
    root,
    gin,
    servers,
    async ask() {
      expect(await gin("lsp", "symbols", "a.ts")).toContain("one  1:14");
      expect(servers().length).toBeGreaterThan(0);
    },
  };
}

function marked(pid: number, variable: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, "latin1").split("\0").includes(variable);
  } catch {
    // Gone, or somebody else's.
    return false;
  }
}

it("leaves no server behind when its workspace is trusted, closed or removed, and starts one again for who asks", async ({
  skip,
}) => {
  if (process.platform !== "linux") skip("processes are told apart by procfs");
  const { gin, ask, servers, root } = await open();
  await ask();
  await gin("workspace", "trust");
  expect(servers()).toEqual([]);
  await ask();
  await gin("lsp", "restart");
  expect(servers()).toEqual([]);
  await ask();
  await gin("workspace", "close");
  expect(servers()).toEqual([]);
  await gin("workspace", "open", root);
  expect((await gin("workspace", "list", "--json")).includes('"trusted":true')).toBe(true);
  await ask();
  await gin("workspace", "remove");
  expect(servers()).toEqual([]);
});

it("leaves no server behind when the daemon is ended, and none for long when it is killed", async ({ skip }) => {
  if (process.platform !== "linux") skip("processes are told apart by procfs");
  const ended = await open();
  await ended.ask();
  await ended.daemon.stop();
  expect(ended.servers()).toEqual([]);
  const killed = await open();
  await killed.ask();
  process.kill(killed.daemon.child.pid ?? 0, "SIGKILL");
  await expect.poll(killed.servers, { timeout: 10_000, interval: 50 }).toEqual([]);
});
