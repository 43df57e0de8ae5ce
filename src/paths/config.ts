import * as fs from "node:fs";
import { dirname } from "node:path";
import { PathsError } from "./error.ts";
import type { Environment } from "./locate.ts";
import { faultOfLspServers, type LspServerSettings } from "./lsp-servers.ts";
import { ensurePrivateDirectory, writePrivateFile } from "./private.ts";

/** A value as the file holds it. */
export type ConfigValue = string | number | readonly string[] | LspServerSettings;

type Setting =
  | { readonly kind: "text"; readonly default: string; readonly about: string }
  | { readonly kind: "choice"; readonly of: readonly string[]; readonly default: string; readonly about: string }
  | { readonly kind: "count"; readonly min: number; readonly max: number; readonly default: number; readonly about: string }
  | { readonly kind: "list"; readonly default: readonly string[]; readonly about: string }
  /** An object of JSON, written as such in a variable or flag. `fault` says what is wrong with a value, "" when nothing is. */
  | {
      readonly kind: "json";
      readonly default: LspServerSettings;
      readonly fault: (value: unknown) => string;
      readonly about: string;
    };

/** The closed set of keys of HOST/config.json. Each has a variable: GIN_ and its upper-case name; a list is comma-separated there. */
export const SETTINGS = {
  listen: {
    kind: "text",
    default: "",
    about:
      "ADDRESS:PORT of the TCP listener, :0 for any free port, none for the socket alone; empty is 127.0.0.1:7400, or another free port",
  },
  tls_cert: { kind: "text", default: "", about: "PEM file of the certificate; with tls_key" },
  tls_key: { kind: "text", default: "", about: "PEM file of the private key" },
  client_ca: { kind: "text", default: "", about: "PEM file of the authority that client certificates must come from" },
  allow_hosts: { kind: "list", default: [], about: "further names accepted in the Host header" },
  allow_origins: { kind: "list", default: [], about: "origins of web pages that may call" },
  require_lease: {
    kind: "choice",
    of: ["auto", "always", "never"],
    default: "auto",
    about: "who must hold a lease to write; auto: callers over TCP",
  },
  durability: {
    kind: "choice",
    of: ["default", "strict"],
    default: "default",
    about: "strict syncs every file and directory before the answer",
  },
  watcher: {
    kind: "choice",
    of: ["auto", "native", "chokidar", "polling", "off"],
    default: "auto",
    about: "how outside changes are noticed; auto: native on Linux, chokidar elsewhere",
  },
  sensitive: { kind: "list", default: [], about: "further protected names or globs; the built-in ones stay" },
  log_level: {
    kind: "choice",
    of: ["debug", "info", "warn", "error"],
    default: "info",
    about: "least severe line that is logged",
  },
  log_bytes: {
    kind: "count",
    min: 65_536,
    max: 1_073_741_824,
    default: 8_388_608,
    about: "bytes after which the log file is rotated; four files are kept",
  },
  idle_ms: {
    kind: "count",
    min: 1_000,
    max: 604_800_000,
    default: 1_800_000,
    about: "milliseconds without use after which a daemon started on demand ends",
  },
  quota_bytes: {
    kind: "count",
    min: 1_048_576,
    max: 999_999_999_999_999,
    default: 2_147_483_648,
    about: "bytes of history the host keeps; beyond it the oldest contents go",
  },
  checkpoint_days: {
    kind: "count",
    min: 1,
    max: 36_500,
    default: 90,
    about: "days after which a checkpoint leaves the log",
  },
  checkpoint_count: {
    kind: "count",
    min: 100,
    max: 1_000_000,
    default: 100_000,
    about: "checkpoints of a workspace that stay in the log",
  },
  lsp_servers: {
    kind: "json",
    default: {},
    fault: faultOfLspServers,
    about: "language servers by id: command (absolute), args, env, settings, initialization_options, disabled; docs/lsp.md",
  },
  lsp_memory_bytes: {
    kind: "count",
    min: 0,
    max: 999_999_999_999_999,
    default: 0,
    about: "resident bytes all language servers together may take; 0 is a quarter of the machine's memory",
  },
  lsp_idle_ms: {
    kind: "count",
    min: 1_000,
    max: 604_800_000,
    default: 600_000,
    about: "milliseconds without a question after which a language server is ended",
  },
} as const satisfies Record<string, Setting>;

/** Name of a setting. */
export type ConfigKey = keyof typeof SETTINGS;

/** Every setting with its value in force. */
export interface Config {
  readonly listen: string;
  readonly tls_cert: string;
  readonly tls_key: string;
  readonly client_ca: string;
  readonly allow_hosts: readonly string[];
  readonly allow_origins: readonly string[];
  readonly require_lease: "auto" | "always" | "never";
  readonly durability: "default" | "strict";
  readonly watcher: "auto" | "native" | "chokidar" | "polling" | "off";
  readonly sensitive: readonly string[];
  readonly log_level: "debug" | "info" | "warn" | "error";
  readonly log_bytes: number;
  readonly idle_ms: number;
  readonly quota_bytes: number;
  readonly checkpoint_days: number;
  readonly checkpoint_count: number;
  readonly lsp_servers: LspServerSettings;
  readonly lsp_memory_bytes: number;
  readonly lsp_idle_ms: number;
}

