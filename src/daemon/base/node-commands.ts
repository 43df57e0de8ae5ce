import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import type { CommandResult, CommandSpec, Commands, OpenCommand } from "./commands.ts";
import { GinError } from "./error.ts";

const TIMEOUT_MS = 30_000;
const MAX_BYTES = 64 * 1024 * 1024;
const MAX_STDERR = 64 * 1024;

/** The real thing, by child processes; each is the leader of a process group, which is ended as a whole. */
export const nodeCommands: Commands = { run, open };

function start(command: CommandSpec): ChildProcess {
  return spawn(command.file, command.args, {
    cwd: command.cwd,
    env: command.env,
    detached: true,
    stdio: ["pipe", "pipe", "pipe"],
    windowsHide: true,
  });
}

function run(command: CommandSpec): Promise<CommandResult> {
  const { file, timeoutMs = TIMEOUT_MS, maxBytes = MAX_BYTES, signal, input } = command;
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(cancelled());
    const child = start(command);
    const out: Buffer[] = [];
    let kept = 0;
    let stderr = "";
    let failure: GinError | undefined;
    const stop = (why: GinError): void => {
      failure ??= why;
      endGroup(child);
    };
    const timer = setTimeout(
      () => stop(new GinError("DEADLINE_EXCEEDED", `${file} took longer than ${timeoutMs} ms`)),
      timeoutMs,
    );
    const abort = (): void => stop(cancelled());
    signal?.addEventListener("abort", abort, { once: true });
    const over = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    };
    child.stdout?.on("data", (bytes: Buffer) => {
      kept += bytes.byteLength;
      if (kept <= maxBytes) out.push(bytes);
      else
        stop(
          new GinError("TOO_LARGE", `${file} says more than ${maxBytes} bytes`, undefined, {
            facts: { limit: maxBytes, unit: "bytes" },
          }),
        );
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      stderr = (stderr + text).slice(0, MAX_STDERR);
    });
    // A program that does not read its input is free to be gone before it was written; its status tells.
    child.stdin?.on("error", () => {});
    child.stdin?.end(input ?? "");
    child.once("error", (error) => {
      over();
      reject(failure ?? notStarted(file, error));
    });
    child.once("close", (code, by) => {
      over();
      if (failure !== undefined) reject(failure);
      else resolve({ status: statusOf(code, by), stdout: Buffer.concat(out), stderr });
    });
  });
}

function open(command: CommandSpec): OpenCommand {
  const child = start(command);
  let reason = "";
  child.stdin?.on("error", () => {});
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    reason = (reason + text).slice(0, MAX_STDERR);
  });
  const ended = new Promise<{ status: number; reason: string }>((resolve) => {
    child.once("error", (error) => resolve({ status: 127, reason: error.message }));
    child.once("close", (code, by) => resolve({ status: statusOf(code, by), reason }));
  });
  // It is ours to end, and does not keep the daemon alive.
  child.unref();
  return {
    write: (bytes) => void child.stdin?.write(bytes),
    onOutput: (listener) => void child.stdout?.on("data", listener),
    ended,
    async close() {
      child.stdin?.end();
      endGroup(child);
      await ended;
    },
  };
}

function endGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(process.platform === "win32" ? child.pid : -child.pid, "SIGKILL");
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== "ESRCH") throw thrown;
  }
}

function statusOf(code: number | null, by: NodeJS.Signals | null): number {
  return code ?? 128 + (by === null ? 0 : constants.signals[by]);
}

function notStarted(file: string, error: NodeJS.ErrnoException): GinError {
  if (error.code === "ENOENT")
    return new GinError("UNSUPPORTED", `${file} is not installed`, `install ${file}`, { cause: error });
  return new GinError("IO_FAILED", `${file} could not be started`, undefined, { cause: error });
}

const cancelled = (): GinError => new GinError("CANCELLED", "the caller gave up");
