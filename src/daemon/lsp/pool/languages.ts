import type { Hash } from "../../store/index.ts";
import { languageOf } from "../table/servers.ts";
import type { ServerSpec } from "../table/types.ts";
import type { LspWorkspace } from "../types.ts";

/** Paths looked at in one call: some milliseconds, since whoever lists servers waits for it. */
const SLICE = 5_000;

/** What is known of one workspace. */
interface Known {
  readonly rows: Set<ServerSpec>;
  /** The tree all of whose paths were looked at; undefined before the first was. */
  tree: Hash | undefined;
  /** Paths that are still to be looked at until `target` is known. */
  left: Iterator<string> | undefined;
  target: Hash;
}

/**
 * Which rows a workspace has files for. The tree is walked once, a slice a call, later only what came to it is looked at; a row stays once a file was
 * seen, so that a deleted last file does not make its server vanish from the list.
 */
export class Languages {
  readonly #table: readonly ServerSpec[];
  readonly #known = new Map<number, Known>();

  constructor(table: readonly ServerSpec[]) {
    this.#table = table;
  }

  /** The rows seen so far: all of them once a large tree was looked at over several calls. */
  of(workspace: LspWorkspace): ReadonlySet<ServerSpec> {
    const known = this.#known.get(workspace.rowid) ?? { rows: new Set(), tree: undefined, left: undefined, target: "" };
    this.#known.set(workspace.rowid, known);
    try {
      this.#look(workspace, known);
    } catch {
      // gc may have taken a tree that was being walked: the one there is now stays. What else is wrong with the store is thrown again here.
      known.left = undefined;
      known.tree = undefined;
      this.#look(workspace, known);
    }
    return known.rows;
  }

  forget(workspace: number): void {
    this.#known.delete(workspace);
  }

  #look(workspace: LspWorkspace, known: Known): void {
    const now = workspace.tree();
    if (known.left === undefined) {
      if (known.tree === now) return;
      const paths = known.tree === undefined ? workspace.files(now, "") : added(workspace, known.tree, now);
      known.left = paths[Symbol.iterator]();
      known.target = now;
    }
    for (let count = 0; count < SLICE; count += 1) {
      const next = known.left.next();
      if (next.done === true) {
        known.left = undefined;
        known.tree = known.target;
        return;
      }
      for (const row of this.#table) {
        if (!known.rows.has(row) && languageOf(row, next.value) !== undefined) known.rows.add(row);
      }
    }
  }
}

function* added(workspace: LspWorkspace, from: Hash, to: Hash): Generator<string> {
  for (const { path, after } of workspace.changes(from, to)) if (after !== null) yield path;
}
