import { errnoOf, GinError, type Json, toGinError } from "../../base/index.ts";
import type { FileStat } from "./types.ts";

/** Longest piece of a caller's path that an error repeats, in characters. */
const SHOWN = 200;

/** A path as facts may carry it: well-formed and short. */
function shown(path: string): string {
  return path.slice(0, SHOWN).replace(/\p{Surrogate}/gu, "\ufffd");
}

/** PATH_INVALID: `why` completes "the path …". `twin` is the entry it cannot be told apart from. */
export function invalid(path: string, why: string, twin?: string): GinError {
  const facts: Record<string, Json> = { path: shown(path) };
  if (twin !== undefined) facts.twin = twin;
  const suggestion = twin === undefined ? undefined : "use the spelling in facts.twin";
  return new GinError("PATH_INVALID", `the path ${why}`, suggestion, { facts });
}

/** PATH_OUTSIDE_WORKSPACE: `why` completes "path …". */
export function outside(path: string, why: string): GinError {
  return new GinError("PATH_OUTSIDE_WORKSPACE", `${shown(path)} ${why}`, undefined, { facts: { path: shown(path) } });
}

/** PATH_SENSITIVE for a protected name on the path. */
export function protectedName(path: string): GinError {
  return new GinError("PATH_SENSITIVE", `${shown(path)} is a protected name`, undefined, { facts: { path: shown(path) } });
}

/** PATH_NOT_FOUND. */
export function notFound(path: string): GinError {
  return new GinError("PATH_NOT_FOUND", `nothing is at ${path === "" ? "the root" : shown(path)}`, undefined, {
    facts: { path: shown(path) },
  });
}

/** NOT_A_FILE, saying what it is instead. */
export function notAFile(path: string, kind: FileStat["kind"]): GinError {
  return new GinError("NOT_A_FILE", `${path === "" ? "the root" : shown(path)} is ${named(kind)}`, undefined, {
    facts: { path: shown(path), kind },
  });
}

/** NOT_A_DIRECTORY, saying what it is instead. */
export function notADirectory(path: string, kind: FileStat["kind"]): GinError {
  return new GinError("NOT_A_DIRECTORY", `${shown(path)} is ${named(kind)}`, undefined, { facts: { path: shown(path), kind } });
}

/** WORKSPACE_MISSING_ROOT. */
export function missingRoot(why: string, cause?: unknown): GinError {
  return new GinError(
    "WORKSPACE_MISSING_ROOT",
    `the workspace's directory ${why}`,
    undefined,
    cause === undefined ? {} : { cause },
  );
}

function named(kind: FileStat["kind"]): string {
  return kind === "special" ? "a special file" : `a ${kind}`;
}

/**
 * Turns a system error of a call on a handle into a GinError at `path`; anything else is given back as it is. ENOENT means
 * that it vanished between two calls; what nobody can act upon stays IO_FAILED with the errno's name.
 */
export function ioError(thrown: unknown, path: string): unknown {
  const errno = errnoOf(thrown);
  switch (errno) {
    case undefined:
      return thrown;
    case "ENOENT":
      return notFound(path);
    case "ENOTDIR":
      return notADirectory(path, "file");
    case "EISDIR":
      return notAFile(path, "directory");
    case "ENXIO":
    case "ENODEV":
      return notAFile(path, "special");
    case "ENAMETOOLONG":
      return invalid(path, "has a name that is too long for this file system");
    case "EILSEQ":
      return invalid(path, "has a name that this file system cannot hold");
    default:
      return toGinError(thrown, path === "" ? undefined : path);
  }
}
