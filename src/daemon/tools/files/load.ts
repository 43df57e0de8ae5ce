import { GinError } from "../../base/index.ts";
import type { HeadRead } from "../../workspace/index.ts";
import type { ReadContext } from "../types.ts";
import { toolPath } from "./path.ts";

/** Largest file whose content a tool looks into. */
export const FILE_BYTES = 50 * 1024 * 1024;

/** Bytes read at once of a file that is too large to come in one piece. */
const PIECE_BYTES = 1024 * 1024;

/** A regular file with all its bytes. */
export interface LoadedFile {
  /** Canonical, relative to the workspace. */
  readonly path: string;
  readonly bytes: Buffer;
  readonly sha256: string;
}

/**
 * A file's bytes at head. Throws NOT_A_FILE for what is none, TOO_LARGE above `maxBytes` (seen before a byte is read), STALE_CONTENT for
 * one that changes under the reading, and what a read of the workspace throws.
 */
export async function loadFile(context: ReadContext, asked: string, maxBytes: number = FILE_BYTES): Promise<LoadedFile> {
  const path = toolPath(asked);
  const { authorise, signal, workspace } = context;
  await refuseLarge(context, path, maxBytes);
  const read = await workspace.readHead(path, { authorise, content: true, signal });
  if (read.kind === "directory" || read.kind === "symlink") throw noFile(read.path, read.kind);
  try {
    if (read.content.size > maxBytes) throw tooLarge(read.path, read.content.size, maxBytes);
    return { path: read.path, bytes: await bytesOf(context, read), sha256: read.content.sha256 };
  } finally {
    if (read.kind === "large") read.close();
  }
}

async function refuseLarge({ workspace, authorise }: ReadContext, path: string, maxBytes: number): Promise<void> {
  try {
    const { stat, path: canonical } = await workspace.facts(path, { authorise, sampleBytes: 0 });
    if (stat.kind !== "file") throw noFile(canonical, stat.kind);
    if (stat.size > maxBytes) throw tooLarge(canonical, stat.size, maxBytes);
  } catch (thrown) {
    // A save that is not on disk yet: the read knows of it.
    if (!(thrown instanceof GinError) || thrown.reason !== "PATH_NOT_FOUND") throw thrown;
  }
}

async function bytesOf({ store, signal }: ReadContext, read: HeadRead & { kind: "file" | "large" }): Promise<Buffer> {
  const { content, path } = read;
  if (read.kind === "file") {
    // Committed content that waits to be put on disk may come without its bytes: the store has them.
    const bytes = read.bytes.byteLength === content.size ? read.bytes : store.read.object(content.sha256);
    if (bytes === undefined) {
      throw new GinError("CONTENT_NOT_KEPT", `the bytes of ${path} are not in the store`, undefined, { facts: { path } });
    }
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }
  const whole = Buffer.allocUnsafe(content.size);
  for (let offset = 0; offset < content.size; ) {
    if (signal.aborted) throw new GinError("CANCELLED", "the read was cancelled");
    const piece = await read.read(offset, Math.min(PIECE_BYTES, content.size - offset));
    if (piece.byteLength === 0) throw stale(path);
    whole.set(piece, offset);
    offset += piece.byteLength;
  }
  return whole;
}

/** What stood at a path is something else by now. */
export function stale(path: string): GinError {
  return new GinError("STALE_CONTENT", `${path} changed while it was being read`, "read it again", { facts: { paths: [path] } });
}

function noFile(path: string, kind: string): GinError {
  const what = kind === "directory" ? "a directory" : kind === "symlink" ? "a symlink that leads nowhere" : "a special file";
  const shown = path === "" ? "." : path;
  const then = kind === "directory" ? "list it with list_dir" : "name a regular file";
  return new GinError("NOT_A_FILE", `${shown} is ${what}`, then, { facts: { path: shown, kind } });
}

function tooLarge(path: string, size: number, limit: number): GinError {
  return new GinError(
    "TOO_LARGE",
    `${path} has ${size} bytes; the limit is ${limit}`,
    "search it, or read a part of it with gin read --lines",
    {
      facts: { limit, unit: "bytes" },
    },
  );
}
