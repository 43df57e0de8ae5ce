import { PathsError } from "./error.ts";

/** How a restore is asked for: `restore` and one JSON object as the arguments of daemon.mjs. All paths are absolute. */
export interface RestoreOptions {
  /** Directory that gin backup made. */
  readonly backup: string;
  /** `--host`; default as locateHost. */
  readonly host?: string;
  /** `--data`; default as locateHost. */
  readonly data?: string;
  /** Whether a store with workspaces is moved aside; otherwise it is refused. */
  readonly replace: boolean;
}

/** A workspace as it is in the restored store. */
export interface RestoredWorkspace {
  readonly id: string;
  readonly name: string;
  readonly root: string;
  readonly generation: number;
}

/** The one line a restore prints when it is done. */
export interface RestoredLine {
  readonly restored: true;
  /** Data directory the store is in now. */
  readonly data: string;
  readonly bytes: number;
  /** Where the store that was there is now; "" when there was none. */
  readonly moved_aside: string;
  readonly workspaces: readonly RestoredWorkspace[];
}

/** What it prints instead when nothing was changed; it then exits with status 1. */
export interface NotRestoredLine {
  readonly restored: false;
  readonly reason: string;
  readonly message: string;
  readonly suggestion: string;
}

/** Reads the options from their JSON. Throws PathsError "config" naming what is wrong. */
export function parseRestoreOptions(text: string): RestoreOptions {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw wrong("the restore's options are not JSON");
  }
  if (typeof parsed !== "object" || parsed === null) throw wrong("the restore's options are not an object");
  const { backup, host, data, replace = false, ...rest } = parsed as Record<string, unknown>;
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) throw wrong(`unknown option "${unknown}"`);
  if (typeof backup !== "string" || !backup.startsWith("/")) throw wrong("backup must be an absolute path");
  if (host !== undefined && typeof host !== "string") throw wrong("host must be a text");
  if (data !== undefined && typeof data !== "string") throw wrong("data must be a text");
  if (typeof replace !== "boolean") throw wrong("replace must be true or false");
  return { backup, replace, ...(host === undefined ? {} : { host }), ...(data === undefined ? {} : { data }) };
}

function wrong(message: string): PathsError {
  return new PathsError("config", message, "use gin restore");
}
