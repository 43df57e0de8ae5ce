import { createHash } from "node:crypto";
import { GinError } from "../base/index.ts";
import type { PathState } from "../store/index.ts";
import { fileContent, linkContent, NEW_FILE_MODE } from "./content.ts";
import type { ConfinedRoot, FileStat } from "./files/index.ts";
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

/** The same at once for whatever is small; undefined when it vanished between two looks. */
export function observeOnce(root: ConfinedRoot, path: string): Observed | { readonly large: true } | undefined {
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
  if (stat.size > WHOLE_READ_BYTES) return { large: true };
  try {
    const file = root.readFile(path, WHOLE_READ_BYTES);
    // A symlink came onto the way since the walk that was authorised: what was read is another path's.
    if (file.path !== path) return undefined;
    return {
      path,
      content: fileContent(file.bytes, file.stat.executable),
      bytes: file.bytes,
      mode: file.stat.mode,
      stat: file.stat,
    };
  } catch (thrown) {
    // It grew, vanished or became something else since the look: look again.
    if (thrown instanceof GinError && (thrown.reason === "TOO_LARGE" || thrown.reason === "PATH_NOT_FOUND")) return undefined;
    throw thrown;
  }
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