/** What a file or a command line sets: any part. */
export type PartialConfig = { readonly [K in ConfigKey]?: Config[K] };

/** Where a value in force came from. */
export type ConfigSource = "flag" | "environment" | "file" | "default";

/** True for a key of the closed set. */
export function isConfigKey(key: string): key is ConfigKey {
  return Object.hasOwn(SETTINGS, key);
}

/** Reads HOST/config.json. An absent file is empty; an unknown key, a wrong type or a file others can write is PathsError "config". */
export function readConfig(file: string): PartialConfig {
  const stat = fs.lstatSync(file, { throwIfNoEntry: false });
  if (stat === undefined) return {};
  if (!stat.isFile()) throw fault("config.json is not a regular file", "replace it by a file");
  const uid = process.getuid?.();
  if (uid !== undefined && (stat.uid !== uid || (stat.mode & 0o077) !== 0)) {
    throw fault(
      `config.json must be yours alone (mode 600, found ${(stat.mode & 0o777).toString(8)})`,
      `run: chmod 600 '${file}'`,
    );
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(fs.readFileSync(file, "utf8"));
  } catch (thrown) {
    throw fault(`config.json cannot be read: ${thrown instanceof Error ? thrown.message : String(thrown)}`, "mend or remove it");
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed))
    throw fault("config.json is not a JSON object", 'write {"key": value}');
  const values: Record<string, ConfigValue> = {};
  for (const [key, value] of Object.entries(parsed)) values[known(key)] = checked(known(key), value);
  return values;
}

/** Sets one key in HOST/config.json from its text form, or takes it out (undefined); the daemon reads it at its next start. */
export function writeConfig(file: string, key: string, text: string | undefined): PartialConfig {
  const name = known(key);
  const values: Record<string, ConfigValue> = { ...readConfig(file) };
  if (text === undefined) delete values[name];
  else values[name] = parseSetting(name, text);
  ensurePrivateDirectory(dirname(file));
  writePrivateFile(file, `${JSON.stringify(values, null, 2)}\n`);
  return values;
}

/** A value from a flag, variable or `gin config set`. Throws PathsError "config" naming the key. */
export function parseSetting(key: ConfigKey, text: string): ConfigValue {
  const setting: Setting = SETTINGS[key];
  if (setting.kind === "count") return checked(key, /^\d{1,15}$/.test(text) ? Number(text) : text);
  if (setting.kind === "list")
    return text
      .split(",")
      .map((item) => item.trim())
      .filter((item) => item !== "");
  if (setting.kind === "json") return checked(key, jsonOf(text));
  return checked(key, text);
}

/** Every setting: flag over environment over file over default, and where each came from. */
export function mergeConfig(
  flags: PartialConfig,
  env: Environment,
  file: PartialConfig,
): { readonly config: Config; readonly sources: Readonly<Record<ConfigKey, ConfigSource>> } {
  const values: Record<string, ConfigValue> = {};
  const sources: Record<string, ConfigSource> = {};
  for (const key of Object.keys(SETTINGS).filter(isConfigKey)) {
    const variable = env[`GIN_${key.toUpperCase()}`];
    const flag = flags[key];
    if (flag !== undefined) [values[key], sources[key]] = [checked(key, flag), "flag"];
    else if (variable !== undefined && variable !== "")
      [values[key], sources[key]] = [parseSetting(key, variable), "environment"];
    else if (file[key] !== undefined) [values[key], sources[key]] = [file[key], "file"];
    else [values[key], sources[key]] = [SETTINGS[key].default, "default"];
  }
  // Every key was just set, each to a value checked against its row of the table that Config mirrors.
  return { config: values as unknown as Config, sources: sources as Record<ConfigKey, ConfigSource> };
}

/** The value a text of JSON stands for; the text itself when it is none, which no check lets through. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function known(key: string): ConfigKey {
  if (isConfigKey(key)) return key;
  throw fault(`unknown configuration key "${key}"`, `known keys: ${Object.keys(SETTINGS).join(", ")}`);
}

function checked(key: ConfigKey, value: unknown): ConfigValue {
  const setting: Setting = SETTINGS[key];
  switch (setting.kind) {
    case "text":
      if (typeof value === "string" && !value.includes("\0")) return value;
      throw fault(`${key} must be a text`, setting.about);
    case "choice":
      if (typeof value === "string" && setting.of.includes(value)) return value;
      throw fault(`${key} must be one of ${setting.of.join(", ")}`, setting.about);
    case "count":
      if (typeof value === "number" && Number.isSafeInteger(value) && value >= setting.min && value <= setting.max) return value;
      throw fault(`${key} must be a whole number from ${setting.min} to ${setting.max}`, setting.about);
    case "list":
      if (Array.isArray(value) && value.every((item): item is string => typeof item === "string" && item !== "")) return value;
      throw fault(`${key} must be a list of texts`, setting.about);
    case "json": {
      const wrong = setting.fault(value);
      if (wrong === "") return value as LspServerSettings;
      throw fault(`${key} ${wrong}`, setting.about);
    }
  }
}

function fault(message: string, suggestion: string): PathsError {
  return new PathsError("config", message, suggestion);
}
