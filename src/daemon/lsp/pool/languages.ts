import type { Hash } from "../../store/index.ts";
import { languageOf } from "../table/servers.ts";
import type { ServerSpec } from "../table/types.ts";
import type { LspWorkspace } from "../types.ts";

/**
 * Which rows a workspace has files for. The tree is walked once, later only what changed is looked at; a row stays once a file was
 * seen, so that a deleted last file does not make its server vanish from the list.
 */
export class Languages {
  readonly #table: readonly ServerSpec[];
  readonly #known = new Map<number, { tree: Hash; readonly rows: Set<ServerSpec> }>();

  constructor(table: readonly ServerSpec[]) {
    this.#table = table;
  }

  of(workspace: LspWorkspace): ReadonlySet<ServerSpec> {
    const tree = workspace.tree();
    const known = this.#known.get(workspace.rowid);
    if (known === undefined) {
      const rows = new Set<ServerSpec>();
      this.#note(rows, workspace.files(tree, ""));
      this.#known.set(workspace.rowid, { tree, rows });
      return rows;
    }
    if (known.tree !== tree) {
      this.#note(known.rows, added(workspace, known.tree, tree));
      known.tree = tree;
    }
    return known.rows;
  }

  forget(workspace: number): void {
    this.#known.delete(workspace);
  }

  #note(rows: Set<ServerSpec>, paths: Iterable<string>): void {
    const seen = new Set<string>();
    for (const path of paths) {
      const name = path.slice(path.lastIndexOf("/") + 1);
      const dot = name.lastIndexOf(".");
      const kind = dot === -1 ? name : name.slice(dot);
      // Most paths end as an earlier one did; a whole name ("go.mod") may say more than its ending, so both are looked at once.
      if (seen.has(kind) && seen.has(name)) continue;
      if (seen.size < 10_000) {
        seen.add(kind);
        seen.add(name);
      }
      for (const row of this.#table) if (languageOf(row, name) !== undefined) rows.add(row);
    }
  }
}

function* added(workspace: LspWorkspace, from: Hash, to: Hash): Generator<string> {
  for (const { path, after } of workspace.changes(from, to)) if (after !== null) yield path;
}
