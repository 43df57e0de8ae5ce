import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { ended, type Owned, runCommand, spawnOwned } from "../../helpers/process.ts";
import { tempDir } from "../../helpers/temp.ts";

const STRACE = "/usr/bin/strace";

/** Calls that make bytes durable; io_uring too, as a sync through it would not be seen otherwise. */
const SYNCS = ["fsync", "fdatasync", "sync_file_range", "syncfs", "sync", "msync", "io_uring_enter"];

/** A system call, in the order it was begun. */
export interface SystemCall {
  readonly name: string;
  /** The whole line, cut at strace's own bound. */
  readonly text: string;
}

/** Why calls cannot be traced here; undefined when they can. */
export async function whyNoStrace(): Promise<string | undefined> {
  if (!existsSync(STRACE)) return "no strace here: syncs cannot be counted";
  const tried = await runCommand(STRACE, ["-o", "/dev/null", "-e", "trace=fsync", "true"]);
  return tried.code === 0 ? undefined : `strace may not trace here: ${tried.stderr.trim()}`;
}

/** A trace of a running process and all its threads. */
export class Trace {
  readonly #strace: Owned;
  readonly #file: string;

  private constructor(strace: Owned, file: string) {
    this.#strace = strace;
    this.#file = file;
  }

  /** Resolves once the process is being traced. */
  static async attach(pid: number): Promise<Trace> {
    const file = join(tempDir("strace"), "log");
    const trace = `trace=read,write,writev,openat,${SYNCS.join(",")}`;
    const strace = spawnOwned(
      STRACE,
      ["-f", "-q", "-s", "300", "-e", trace, "-e", "signal=none", "-o", file, "-p", String(pid)],
      {},
    );
    strace.stdin.end();
    strace.stdout.resume();
    let said = "";
    strace.stderr.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
    // It says nothing when it is quiet, but the kernel tells who traces whom.
    await expect.poll(() => tracer(pid) === strace.pid || strace.exitCode !== null, { timeout: 30_000, interval: 5 }).toBe(true);
    if (strace.exitCode !== null) throw new Error(`strace ended: ${said}`);
    return new Trace(strace, file);
  }

  /** Every whole line so far. A call that another thread interrupted stands where it was begun. */
  calls(): SystemCall[] {
    const lines = existsSync(this.#file) ? readFileSync(this.#file, "latin1").split("\n").slice(0, -1) : [];
    return lines.flatMap((line) => {
      const found = /^\d+ +([a-z_0-9]+)\((.*)$/.exec(line);
      return found === null ? [] : [{ name: found[1] ?? "", text: found[2] ?? "" }];
    });
  }

  /** Lets go of the process and waits until strace has written everything. */
  async detach(): Promise<void> {
    this.#strace.kill("SIGINT");
    await ended(this.#strace);
  }
}

/** Whether the call makes bytes durable. */
export const isSync = ({ name }: SystemCall): boolean => SYNCS.includes(name);

function tracer(pid: number): number {
  return Number(/^TracerPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1] ?? 0);
}
