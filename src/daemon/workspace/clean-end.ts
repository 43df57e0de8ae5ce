import type { WorkspaceDeps } from "./deps.ts";

/**
 * A term of ownership that came to its end in order left no temp of gin's, and the next one need not search the tree for any. It says so in
 * the store when it ends; the next one takes that away, durably, before it makes anything: a killed one has said nothing. The mark names
 * its term, the directory and the boot (after a power cut a removed temp may be there again), and holds for the very next term alone.
 */
type Term = Pick<WorkspaceDeps, "row" | "store" | "boot" | "root">;

function markOf({ row, root, boot }: Term, epoch: number): string {
  return [epoch, row.incarnation, root.device, root.inode, boot].join(" ");
}

/** Begins a term; gives what the one before said at its end. */
export async function beginTerm({ row, store }: Pick<Term, "row" | "store">): Promise<string | undefined> {
  const said = store.read.ended(row.rowid);
  if (said !== undefined) await store.write("ended", { workspace: row.rowid, epoch: row.epoch, mark: null });
  return said;
}

/** Whether what was said at an end is said of this very directory, and by the term just before. */
export function endedInOrder(term: Term, said: string | undefined): boolean {
  return said === markOf(term, term.row.epoch - 1);
}

/** Ends one, when nothing waits and no displaced file is kept; the caller has seen that no temp was left for another reason. */
export async function endTerm(term: Term): Promise<void> {
  const { row, store } = term;
  if (store.read.openSaves(row.rowid).length > 0 || store.read.lingering(row.rowid).length > 0) return;
  await store.write("ended", { workspace: row.rowid, epoch: row.epoch, mark: markOf(term, row.epoch) });
}
