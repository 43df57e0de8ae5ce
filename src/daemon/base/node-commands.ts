import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { constants } from "node:os";
import type { CommandResult, CommandSpec, Commands, OpenCommand } from "./commands.ts";
import { GinError } from "./error.ts";

const TIMEOUT_MS = 30_000;
const MAX_BYTES = 64 * 1024 * 1024;
const MAX_STDERR = 64 * 1024;
/** How long the pipes of a program that is gone may stay open. */
const LINGER_MS = 1_000;

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
      signalGroup(child, "SIGKILL");
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
  const child = start(command.endsWithUs === true ? boundToUs(command) : command);
  let reason = "";
  child.stdin?.on("error", () => {});
  child.stderr?.on("data", (bytes: Buffer) => {
    if (reason.length < MAX_STDERR) reason = (reason + bytes.toString("utf8")).slice(0, MAX_STDERR);
  });
  let gone = false;
  const ended = new Promise<{ status: number; reason: string }>((resolve) => {
    child.once("error", (error) => resolve({ status: 127, reason: error.message }));
    child.once("exit", () => {
      gone = true;
      // Right now, while its number cannot be another's: what it started and left behind must not live on.
      signalGroup(child, "SIGKILL");
      // What is paused never closes; nor does what a process outside of the group holds.
      child.stdout?.resume();
      setTimeout(() => {
        for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe?.destroy();
      }, LINGER_MS).unref();
    });
    child.once("close", (code, by) => {
      void groupGone(child.pid).then(() => resolve({ status: statusOf(code, by), reason }));
    });
  });
  // It is ours to end, and does not keep the daemon alive.
  child.unref();
  return {
    pid: child.pid,
    write: (bytes) => void child.stdin?.write(bytes),
    send: (bytes) =>
      new Promise((resolve) => {
        const { stdin } = child;
        if (stdin === null || !stdin.writable) resolve(false);
        else stdin.write(bytes, (error) => resolve(error === undefined || error === null));
      }),
    onOutput: (listener) => void child.stdout?.on("data", listener),
    onErrors: (listener) => void child.stderr?.on("data", listener),
    pause: () => void child.stdout?.pause(),
    resume: () => void child.stdout?.resume(),
    end: () => void child.stdin?.end(),
    terminate() {
      if (!gone) signalGroup(child, "SIGTERM");
    },
    ended,
    async close() {
      child.stdin?.end();
      if (!gone) signalGroup(child, "SIGKILL");
      await ended;
    },
  };
}

/** Only while the leader was not waited for, or just was: later its number may be another's. */
function signalGroup(child: ChildProcess, signal: "SIGTERM" | "SIGKILL"): void {
  if (child.pid === undefined) return;
  try {
    process.kill(process.platform === "win32" ? child.pid : -child.pid, signal);
  } catch (thrown) {
    // EPERM: what is left are others' zombies, or a number taken by somebody else.
    if (!["ESRCH", "EPERM"].includes((thrown as NodeJS.ErrnoException).code ?? "")) throw thrown;
  }
}

/** Resolves when nothing is left of a group that was killed, or after a second: an orphan's zombie may stay as long as its new parent likes. */
async function groupGone(pid: number | undefined): Promise<void> {
  if (pid === undefined || process.platform === "win32") return;
  for (let look = 0; look < 100; look += 1) {
    try {
      process.kill(-pid, 0);
    } catch {
      // No such group, or none of ours.
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const SETPRIV = "/usr/bin/setpriv";
let setprivDoes: boolean | undefined;

/** The command, run so that the kernel kills it when the thread that starts it ends; just as it is where that cannot be had. */
function boundToUs(command: CommandSpec): CommandSpec {
  const bound = ["--pdeathsig", "KILL", "--"];
  // Asked once, as others than util-linux' do not know the option; it costs two milliseconds.
  setprivDoes ??= process.platform === "linux" && spawnSync(SETPRIV, [...bound, SETPRIV, "--version"]).status === 0;
  return setprivDoes ? { ...command, file: SETPRIV, args: [...bound, command.file, ...command.args] } : command;
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
