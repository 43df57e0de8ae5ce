import { GinError, type Reason } from "../../base/index.ts";
import type { CurrentPath } from "../../history/index.ts";
import type { Content, Store } from "../../store/index.ts";
import type { HeadRead, Workspace } from "../../workspace/index.ts";

/** What undoing looks at files through. `authorise` throws SCOPE_FORBIDDEN for a canonical path the caller may not touch. */
export interface UndoGround {
  readonly workspace: Workspace;
  readonly store: Store;
  readonly authorise: (path: string) => void;
  readonly signal: AbortSignal;
}

/** Refusals of a read that say a file cannot be there as things stand. */
const BLOCKED: ReadonlySet<Reason> = new Set(["NOT_A_FILE", "NOT_A_DIRECTORY", "PATH_OUTSIDE_WORKSPACE"]);

/** Largest file that is read into memory to be merged; what is larger is merged by hash alone. */
const HELD_BYTES = 8 * 1024 * 1024;

/**
 * What is at a path now, read through the workspace so that an outside edit is recorded first. Throws SCOPE_FORBIDDEN and
 * PATH_SENSITIVE for what this caller may not touch.
 */
export async function currentPath(ground: UndoGround, path: string): Promise<CurrentPath> {
  const { store, workspace, authorise } = ground;
  authorise(path);
  const recorded = store.trees.get(workspace.tree(), path);
  // A read follows links; the link itself is as it is recorded, and the save compares it with the disk.
  if (recorded?.kind === "symlink") return { state: recorded, bytes: async () => store.read.object(recorded.sha256) };
  let read: HeadRead;
  try {
    read = await readAt(ground, path);
  } catch (thrown) {
    if (!(thrown instanceof GinError)) throw thrown;
    if (thrown.reason === "PATH_NOT_FOUND") return nothing(false);
    if (BLOCKED.has(thrown.reason)) return nothing(true);
    throw thrown;
  }
  if (read.kind === "large") read.close();
  if (read.kind === "directory" || read.kind === "symlink" || read.path !== path) return nothing(true);
  const { content } = read;
  return { state: content, bytes: () => bytesAt(ground, path, content) };
}

function nothing(blocked: boolean): CurrentPath {
  return { state: null, blocked, bytes: async () => undefined };
}

function readAt({ workspace, authorise, signal }: UndoGround, path: string): Promise<HeadRead> {
  return workspace.readHead(path, { authorise, content: true, signal });
}

/** From the store, else from disk while it still has those bytes. */
async function bytesAt(ground: UndoGround, path: string, content: Content): Promise<Uint8Array | undefined> {
  const kept = ground.store.read.object(content.sha256);
  if (kept !== undefined || content.size > HELD_BYTES) return kept;
  const read = await readAt(ground, path);
  if (read.kind === "file") return read.content.sha256 === content.sha256 ? read.bytes : undefined;
  if (read.kind !== "large") return undefined;
  try {
    if (read.content.sha256 !== content.sha256) return undefined;
    const pieces: Uint8Array[] = [];
    for (let offset = 0; offset < content.size; ) {
      const piece = await read.read(offset, content.size - offset);
      if (piece.byteLength === 0) return undefined;
      pieces.push(piece);
      offset += piece.byteLength;
    }
    return Buffer.concat(pieces);
  } finally {
    read.close();
  }
}
