import { type ConfigValue, isConfigKey, type PartialConfig, SETTINGS } from "./config.ts";
import { PathsError } from "./error.ts";

/**
 * How a daemon is started: one JSON object as the first argument of daemon.mjs, or in GIN_DAEMON_OPTIONS. Never holds a token.
 * All paths are absolute. Everything may be left out.
 */
export interface DaemonOptions {
  /** Default "foreground": logs to stderr, never idles out. "on_demand": no TCP, ends when unused. */
  readonly mode: "foreground" | "on_demand";
  /** Directories to serve, opened on start; those served before are opened anyhow. */
  readonly roots: readonly string[];
  /** `--host`; default as locateHost. */
  readonly host?: string;
  /** `--data`; default as locateHost. */
  readonly data?: string;
  /** Settings given as flags: they win over environment and file. */
  readonly settings: PartialConfig;
  /** Inherited descriptor that gets the ready line, then is closed. Left out: standard output. */
  readonly ready_fd?: number;
  /** Milliseconds to wait for a host that another daemon is just leaving; default 0. */
  readonly lock_wait_ms: number;
}

/** The one line a daemon prints when it serves. */
export interface ReadyLine {
  readonly ready: true;
  /** "" when no TCP port is open. */
  readonly endpoint: string;
  readonly socket: string;
  /** "" when no token was written (no TCP port, on demand). */
  readonly token_file: string;
  /** Id of the first root's repository; "" when nothing is served yet. */
  readonly repository: string;
  /** Id of the first root's workspace; "" when nothing is served yet. */
  readonly workspace: string;
  readonly version: string;
}

/** What a daemon writes to `ready_fd` instead when it cannot serve; it then exits with status 1. */
export interface NotReadyLine {
  readonly ready: false;
  /** BUSY when another daemon has the host: the caller should connect to that one. */
  readonly reason: string;
  readonly message: string;
  readonly suggestion: string;
}

/** Reads the options from their JSON. Throws PathsError "config" naming what is wrong; unknown keys are refused. */
export function parseDaemonOptions(text: string): DaemonOptions {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw wrong("the daemon's options are not JSON");
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed))
    throw wrong("the daemon's options are not an object");
  const given: Record<string, unknown> = { ...parsed };
  const { mode = "foreground", roots = [], settings = {}, lock_wait_ms = 0, host, data, ready_fd, ...rest } = given;
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) throw wrong(`unknown option "${unknown}"`);
  if (mode !== "foreground" && mode !== "on_demand") throw wrong("mode must be foreground or on_demand");
  if (!Array.isArray(roots) || !roots.every((root): root is string => typeof root === "string"))
    throw wrong("roots must be a list of texts");
  if (host !== undefined && typeof host !== "string") throw wrong("host must be a text");
  if (data !== undefined && typeof data !== "string") throw wrong("data must be a text");
  if (ready_fd !== undefined && !isCount(ready_fd)) throw wrong("ready_fd must be a descriptor's number");
  if (!isCount(lock_wait_ms)) throw wrong("lock_wait_ms must be milliseconds");
  if (typeof settings !== "object" || settings === null) throw wrong("settings must be an object");
  return {
    mode,
    roots,
    settings: settingsOf(settings),
    lock_wait_ms,
    ...(host === undefined ? {} : { host }),
    ...(data === undefined ? {} : { data }),
    ...(ready_fd === undefined ? {} : { ready_fd }),
  };
}

/** Only the keys are judged here; mergeConfig judges the values. */
function settingsOf(settings: object): PartialConfig {
  const values: Record<string, ConfigValue> = {};
  for (const [key, value] of Object.entries(settings)) {
    if (!isConfigKey(key))
      throw new PathsError("config", `unknown setting "${key}"`, `known: ${Object.keys(SETTINGS).join(", ")}`);
    values[key] = value;
  }
  return values;
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function wrong(message: string): PathsError {
  return new PathsError("config", message, "start the daemon with gin serve");
}
