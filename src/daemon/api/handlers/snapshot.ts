import { GinError } from "../../base/index.ts";
import type { Checkpoint, Hash, PathState } from "../../store/index.ts";
import { checkPath, isSensitive, notReady } from "../../workspace/index.ts";
import type { Ground, Target } from "../invocation.ts";

/** A checkpoint to read from. */
export interface Snapshot {
  /** "ck_…". */
  readonly checkpoint: string;
  readonly tree: Hash;
}

/** True for the snapshot that is read from disk. */
export function isHead(snapshot: string): boolean {
  return snapshot === "" || snapshot === "head";
}

/**
 * The checkpoint a snapshot names: "base", "published" or an id of this workspace. Throws ID_NOT_FOUND; HISTORY_TRIMMED; NOT_READY for the base while the import
 * that makes it goes on.
 */
export function findSnapshot(ground: Ground, target: Target, snapshot: string): Snapshot {
  const named = snapshot === "base" || snapshot === "published";
  const id = named ? baseOf(ground, target) : snapshot;
  if (named && id === "") throw notReady(target.workspace.importProgress());
  const found = id === "" ? undefined : ground.reader.checkpoint(id);
  if (found === undefined || found.workspace !== target.rowid) {
    throw new GinError("ID_NOT_FOUND", "no such snapshot in this workspace", "name head, base, published or a checkpoint id", {
      facts: { id: snapshot.slice(0, 128) },
    });
  }
  requireKept(ground, target, found);
  return { checkpoint: found.id, tree: found.tree };
}

/**
 * Refuses a checkpoint whose contents gc has given up, in whole or in part (HISTORY_TRIMMED, with the first generation that is kept whole).
 * The base is always whole, and so is an old state that is the present one again.
 */
export function requireKept(ground: Ground, target: Target, checkpoint: Checkpoint): void {
  const row = ground.reader.workspace(target.rowid);
  if (row === undefined || checkpoint.generation >= row.keptFrom) return;
  if (checkpoint.id === row.base || checkpoint.tree === row.tree) return;
  throw new GinError("HISTORY_TRIMMED", `what was there before generation ${row.keptFrom} is not kept`, undefined, {
    facts: { checkpoint: checkpoint.id, kept_from: row.keptFrom },
  });
}

/** The workspace's base checkpoint, "" before the import has ended; what is published is the base until something else is. */
export function baseOf(ground: Ground, target: Target): string {
  return ground.reader.workspace(target.rowid)?.base ?? "";
}

/**
 * A path as a tree spells it. Trees hold names only, so there is nothing to walk: spelling decides. Throws PATH_INVALID, and
 * PATH_SENSITIVE for protected names, which no tree holds.
 */
export function treePath(path: string): string {
  const plain = checkPath(path);
  if (!isSensitive(plain)) return plain;
  throw new GinError("PATH_SENSITIVE", `${plain} is a protected name`, undefined, { facts: { path: plain } });
}

/** What a snapshot holds at a path. Throws PATH_NOT_FOUND. */
export function lookUp(ground: Ground, snapshot: Snapshot, path: string): PathState | "directory" {
  const state = path === "" ? null : ground.store.trees.get(snapshot.tree, path);
  if (state !== null) return state;
  if (path === "" || ground.store.trees.list(snapshot.tree, path) !== undefined) return "directory";
  throw new GinError("PATH_NOT_FOUND", `nothing is at ${path} in that snapshot`, undefined, { facts: { path } });
}

/** The bytes of a recorded content. Throws CONTENT_NOT_KEPT. */
export function bytesOf(ground: Ground, path: string, sha256: Hash): Uint8Array {
  const bytes = ground.reader.object(sha256);
  if (bytes !== undefined) return bytes;
  throw new GinError("CONTENT_NOT_KEPT", `the bytes ${path} had then are not kept`, undefined, { facts: { path, sha256 } });
}
