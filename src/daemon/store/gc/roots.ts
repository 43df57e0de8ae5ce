import { blob } from "../rows.ts";
import type { JournalStep } from "../types.ts";
import type { Work } from "../work.ts";

/** What must stay whatever the quota: whole trees, and single contents. Published lines and pins are to be added here. */
export interface Roots {
  readonly trees: readonly Uint8Array[];
  readonly objects: readonly Uint8Array[];
}

/**
 * Workspaces whose import is not over: its base will name what it found, also where saves have replaced it since, so nothing of their history
 * goes. One into which nothing was imported has nothing of the kind.
 */
export const IMPORTING =
  "SELECT w.rowid FROM workspace w WHERE w.imported = 0 AND EXISTS (SELECT 1 FROM checkpoint i WHERE i.workspace = w.rowid AND i.cause = 'import')";

/** Heads and bases of every workspace, open or closed, whole histories of those whose import goes on, and what the journals of open saves name. */
export function rootsOf(work: Work): Roots {
  const trees = work
    .statement(
      `SELECT tree FROM workspace UNION SELECT c.tree FROM workspace w JOIN checkpoint c ON c.id = w.base UNION SELECT tree FROM checkpoint WHERE workspace IN (${IMPORTING})`,
    )
    .all() as { tree: Uint8Array }[];
  const saves = work.statement("SELECT steps FROM open_save").all() as { steps: string }[];
  const objects = saves
    .flatMap(({ steps }) => JSON.parse(steps) as JournalStep[])
    .flatMap(({ before, after }) => [before, after])
    .filter((state) => state !== null)
    .map((state) => blob(state.sha256));
  return { trees: trees.map(({ tree }) => tree), objects };
}
