import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createClient, type GinClient } from "../../src/clients/sdk/index.ts";

/** The repository's folder. */
export const repo = join(dirname(fileURLToPath(import.meta.url)), "..", "..");

/** Environment of every process of a bench: the variable makes each start of Node 20 read a whole bundle of certificates. */
export const plainEnv: NodeJS.ProcessEnv = { ...process.env, NODE_EXTRA_CA_CERTS: undefined };

const children: ChildProcess[] = [];
const directories: string[] = [];

process.on("exit", () => {
  for (const child of children) child.kill("SIGKILL");
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

/** A fresh directory on the real disk, removed at the end. */
export function scratch(name: string): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), `gin-bench-${name}-`)));
  directories.push(directory);
  return directory;
}

/** Starts a program and gives its first line on standard output, parsed. */
export async function start(
  command: readonly string[],
  env: NodeJS.ProcessEnv = plainEnv,
): Promise<{ readonly first: Record<string, unknown>; readonly child: ChildProcess }> {
  const [file, ...args] = command;
  const child = spawn(file as string, args, { cwd: repo, env, stdio: ["pipe", "pipe", "inherit"] });
  children.push(child);
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  for await (const line of lines) return { first: JSON.parse(line) as Record<string, unknown>, child };
  throw new Error(`${command.join(" ")} ended before it was ready`);
}

/** A daemon over a fresh host, serving `root`, and a typed client on its socket. */
export interface BenchDaemon {
  readonly root: string;
  readonly host: string;
  readonly socket: string;
  readonly pid: number;
  readonly client: () => Promise<GinClient>;
  stop(): Promise<void>;
}

/** Starts the built daemon in a process of its own. */
export async function startDaemon(root = join(scratch("root"), "ws"), env: NodeJS.ProcessEnv = plainEnv): Promise<BenchDaemon> {
  mkdirSync(root, { recursive: true });
  const host = join(scratch("host"), "host");
  const { first, child } = await start(
    [process.execPath, "bin/gin", "serve", "--host", host, "--root", root, "--listen", "none", "--log-level", "error"],
    env,
  );
  const socket = String(first.socket);
  return {
    root,
    host,
    socket,
    pid: child.pid as number,
    client: () => createClient({ target: { socketPath: socket }, client: "bench" }),
    stop: () =>
      new Promise((resolve) => {
        child.once("exit", () => resolve());
        child.kill("SIGTERM");
      }),
  };
}
