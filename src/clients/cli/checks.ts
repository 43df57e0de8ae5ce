import * as fs from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import {
  type HostPaths,
  PathsError,
  readConfig,
  readTokenFile,
  TokenFileError,
  VERSION,
  verifyPrivateDirectory,
} from "../../paths/index.ts";
import { programFile } from "../sdk/index.ts";
import { bytes } from "./output.ts";

/** What doctor looked at and found. */
export interface Check {
  readonly name: string;
  /** note: works, but the person should know; wrong: something does not work or is not safe. */
  readonly state: "ok" | "note" | "wrong";
  readonly text: string;
  /** The command that mends it; "" when there is nothing to mend. */
  readonly mend: string;
}

/** Descriptors a daemon should be able to open, and free bytes under which saves are near to failing. */
const DESCRIPTORS = 1024;
const FREE_BYTES = 256 * 1024 * 1024;

/** Newest version of the store that this build knows: the store room's own count, which a client may not import. A test holds them equal. */
export const STORE_VERSION = 3;

/** A check from its parts. */
export function check(name: string, state: Check["state"], text: string, mend = ""): Check {
  return { name, state, text, mend };
}

/** Node, the installation, SQLite and the limits of the machine. */
export function machineChecks(paths: HostPaths): Check[] {
  return [nodeCheck(), programCheck(), sqliteCheck(), descriptorCheck(), diskCheck(paths)];
}

/** The host directory, its configuration, tokens, log and store, as they lie on disk. */
export function hostChecks(paths: HostPaths): Check[] {
  if (!fs.existsSync(paths.host)) return [check("host", "ok", `${paths.host} is not there yet; the first start makes it`)];
  return [
    directoryCheck("host", paths.host),
    directoryCheck("data", paths.data),
    directoryCheck("tokens", paths.tokens),
    directoryCheck("socket directory", paths.socketDirectory),
    configCheck(paths),
    tokenCheck(paths),
    storeCheck(paths),
  ];
}

function nodeCheck(): Check {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const text = `node ${process.versions.node}, gin ${VERSION}`;
  if (major < 20 || (major === 20 && minor < 19))
    return check("versions", "wrong", `${text}: Node 20.19 or newer is needed`, "install Node 22 or newer");
  return major === 20
    ? check("versions", "note", `${text}: Node 20 gets no security fixes any more`)
    : check("versions", "ok", text);
}

function programCheck(): Check {
  const missing = (["daemon.mjs", "mcp.mjs"] as const).filter((name) => !fs.existsSync(programFile(name)));
  if (missing.length === 0) return check("programs", "ok", "daemon and MCP bridge are built");
  return check("programs", "wrong", `not built: ${missing.join(", ")}`, "npm run build");
}

/** A connection of better-sqlite3, as far as doctor uses it. */
interface Connection {
  pragma(source: string, options?: { simple: boolean }): unknown;
  prepare(sql: string): { pluck(): { get(): unknown } };
  close(): void;
}
type Connect = new (file: string, options?: { readonly: boolean; fileMustExist: boolean; timeout: number }) => Connection;

/** The package this Node needs; the same choice as the store's own loader, which a client may not import. */
function sqlitePackage(): string {
  return Number(process.versions.napi) >= 10 ? "better-sqlite3" : "better-sqlite3-v12";
}

function loadSqlite(): Connect {
  return createRequire(import.meta.filename)(sqlitePackage()) as Connect;
}

function sqliteCheck(): Check {
  const name = sqlitePackage();
  try {
    const Sqlite = loadSqlite();
    const probe = new Sqlite(":memory:");
    const version = String(probe.prepare("SELECT sqlite_version()").pluck().get());
    probe.close();
    return check("sqlite", "ok", `${name}, SQLite ${version}`);
  } catch (thrown) {
    const [first = ""] = (thrown instanceof Error ? thrown.message : String(thrown)).split("\n");
    const absent = first.startsWith("Cannot find");
    const mend = absent ? "npm install --include=optional --foreground-scripts" : `npm rebuild ${name} --foreground-scripts`;
    return check(
      "sqlite",
      "wrong",
      `${name} ${absent ? "is not installed" : `does not load: ${first}`}`,
      `in gin's folder: ${mend}`,
    );
  }
}

