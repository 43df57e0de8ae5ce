import type { Hash, Store } from "../store/index.ts";

/**
 * Bytes of a content that a path of a workspace holds or once held; undefined for any other, kept or not. The store keeps one copy of what many paths
 * and workspaces hold: whoever names a hash must not be given, by way of a merge, what stood where he may not read.
 */
export function keptBase(
  { read, trees }: Pick<Store, "read" | "trees">,
  workspace: number,
  path: string,
  sha256: Hash,
): Uint8Array | undefined {
  return read.everHeld(workspace, path, sha256) || inBase() ? read.object(sha256) : undefined;

  /** The base holds files of HEAD that were changed before gin saw them: no checkpoint touched those. */
  function inBase(): boolean {
    const base = read.checkpoint(read.workspace(workspace)?.base ?? "");
    return base !== undefined && trees.get(base.tree, path)?.sha256 === sha256;
  }
}
