import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import type { Readable } from "node:stream";
import {
  type DaemonOptions,
  ensurePrivateDirectory,
  type HostPaths,
  type NotReadyLine,
  processStart,
  type ReadyLine,
  readMetadata,
} from "../../paths/index.ts";
import { programFile } from "./entry.ts";
import { EngineError, type JsonObject, NotSentError, StartError } from "./errors.ts";
import type { SessionOptions } from "./flags.ts";

/** Milliseconds a started daemon may take until it serves: recovery runs before it listens. */
const START_BOUND_MS = 30_000;

/** Milliseconds that running requests get when a newer client asks an older daemon to leave. */
const DRAIN_MS = 20_000;

/** Milliseconds a starting daemon waits for one that is just leaving. */
const LEAVE_MS = 10_000;

/** Lines of the log that an error carries. */
const TAIL_LINES = 5;

/** Variables a daemon started on demand is given: never the whole environment of whoever happened to start it. */
const KEPT_VARIABLES = /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LC_.*|TZ|TMPDIR|XDG_.*|GIN_.*|SYSTEMROOT|TEMP|TMP)$/;

/** Variables that speak of one client, not of the daemon. */
const SESSION_VARIABLES = new Set(
  [
    "ENDPOINT",
    "TOKEN_FILE",
    "REPOSITORY",
    "WORKSPACE",
    "ROOT",
    "PRINCIPAL",
    "CA_FILE",
    "TIMEOUT",
    "NO_SPAWN",
    "DAEMON_OPTIONS",
  ].map((name) => `GIN_${name}`),
);

/** What starting needs to know beside the host's places. */
type StartOptions = Pick<SessionOptions, "host" | "data" | "daemon">;

/**
 * Starts a daemon on demand, detached and with closed standard streams, and waits until it serves. When another one has the host, or wins the
 * race for it, that one's socket counts as well. Throws StartError with the end of the log.
 */
export async function startDaemon(paths: HostPaths, options: StartOptions): Promise<void> {
  const abort = new AbortController();
  const launched = launch(paths, options, LEAVE_MS, abort.signal);
  try {
    await Promise.race([launched, socketAnswers(paths, abort.signal)]);
  } finally {
    abort.abort();
  }
  // One that serves was found: what became of ours beside it is no answer to the caller.
  await launched.catch(() => {});
}

/**
 * Asks an older daemon to drain, waits until it let go of the host, and starts this version. False when there was none any more.
 * Requests that still run are finished by the old one.
 */
export async function replaceDaemon(
  paths: HostPaths,
  options: StartOptions,
  client: { admin(method: string, message: JsonObject): Promise<JsonObject> },
): Promise<boolean> {
  try {
    await client.admin("Shutdown", { drain_ms: String(DRAIN_MS) });
  } catch (thrown) {
    // Gone already, or just going: the lock decides below. Any other refusal is an answer, and the caller's to hear.
    if (thrown instanceof EngineError && thrown.detail.reason !== "BUSY") throw thrown;
    if (thrown instanceof NotSentError && !thrown.sent) return false;
  }
  const abort = new AbortController();
  try {
    // The old one's socket may answer while it drains: only the new one's own word counts.
    await launch(paths, options, DRAIN_MS + LEAVE_MS, abort.signal);
  } finally {
    abort.abort();
  }
  return true;
}

async function launch(paths: HostPaths, options: StartOptions, lockWaitMs: number, signal: AbortSignal): Promise<void> {
  const entry = options.daemon ?? programFile("daemon.mjs");
  if (!existsSync(entry)) throw notStarted("the daemon program is missing", "run npm run build");
  ensurePrivateDirectory(paths.host);
  const daemon: DaemonOptions = {
    mode: "on_demand",
    roots: [],
    host: paths.host,
    ...(options.data !== undefined && { data: paths.data }),
    settings: {},
    ready_fd: 3,
    lock_wait_ms: lockWaitMs,
  };
  const child = spawn(process.execPath, [entry, JSON.stringify(daemon)], {
    detached: true,
    // Its working directory must not keep somebody's directory busy.
    cwd: paths.host,
    env: daemonEnvironment(process.env),
    stdio: ["ignore", "ignore", "ignore", "pipe"],
  });
  const pipe = child.stdio[3] as Readable;
  const failed = new Promise<never>((_, reject) => child.once("error", reject));
  try {
    const line = await Promise.race([firstLine(pipe), failed, delay(START_BOUND_MS + lockWaitMs, signal)]);
    if (signal.aborted) {
      // Another one serves: ours waits for the host, and must not take it over when that one is stopped soon.
      const serving = await servingPid(paths);
      if (serving !== undefined && serving !== child.pid) child.kill();
      return;
    }
    judge(line, paths);
  } catch (thrown) {
    if (thrown instanceof StartError) throw thrown;
    throw notStarted("the daemon program could not be run", "run gin doctor", undefined, thrown);
  } finally {
    pipe.destroy();
    child.unref();
  }
}

/** Environment of a daemon: an explicit list, without NODE_EXTRA_CA_CERTS, which makes each start of Node 20 three times slower. */
function daemonEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const entries = Object.entries(env).filter(([name]) => KEPT_VARIABLES.test(name) && !SESSION_VARIABLES.has(name));
  return Object.fromEntries(entries);
}

function judge(line: string | undefined, paths: HostPaths): void {
  if (line === undefined) throw notStarted("the daemon did not get ready in time", "run gin logs", logEnd(paths.log));
  if (line === "") throw notStarted("the daemon ended before it served", "run gin doctor", logEnd(paths.log));
  const said = JSON.parse(line) as ReadyLine | NotReadyLine;
  if (!said.ready) throw new StartError(said, said.reason === "BUSY" ? undefined : logEnd(paths.log));
}

/** Resolves once the host's socket takes a connection, or the signal is given. */
async function socketAnswers(paths: HostPaths, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && !(await connects(readMetadata(paths.metadata)?.socket ?? paths.socket))) await delay(25, signal);
}

/** Process of the daemon that serves, which says so right after it listens; undefined when none does within a second. */
async function servingPid(paths: HostPaths): Promise<number | undefined> {
  const { signal } = new AbortController();
  for (let look = 0; look < 40; look++) {
    const said = readMetadata(paths.metadata);
    // What a killed daemon left says nothing.
    if (said !== undefined && processStart(said.pid) === said.process_start) return said.pid;
    await delay(25, signal);
  }
  return undefined;
}

function connects(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(socketPath);
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}

/** Up to the first line end; "" when the stream ends before one. */
async function firstLine(stream: Readable): Promise<string> {
  let text = "";
  for await (const chunk of stream) {
    text += String(chunk);
    const end = text.indexOf("\n");
    if (end >= 0) return text.slice(0, end);
  }
  return "";
}

/** A failed start for which the daemon itself gave no reason. */
function notStarted(message: string, suggestion: string, log?: ReturnType<typeof logEnd>, cause?: unknown): StartError {
  return new StartError({ reason: "", message, suggestion }, log, cause);
}

function logEnd(file: string): { file: string; tail: string } | undefined {
  try {
    return { file, tail: readFileSync(file, "utf8").trimEnd().split("\n").slice(-TAIL_LINES).join("\n") };
  } catch {
    // It ended before it could open its log: the message alone must do.
    return undefined;
  }
}

function delay(ms: number, signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve(undefined);
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end, { once: true });
  });
}
