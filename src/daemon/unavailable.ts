import type { GinError } from "./base/index.ts";
import type { WorkspaceRow } from "./store/index.ts";
import type { Workspace } from "./workspace/index.ts";

/**
 * Stands in for a workspace whose directory cannot be had: its history and state can be asked for, its files cannot, and each
 * attempt is told why. Nothing here looks at the directory again: opening the workspace anew does.
 */
export function unavailableWorkspace(row: WorkspaceRow, status: "missing" | "stopped", why: GinError): Workspace {
  const { incarnation, generation, epoch, head } = row;
  const refuse = async (): Promise<never> => {
    throw why;
  };
  return {
    rowid: row.rowid,
    id: row.id,
    root: row.root,
    state: () => ({ incarnation, generation, epoch, head }),
    status: () => ({ status, note: why.message }),
    tree: () => row.tree,
    save: refuse,
    readHead: refuse,
    facts: refuse,
    sync: refuse,
    settle: refuse,
    importProgress: () => ({ done: row.imported, files: 0, bytes: 0, directoriesLeft: 0, unreadable: 0, note: why.message }),
    watching: () => undefined,
    git: async () => undefined,
    canonical: () => {
      throw why;
    },
    scope: (run) => run(),
    applyPending: () => 0,
    queued: () => 0,
    onChange: () => () => {},
    close: async () => {},
  };
}
