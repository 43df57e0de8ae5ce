import { createHash } from "node:crypto";
import { GinError, type Reason } from "../base/index.ts";
import type { PathState } from "../store/index.ts";
import { fileContent, linkContent, NEW_FILE_MODE } from "./content.ts";
import type { ConfinedRoot, FileStat, ReadFile } from "./files/index.ts";
import { WHOLE_READ_BYTES } from "./limits.ts";

/** What is on disk at a canonical path, read through one handle. */
export interface Observed {
  readonly path: string;
  readonly content: PathState;
  /** The bytes (or a symlink's target bytes); undefined when absent, or larger than the caller wanted to hold. */
  readonly bytes: Uint8Array | undefined;
  /** Permission bits; those of a new file when absent. */
  readonly mode: number;
  readonly stat: FileStat | undefined;
}

/** How often a file that changes under the reading is read again before the caller is told to come back. */
const ATTEMPTS = 8;

/**
 * Looks at a canonical path (a symlink there is meant itself) and hashes what it finds.
 * Contents larger than `holdBytes` are hashed in pieces and not held. Throws NOT_A_FILE for a directory or special file.
 */
export async function observe(root: ConfinedRoot, path: string, holdBytes: number): Promise<Observed> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const seen = observeOnce(root, path);
    if (seen !== undefined && !("large" in seen)) return seen;
    if (seen === undefined) continue;
    const large = await observeLarge(root, path, holdBytes);
    if (large !== undefined) return large;
  }
  throw new GinError("BUSY", `${path} is being written by somebody else all the time`, undefined, {
    retryAfterMs: 100,
    facts: { path },
  });
}

/** The same; undefined when something that is not a file stands there, or above it. */
export async function observeFile(root: ConfinedRoot, path: string, holdBytes: number): Promise<Observed | undefined> {
  try {
    return await observe(root, path, holdBytes);
  } catch (thrown) {
    if (thrown instanceof GinError && (thrown.reason === "NOT_A_FILE" || thrown.reason === "NOT_A_DIRECTORY")) return undefined;
    throw thrown;
  }
}

/** The same at once for whatever is small; undefined when it vanished or changed its kind between two looks. */
export function observeOnce(root: ConfinedRoot, path: string): Observed | { readonly large: true } | undefined {
  const file = readSmall(root, path);
  // A symlink at or above the path leads the reading elsewhere: the path itself is meant.
  if (file !== undefined && file.path === path) return observedFile(file);
  const { stat } = root.locate(path, false);
  if (stat === undefined) return { path, content: null, bytes: undefined, mode: NEW_FILE_MODE, stat };
  if (stat.kind === "symlink") {
    const link = root.readLink(path);
    const bytes = Buffer.from(link.target);
    return { path, content: linkContent(bytes), bytes, mode: 0o777, stat: link.stat };
  }
  if (stat.kind !== "file") {
    throw new GinError("NOT_A_FILE", `${path} is a ${stat.kind === "directory" ? "directory" : "special file"}`, undefined, {
      facts: { path, kind: stat.kind },
    });
  }
  return stat.size > WHOLE_READ_BYTES ? { large: true } : undefined;
}

/** Refusals after which a path is looked at more closely: something else than a small file is there, or nothing. */
const LOOK_CLOSER: ReadonlySet<Reason> = new Set([
  "TOO_LARGE",
  "PATH_NOT_FOUND",
  "NOT_A_FILE",
  "NOT_A_DIRECTORY",
  "PATH_OUTSIDE_WORKSPACE",
]);

/** One walk and one reading of a small regular file; undefined where it takes a closer look to say what is there. */
export function readSmall(root: ConfinedRoot, path: string, admit?: (canonical: string) => void): ReadFile | undefined {
  try {
    return root.readFile(path, WHOLE_READ_BYTES, admit);
  } catch (thrown) {
    if (thrown instanceof GinError && LOOK_CLOSER.has(thrown.reason)) return undefined;
    throw thrown;
  }
}

/** What a reading of a whole file says of its path. */
export function observedFile(file: ReadFile): Observed {
  const { path, bytes, stat } = file;
  return { path, content: fileContent(bytes, stat.executable), bytes, mode: stat.mode, stat };
}

async function observeLarge(root: ConfinedRoot, path: string, holdBytes: number): Promise<Observed | undefined> {
  const file = root.openFile(path);
  try {
    const size = file.stat.size;
    const digest = createHash("sha256");
    const held: Buffer[] = [];
    let offset = 0;
    for (;;) {
      const piece = await file.read(offset, WHOLE_READ_BYTES);
      if (piece.byteLength === 0) break;
      digest.update(piece);
      if (size <= holdBytes) held.push(piece);
      offset += piece.byteLength;
    }
    if (file.path !== path || offset !== size || !file.unchanged()) return undefined;
    const content: PathState = { kind: "file", sha256: digest.digest("hex"), size, executable: file.stat.executable };
    return { path, content, bytes: size <= holdBytes ? Buffer.concat(held) : undefined, mode: file.stat.mode, stat: file.stat };
  } finally {
    file.close();
  }
}
