import { GinError, type Pace } from "../../base/index.ts";
import type { Hash } from "../../store/index.ts";
import type { LspWorkspace } from "../types.ts";

/** What is known of one workspace. */
interface Known {
  readonly tree: Hash;
  readonly links: ReadonlySet<string>;
}

/** A link by such a name is one to a file, or to what no project looks at. */
const HARMLESS = /\.[a-z0-9]{1,5}$|(?:^|\/)(?:\.|node_modules\/)/i;

/**
 * Which workspaces hold links to directories: by such a one a server may come upon files first, and then know them by that name alone (seen with TypeScript). What a project
 * surely includes is not known there.
 */
export class Links {
  readonly #known = new Map<number, Known>();

  /** Whether a tree holds links that may lead to directories. The first time all of the tree is walked, later what changed. */
  async mayLead(workspace: LspWorkspace, tree: Hash, pace: Pace): Promise<boolean> {
    const last = this.#known.get(workspace.rowid);
    const links = last?.tree === tree ? last.links : await linksOf(workspace, tree, last, pace);
    this.#known.set(workspace.rowid, { tree, links });
    return links.size > 0;
  }

  forget(workspace: number): void {
    this.#known.delete(workspace);
  }
}

async function linksOf(workspace: LspWorkspace, tree: Hash, last: Known | undefined, pace: Pace): Promise<ReadonlySet<string>> {
  const links = new Set(last?.links);
  if (last !== undefined) {
    try {
      for (const { path, after } of workspace.changes(last.tree, tree)) {
        await pace.next();
        if (after?.kind === "symlink" && !HARMLESS.test(path)) links.add(path);
        else links.delete(path);
      }
      return links;
    } catch (thrown) {
      // The older tree is no longer kept: all of this one is walked.
      if (!(thrown instanceof GinError) || thrown.reason === "CANCELLED") throw thrown;
      links.clear();
    }
  }
  for (const path of workspace.links?.(tree) ?? []) {
    await pace.next();
    if (!HARMLESS.test(path)) links.add(path);
  }
  return links;
}
