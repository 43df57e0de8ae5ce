import type { Handler, Work } from "../work.ts";

/** Their files are in place, perhaps not on disk for good. */
export const applied: Handler<"applied"> = {
  durable: false,
  run(work, value) {
    markApplied(work, value.saves);
    return null;
  },
};

/** Notes that the saves' files are in place; a save that is not open any more is none of its business. */
export function markApplied(work: Work, saves: readonly string[]): void {
  const update = work.statement("UPDATE open_save SET state = 'applied' WHERE id = ?");
  for (const id of saves) update.run(id);
}

/** Their files are on disk for good: the journal lets go of them. */
export const durable: Handler<"durable"> = {
  durable: false,
  run(work, value) {
    const remove = work.statement("DELETE FROM open_save WHERE id = ?");
    for (const id of value.saves) remove.run(id);
    return null;
  },
};

/** The kernel may have dropped what it could not write: the next sync of the same file would succeed and mean nothing. */
export const unsynced: Handler<"unsynced"> = {
  durable: false,
  run(work, value) {
    const update = work.statement("UPDATE open_save SET state = 'committed', boot = '' WHERE id = ?");
    for (const id of value.saves) update.run(id);
    return null;
  },
};
