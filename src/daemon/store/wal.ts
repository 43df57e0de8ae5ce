import type { Work } from "./work.ts";

/** Moves what is in the WAL into the file as far as no reader is in the way. */
export function checkpointWal(work: Pick<Work, "db">): void {
  work.db.pragma("wal_checkpoint(PASSIVE)");
}
