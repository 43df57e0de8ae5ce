import { UsageError } from "./errors.ts";

/** How to find a daemon and speak to it. Every field may be left out. */
export interface SessionOptions {
  /** `http(s)://HOST:PORT` or `unix:/path/of.sock`; left out means the host's own socket. */
  readonly endpoint?: string | undefined;
  /** File that holds a bearer token: a token is never an argument. */
  readonly tokenFile?: string | undefined;
  readonly host?: string | undefined;
  readonly data?: string | undefined;
  readonly repository?: string | undefined;
  readonly workspace?: string | undefined;
  /** Directory whose workspace is meant; opened on first use. Not together with `workspace`. */
  readonly root?: string | undefined;
  readonly principal?: string | undefined;
  readonly caFile?: string | undefined;
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
  /** Milliseconds for each call; default 60,000; 0 is no bound. */
  readonly timeoutMs?: number | undefined;
  /** True: never start a daemon. */
  readonly noSpawn?: boolean | undefined;
  /** Name of the front-end for `gin-client`; default "gin-sdk". */
  readonly client?: string | undefined;
  /** True: each call on the Unix socket has a connection of its own, for a process that asks once and ends. Default: kept alive. */
  readonly oneShot?: boolean | undefined;
  /** Called with a sentence for the person (a newer or older daemon); default: nobody hears it. */
  readonly onNotice?: ((text: string) => void) | undefined;
  /**
   * Told while `Session.run` waits for a workspace's first look at its whole tree, with how far it is. Without it nothing waits: the
   * call is refused with NOT_READY.
   */
  readonly onImporting?: ((progress: { readonly files: string; readonly directoriesLeft: string }) => void) | undefined;
  /** Daemon program to start; default the one beside this bundle. */
  readonly daemon?: string | undefined;
}

/** Session flags as `util.parseArgs` takes them; every front-end has the same. */
export const SESSION_FLAGS = {
  endpoint: { type: "string" },
  "token-file": { type: "string" },
  host: { type: "string" },
  data: { type: "string" },
  repository: { type: "string" },
  workspace: { type: "string" },
  root: { type: "string" },
  principal: { type: "string" },
  "ca-file": { type: "string" },
  "cert-file": { type: "string" },
  "key-file": { type: "string" },
  timeout: { type: "string" },
  "no-spawn": { type: "boolean" },
} as const;

/** What each session flag means, for help: [flag with its value, variable, meaning]. */
export const SESSION_HELP: readonly (readonly [flag: string, variable: string, meaning: string])[] = [
  ["--endpoint URL", "GIN_ENDPOINT", "daemon to speak to: http(s)://HOST:PORT or unix:PATH; default the host's socket"],
  ["--token-file FILE", "GIN_TOKEN_FILE", "file with the bearer token, for TCP"],
  ["--host DIR", "GIN_HOST", "host directory; default ~/.local/state/gin"],
  ["--data DIR", "GIN_DATA", "directory of the store; default HOST/data"],
  ["--repository ID", "GIN_REPOSITORY", "repository, by id or name"],
  ["--workspace ID", "GIN_WORKSPACE", "workspace, by id or name"],
  ["--root DIR", "GIN_ROOT", "the workspace of this directory, opened on first use"],
  ["--principal NAME", "GIN_PRINCIPAL", "who calls: a whole name on the socket, /sub over TCP"],
  ["--ca-file FILE", "GIN_CA_FILE", "certificate authority to trust, PEM"],
  ["--cert-file FILE", "", "client certificate, PEM"],
  ["--key-file FILE", "", "key of the client certificate, PEM"],
  ["--timeout TIME", "GIN_TIMEOUT", "bound of each call: 500ms, 30s, 2m, or milliseconds; default 60s; 0 is none"],
  ["--no-spawn", "GIN_NO_SPAWN", "never start a daemon"],
];

/**
 * Session options from parsed flags and variables; a flag wins, an empty variable counts as unset.
 * Throws UsageError for a timeout that is none, or a workspace together with a root.
 */
export function sessionOptions(
  flags: { readonly [name: string]: unknown },
  env: { readonly [name: string]: string | undefined } = process.env,
): SessionOptions {
  const text = (flag: string, variable?: string): string | undefined => {
    const given = flags[flag];
    if (typeof given === "string") return given;
    const value = variable === undefined ? undefined : env[variable];
    return value === "" ? undefined : value;
  };
  const timeout = text("timeout", "GIN_TIMEOUT");
  const noSpawn = env.GIN_NO_SPAWN ?? "";
  const options: SessionOptions = {
    endpoint: text("endpoint", "GIN_ENDPOINT"),
    tokenFile: text("token-file", "GIN_TOKEN_FILE"),
    host: text("host", "GIN_HOST"),
    data: text("data", "GIN_DATA"),
    repository: text("repository", "GIN_REPOSITORY"),
    workspace: text("workspace", "GIN_WORKSPACE"),
    root: text("root", "GIN_ROOT"),
    principal: text("principal", "GIN_PRINCIPAL"),
    caFile: text("ca-file", "GIN_CA_FILE"),
    certFile: text("cert-file"),
    keyFile: text("key-file"),
    timeoutMs: timeout === undefined ? undefined : milliseconds(timeout, "--timeout"),
    noSpawn: flags["no-spawn"] === true || !["", "0", "false"].includes(noSpawn),
  };
  if (options.root === undefined || options.workspace === undefined) return options;
  // A flag for one beats a variable for the other; two of a kind cannot both be meant.
  if (typeof flags.root === "string" && typeof flags.workspace !== "string") return { ...options, workspace: undefined };
  if (typeof flags.workspace === "string" && typeof flags.root !== "string") return { ...options, root: undefined };
  throw new UsageError("--root and --workspace name one workspace twice: give one of them");
}

/** "500ms", "30s", "2m", "1h", "7d" or a plain number of milliseconds. Throws UsageError naming `flag`. */
export function milliseconds(text: string, flag: string): number {
  const match = /^(\d{1,12})(ms|s|m|h|d)?$/.exec(text);
  const units: { [unit: string]: number } = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
  if (match === null) throw new UsageError(`${flag} takes a time such as 500ms, 30s or 2m, not "${text}"`);
  return Number(match[1]) * (units[match[2] ?? "ms"] ?? 1);
}
