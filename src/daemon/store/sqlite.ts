import { createRequire } from "node:module";
import type BetterSqlite3 from "better-sqlite3";
import { GinError } from "../base/index.ts";

/** An open connection. */
export type Database = BetterSqlite3.Database;
/** A prepared statement; parameters and rows are checked where they are used. */
export type Statement = BetterSqlite3.Statement<unknown[], unknown>;

/** The one copy of SQLite this process uses. */
export interface Sqlite {
  readonly open: (path: string, options?: BetterSqlite3.Options) => Database;
  /** Which of the two packages it came from. */
  readonly copy: SqliteCopy;
  /** SQLite's own version, "3.53.2". */
  readonly version: string;
}

/** Version 13 is prebuilt and kills a Node without Node-API 10; version 12 is compiled for one Node. */
export type SqliteCopy = "better-sqlite3" | "better-sqlite3-v12";

const MEND: Record<SqliteCopy, { readonly missing: string; readonly broken: string; readonly needs: string }> = {
  "better-sqlite3": {
    missing: "npm install --include=optional",
    broken: "npm install --force --include=optional better-sqlite3@13.2.0",
    needs: "",
  },
  "better-sqlite3-v12": {
    missing: "npm install --include=optional --foreground-scripts",
    broken: "npm rebuild better-sqlite3-v12 --foreground-scripts",
    needs: " (this Node compiles it: it needs python3, make, a C++ compiler and Node's headers)",
  },
};

let loaded: Sqlite | undefined;

/**
 * Loads SQLite, once a process; the choice is by Node-API version, not by Node's major (22.0 to 22.13 would crash too).
 * Both packages are optional, so a failed build is silent at install: the error says which one, what is wrong with it
 * and the one command that mends it. `load` and `napi` are for tests. Throws UNSUPPORTED.
 */
export function loadSqlite(load?: (name: string) => unknown, napi = Number(process.versions.napi)): Sqlite {
  if (load === undefined && loaded !== undefined) return loaded;
  const copy: SqliteCopy = napi >= 10 ? "better-sqlite3" : "better-sqlite3-v12";
  try {
    const Connection = (load ?? createRequire(import.meta.url))(copy) as typeof BetterSqlite3;
    // The binary is only looked for at the first open.
    const probe = new Connection(":memory:");
    const version = String(probe.prepare("SELECT sqlite_version()").pluck().get());
    probe.close();
    const sqlite = { open: (path: string, options?: BetterSqlite3.Options) => new Connection(path, options), copy, version };
    if (load === undefined) loaded = sqlite;
    return sqlite;
  } catch (thrown) {
    throw missing(copy, thrown);
  }
}

/** SQLite's own version, for Capabilities and doctor. Throws as loadSqlite. */
export function sqliteVersion(): string {
  return loadSqlite().version;
}

function missing(copy: SqliteCopy, thrown: unknown): GinError {
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  const code = thrown instanceof Error && "code" in thrown ? String(thrown.code) : "";
  const absent = code === "MODULE_NOT_FOUND" && text.includes(`'${copy}'`);
  const what = absent
    ? "is not installed"
    : /Could not locate the bindings file/.test(text)
      ? "is installed but its binary was never built"
      : /NODE_MODULE_VERSION|ERR_DLOPEN_FAILED/.test(text + code)
        ? "was built for another Node or machine"
        : "does not load";
  const mend = MEND[copy];
  return new GinError(
    "UNSUPPORTED",
    `SQLite is missing: the package ${copy}, which Node ${process.versions.node} needs, ${what}`,
    `run in gin's folder: ${absent ? mend.missing : mend.broken}${mend.needs}`,
    { cause: thrown, facts: { requested: copy, supported: [] } },
  );
}
