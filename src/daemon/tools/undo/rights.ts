import { type Caller, GinError } from "../../base/index.ts";
import type { Checkpoint } from "../../store/index.ts";

/** Whether some of it is neither the caller's work nor its sub-agents': taking that back needs the scope undo_others. */
export function isOthers(caller: Pick<Caller, "principal">, checkpoints: Iterable<Checkpoint>): boolean {
  for (const { principal } of checkpoints) {
    if (principal !== caller.principal && !principal.startsWith(`${caller.principal}/`)) return true;
  }
  return false;
}

/** The checkpoint, if it is one that can be taken back. Throws UNSUPPORTED for an import. */
export function undoable(checkpoint: Checkpoint): Checkpoint {
  if (checkpoint.cause !== "import") return checkpoint;
  throw new GinError(
    "UNSUPPORTED",
    "an import cannot be undone: it only recorded what was there",
    "delete the files themselves",
    {
      facts: { requested: "undo of an import", supported: "undo of any other checkpoint" },
    },
  );
}
