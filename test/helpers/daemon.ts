import { createInterface } from "node:readline";
import { ginBin } from "./gin.ts";
import { ended, type Owned, spawnOwned } from "./process.ts";

/** The line `gin serve` prints when it listens. */
export interface ReadyLine {
  readonly ready: true;
  /** Empty when it has no TCP listener. */
  readonly endpoint: string;
  readonly socket: string;
  readonly token_file: string;
  readonly repository: string;
  readonly workspace: string;
  readonly version: string;
}

/** A daemon of a test. */
export interface TestDaemon {
  readonly child: Owned;
  readonly ready: ReadyLine;
  /** What it logged so far (pino JSON lines). */
  log(): string;
  /** SIGTERM, then waits for its end. */
  stop(): Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  /** SIGKILL to its group, then waits for its end. */
  kill(): Promise<void>;
}

/** How to start one. `args` follow `gin serve --host HOST`; `--listen :0` is added unless one is given. */
export interface DaemonOptions {
  readonly host: string;
  readonly root?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Another installation's `bin/gin`, and the Node that runs it. */
  readonly bin?: string;
  readonly node?: string;
  /** Working directory; the host directory by default. */
  readonly cwd?: string;
}

/** Starts `gin serve` and waits for its ready line; rejects with its log when it ends first. */
export async function startDaemon(options: DaemonOptions): Promise<TestDaemon> {
  const given = options.args ?? [];
  const args = [
    ...["serve", "--host", options.host],
    ...(options.root === undefined ? [] : ["--root", options.root]),
    ...(given.includes("--listen") ? [] : ["--listen", "127.0.0.1:0"]),
    ...given,
  ];
  const child = spawnOwned(options.node ?? process.execPath, [options.bin ?? ginBin, ...args], {
    cwd: options.cwd ?? options.host,
    env: options.env ?? {},
  });
  child.stdin.end();
  let log = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    log += text;
  });
  const ready = await new Promise<ReadyLine>((done, fail) => {
    child.once("error", fail);
    createInterface({ input: child.stdout }).once("line", (line) => done(JSON.parse(line) as ReadyLine));
    child.once("close", (code, signal) => fail(new Error(`gin serve ended (${signal ?? code}) before it was ready:\n${log}`)));
  });
  return {
    child,
    ready,
    log: () => log,
    stop: () => {
      child.kill("SIGTERM");
      return ended(child);
    },
    kill: async () => {
      child.kill("SIGKILL");
      await ended(child);
    },
  };
}
