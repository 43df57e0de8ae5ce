import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { atTeardown } from "./teardown.ts";

/** A child with three pipes, leader of its own process group. */
export type Owned = ChildProcessByStdio<Writable, Readable, Readable>;

/** What a finished child left. */
export interface Finished {
  /** Exit status, or null when a signal ended it. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Options of a child: working directory, environment on top of this process's (undefined removes), standard input. */
export interface SpawnOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Written and closed at once; nothing by default. */
  readonly input?: string | Uint8Array;
}

/** Ends a child's whole process group; a group that is gone is fine. */
export function killGroup(pid: number | undefined, signal: NodeJS.Signals = "SIGKILL"): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Starts a child in a process group of its own, which is killed at teardown. */
export function spawnOwned(command: string, args: readonly string[], options: SpawnOptions = {}): Owned {
  const child = spawn(command, args, {
    cwd: options.cwd,
    detached: true,
    stdio: ["pipe", "pipe", "pipe"],
    env: { ...process.env, ...options.env },
  });
  atTeardown(() => killGroup(child.pid));
  return child;
}

/** Resolves with the child's end. */
export function ended(child: Owned): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
  return new Promise((done, fail) => {
    if (child.exitCode !== null || child.signalCode !== null) done({ code: child.exitCode, signal: child.signalCode });
    child.once("error", fail);
    child.once("exit", (code, signal) => done({ code, signal }));
  });
}

/** Runs a command to its end and gives all it wrote. Never rejects for an exit status. */
export async function runCommand(command: string, args: readonly string[], options: SpawnOptions = {}): Promise<Finished> {
  const child = spawnOwned(command, args, options);
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  // A command that does not read its input may be gone before we have written it.
  child.stdin.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
  child.stdin.end(options.input ?? "");
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((done, fail) => {
    child.once("error", fail);
    child.once("close", (status, by) => done([status, by]));
  });
  return { code, signal, stdout, stderr };
}
