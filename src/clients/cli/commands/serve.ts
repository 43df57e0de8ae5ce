import { realpathSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import {
  type ConfigKey,
  type ConfigValue,
  type DaemonOptions,
  locateHost,
  parseSetting,
  readMetadata,
} from "../../../paths/index.ts";
import { programFile } from "../../sdk/index.ts";
import { quote } from "../again.ts";
import { type Command, type Context, flag, flags } from "../command.ts";
import { showLine } from "../terminal.ts";

/** Flags that stand for settings of the host, and those whose value is a file. */
const SETTING_FLAGS: { readonly [flag: string]: ConfigKey } = {
  listen: "listen",
  "tls-cert": "tls_cert",
  "tls-key": "tls_key",
  "client-ca": "client_ca",
  "allow-host": "allow_hosts",
  "allow-origin": "allow_origins",
  "require-lease": "require_lease",
  durability: "durability",
  watcher: "watcher",
  "log-level": "log_level",
};
const FILE_FLAGS = new Set(["tls-cert", "tls-key", "client-ca"]);

/**
 * Serves in the foreground: this very process becomes the daemon, so that whoever ends it ends the daemon and nothing is left behind.
 * The daemon prints its ready line; on a terminal a person is told what to do with it.
 */
export const command: Command = {
  usage: "serve [DIR]… [--listen ADDR:PORT] …",
  words: [0, Number.POSITIVE_INFINITY],
  bare: true,
  flags: {
    root: { type: "string", multiple: true },
    host: { type: "string" },
    data: { type: "string" },
    listen: { type: "string" },
    "tls-cert": { type: "string" },
    "tls-key": { type: "string" },
    "client-ca": { type: "string" },
    "allow-host": { type: "string", multiple: true },
    "allow-origin": { type: "string", multiple: true },
    "require-lease": { type: "string" },
    durability: { type: "string" },
    watcher: { type: "string" },
    "log-level": { type: "string" },
  },
  help: [
    ["DIR, --root DIR", "directory to serve; may be repeated; default GIN_ROOT, else the current directory"],
    ["--host DIR", "host directory (GIN_HOST); default ~/.local/state/gin"],
    ["--data DIR", "directory of the store (GIN_DATA); default HOST/data"],
    ["--listen ADDR:PORT", "default 127.0.0.1:7400, or another free port; :0 picks one; none is the socket alone"],
    ["--tls-cert, --tls-key FILE", "serve TLS; needed beyond loopback"],
    ["--client-ca FILE", "demand client certificates of this authority"],
    ["--allow-host, --allow-origin NAME", "accept this Host or Origin too; may be repeated"],
    ["--require-lease WHO", "auto (callers over TCP), always or never"],
    ["--durability KIND", "default, or strict: each file and directory synced too"],
    ["--watcher KIND", "how outside changes are noticed: auto, native, chokidar, polling or off"],
    ["--log-level LEVEL", "debug, info, warn or error"],
  ],
  async run(context) {
    const { host, data } = {
      host: flag(context, "host") ?? context.env.GIN_HOST,
      data: flag(context, "data") ?? context.env.GIN_DATA,
    };
    const options: DaemonOptions = {
      mode: "foreground",
      roots: rootsOf(context),
      ...(host !== undefined && host !== "" && { host: resolve(host) }),
      ...(data !== undefined && data !== "" && { data: resolve(data) }),
      settings: settings(context),
      lock_wait_ms: 0,
    };
    const program = programFile("daemon.mjs");
    const started = process.argv[1] ?? "gin";
    process.argv = [process.argv0, program, JSON.stringify(options)];
    await import(pathToFileURL(program).href);
    if (context.err.terminal) welcome(context, options, started);
  },
};

/** What is to be served, absolute: what was named, else GIN_ROOT, else the directory one stands in. */
function rootsOf(context: Context): string[] {
  const named = [...context.positionals, ...flags(context, "root")];
  const variable = context.env.GIN_ROOT ?? "";
  if (named.length > 0) return named.map((root) => resolve(root));
  return [resolve(variable === "" ? "." : variable)];
}

function settings(context: Context): DaemonOptions["settings"] {
  const values: { [key in ConfigKey]?: ConfigValue } = {};
  for (const [name, key] of Object.entries(SETTING_FLAGS)) {
    const given = flags(context, name);
    if (given.length === 0) continue;
    const text = FILE_FLAGS.has(name) ? resolve(given[0] ?? "") : given.join(",");
    values[key] = parseSetting(key, text);
  }
  // Each value came from parseSetting for its own key, which is the type Config gives it.
  return values as DaemonOptions["settings"];
}

/** What a person does next, once it serves. `started` is the script this process was started by. */
function welcome({ err, env }: Context, options: DaemonOptions, started: string): void {
  const paths = locateHost({
    ...(options.host !== undefined && { host: options.host }),
    ...(options.data !== undefined && { data: options.data }),
  });
  const endpoint = readMetadata(paths.metadata)?.endpoint ?? "";
  const [root] = options.roots;
  // An agent may start it with another PATH than this shell's: the snippet names both programs whole.
  const args = [started, "mcp", "--host", paths.host, ...(root === undefined ? [] : ["--root", root])];
  const gin = isOnPath(started, env.PATH) ? "gin" : showLine(quote(started));
  err.line();
  err.line(
    `${err.style("green", "gin serves")} ${root === undefined ? "this host" : err.style("bold", showLine(root))}; Ctrl-C drains and ends it`,
  );
  err.line(
    `  try:  ${gin}${options.host === undefined ? "" : ` --host ${quote(paths.host)}`} context${root === undefined ? "" : ` --root ${showLine(quote(root))}`}`,
  );
  if (endpoint !== "") err.line(`  TCP:  ${endpoint} with the token in ${paths.localToken}`);
  err.line("  MCP:  add this to your agent's configuration");
  const snippet = { mcpServers: { gin: { command: process.execPath, args } } };
  for (const line of JSON.stringify(snippet, null, 2).split("\n")) err.line(`    ${showLine(line)}`);
}

/** Whether a shell that is told "gin" starts this very script. */
function isOnPath(started: string, path = ""): boolean {
  for (const directory of path.split(delimiter)) {
    try {
      return realpathSync(join(directory, "gin")) === realpathSync(started);
    } catch {
      // Not in this directory; the next one may have it.
    }
  }
  return false;
}