function descriptorCheck(): Check {
  let limit: number | undefined;
  try {
    const row = fs.readFileSync("/proc/self/limits", "utf8").match(/^Max open files\s+(\d+|unlimited)/m)?.[1];
    limit = row === undefined || row === "unlimited" ? undefined : Number(row);
  } catch {
    // No procfs: the platform does not tell.
    limit = undefined;
  }
  if (limit === undefined || limit >= DESCRIPTORS) return check("limits", "ok", `${limit ?? "any number of"} open files`);
  return check("limits", "note", `only ${limit} open files are allowed`, `ulimit -n ${DESCRIPTORS * 4}`);
}

function diskCheck(paths: HostPaths): Check {
  let at = paths.data;
  while (!fs.existsSync(at)) at = dirname(at);
  const { bavail, bsize } = fs.statfsSync(at);
  const free = bavail * bsize;
  const text = `${bytes(String(free))} free where the store is`;
  return free < FREE_BYTES ? check("disk", "wrong", text, "free some space there") : check("disk", "ok", text);
}

function directoryCheck(name: string, directory: string): Check {
  if (fs.lstatSync(directory, { throwIfNoEntry: false }) === undefined) return check(name, "ok", `${directory} is not there yet`);
  return guarded(name, () => {
    verifyPrivateDirectory(directory);
    return check(name, "ok", `${directory} is yours alone`);
  });
}

function configCheck(paths: HostPaths): Check {
  return guarded("config", () => {
    const count = Object.keys(readConfig(paths.config)).length;
    return check("config", "ok", count === 0 ? "all settings are defaults" : `${count} settings in config.json`);
  });
}

function tokenCheck(paths: HostPaths): Check {
  if (!fs.existsSync(paths.localToken)) return check("token file", "ok", "none yet; gin serve writes it");
  return guarded("token file", () => {
    readTokenFile(paths.localToken);
    return check("token file", "ok", `${paths.localToken} is yours alone`);
  });
}

/** The store's version and SQLite's own check of it, read only; works beside a running daemon. */
function storeCheck(paths: HostPaths): Check {
  const file = join(paths.data, "store.db");
  if (!fs.existsSync(file)) return check("store", "ok", "there is none yet");
  let connection: Connection | undefined;
  try {
    const Sqlite = loadSqlite();
    connection = new Sqlite(file, { readonly: true, fileMustExist: true, timeout: 5000 });
    const version = Number(connection.pragma("user_version", { simple: true }));
    if (version > STORE_VERSION) {
      const text = `STORE_TOO_NEW: the store has version ${version}; this gin knows versions up to ${STORE_VERSION}`;
      return check("store", "wrong", text, "use the gin that wrote it, or a newer one");
    }
    const found = String(connection.pragma("quick_check(1)", { simple: true }));
    if (found === "ok") return check("store", "ok", `sound (${bytes(String(fs.statSync(file).size))})`);
    return check("store", "wrong", `damaged: ${found}`, "gin stop, then gin restore BACKUP --replace");
  } catch (thrown) {
    const text = thrown instanceof Error ? thrown.message : String(thrown);
    return check(
      "store",
      "wrong",
      `cannot be checked: ${text.split("\n")[0] ?? ""}`,
      "mend sqlite first, then run gin doctor again",
    );
  } finally {
    connection?.close();
  }
}

function guarded(name: string, look: () => Check): Check {
  try {
    return look();
  } catch (thrown) {
    if (thrown instanceof PathsError || thrown instanceof TokenFileError)
      return check(name, "wrong", thrown.message, thrown.suggestion);
    throw thrown;
  }
}
