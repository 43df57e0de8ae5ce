import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { PathsError } from "./error.ts";
import { realPathOf } from "./private.ts";

/** Variables of a process, as `process.env` has them. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Everything of one host that has a place. All absolute. */
export interface HostPaths {
  /** The host directory, its links resolved. */
  readonly host: string;
  /** Directory of the store: HOST/data unless `--data`. */
  readonly data: string;
  /** Lock held for the daemon's life; nothing but SQLite may open it. */
  readonly lock: string;
  /** Lock of the data directory, for a store that two hosts were pointed at. */
  readonly dataLock: string;
  readonly config: string;
  /** What the daemon publishes of itself; see `readMetadata`. */
  readonly metadata: string;
  readonly log: string;
  readonly tokens: string;
  /** Token of the principal `local`, rewritten by each `gin serve`. */
  readonly localToken: string;
  /** Private directory of the socket. */
  readonly socketDirectory: string;
  /** Under 100 bytes. */
  readonly socket: string;
}

/** What the person chose; left out means environment, then default. */
export interface Located {
  /** `--host`. */
  readonly host?: string;
  /** `--data`. */
  readonly data?: string;
}

/** Longest socket path in bytes that every platform takes (104 on macOS, 108 on Linux, both with an end mark). */
export const SOCKET_PATH_MAX = 99;

/** `--host`, else GIN_HOST, else $XDG_STATE_HOME/gin, else ~/.local/state/gin; links resolved as far as it exists. */
export function hostDirectory(chosen: string | undefined, env: Environment = process.env): string {
  const named = chosen ?? given(env.GIN_HOST);
  if (named !== undefined) return realPathOf(named);
  // The XDG rules say that a relative value is to be ignored.
  const state = given(env.XDG_STATE_HOME);
  if (state !== undefined && path.isAbsolute(state)) return realPathOf(path.join(state, "gin"));
  return realPathOf(path.join(given(env.HOME) ?? os.homedir(), ".local", "state", "gin"));
}

/**
 * Names every place of a host. Creates nothing and verifies nothing. `socket` and `socketDirectory` are worked out when they are first
 * asked for, because their hash loads node:crypto, which a client that knows the socket from the daemon's metadata would pay for in vain:
 * reading them throws PathsError "too_long" where no directory is short enough.
 */
export function locateHost(chosen: Located = {}, env: Environment = process.env): HostPaths {
  const host = hostDirectory(chosen.host, env);
  const named = chosen.data ?? given(env.GIN_DATA);
  const data = named === undefined ? path.join(host, "data") : realPathOf(named);
  let known: string | undefined;
  const socket = (): string => (known ??= socketPath(host, env));
  return {
    host,
    data,
    lock: path.join(host, "lock.db"),
    dataLock: path.join(data, "lock.db"),
    config: path.join(host, "config.json"),
    metadata: path.join(host, "daemon.json"),
    log: path.join(host, "logs", "daemon.log"),
    tokens: path.join(host, "tokens"),
    localToken: path.join(host, "tokens", "local.token"),
    get socketDirectory() {
      return path.dirname(socket());
    },
    get socket() {
      return socket();
    },
  };
}

/**
 * Where a host's socket is: $XDG_RUNTIME_DIR/gin, else a per-user directory under the temp folder, the first that is
 * short enough. The name is a hash so that a long home does not make it longer.
 */
function socketPath(host: string, env: Environment): string {
  const { createHash } = process.getBuiltinModule("node:crypto");
  const name = `${createHash("sha256").update(host).digest("hex").slice(0, 16)}.sock`;
  const runtime = given(env.XDG_RUNTIME_DIR);
  const own = `gin-${process.getuid?.() ?? "user"}`;
  const candidates = [path.join(os.tmpdir(), own), path.join(SYSTEM_TEMP, own)];
  if (runtime !== undefined && isOurDirectory(runtime)) candidates.unshift(path.join(runtime, "gin"));
  for (const directory of candidates) {
    const socket = path.join(directory, name);
    if (Buffer.byteLength(socket) <= SOCKET_PATH_MAX) return socket;
  }
  throw new PathsError(
    "too_long",
    "no directory for the socket has a short enough name",
    "set XDG_RUNTIME_DIR to a short directory of your own (mode 700)",
  );
}

/** Not os.tmpdir(): what two daemons must agree on may not depend on a variable. */
const SYSTEM_TEMP = process.platform === "win32" ? os.tmpdir() : "/tmp";

/**
 * Where the locks of owned roots are. The same for every process of this user whatever its variables say, or two hosts
 * started from a login shell and from cron would not see each other.
 */
export function rootLockDirectory(): string {
  return path.join(SYSTEM_TEMP, `gin-${process.getuid?.() ?? "user"}`, "roots");
}

/** An absolute directory of this user: a stale or foreign XDG_RUNTIME_DIR (after sudo) is not used. */
function isOurDirectory(directory: string): boolean {
  if (!path.isAbsolute(directory)) return false;
  const stat = fs.statSync(directory, { throwIfNoEntry: false });
  return stat?.isDirectory() === true && stat.uid === (process.getuid?.() ?? stat.uid);
}

/** An empty variable counts as unset. */
function given(value: string | undefined): string | undefined {
  return value === undefined || value === "" ? undefined : value;
}
