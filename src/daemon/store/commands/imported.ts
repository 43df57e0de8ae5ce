import type { Handler } from "../work.ts";
import { hasAll, putCheckpoint, putNodes } from "./put.ts";

/**
 * Ends the import: the base is a checkpoint of generation 0, before everything recorded, and without touched paths. One statement decides, so
 * that a daemon that lost the workspace meanwhile cannot set it.
 */
export const imported: Handler<"workspace.imported"> = {
  durable: true,
  run(work, { workspace, epoch, base, nodes, counts, gitCommit }) {
    if (!hasAll(work, counts)) return "missing";
    const { changes } = work
      .statement(
        "UPDATE workspace SET imported = 1, base = ?, git_commit = ? WHERE rowid = ? AND epoch = ? AND imported = 0 AND status = 'active'",
      )
      .run(base.id, gitCommit, workspace, epoch);
    if (changes === 0) return "stale";
    putNodes(work, nodes);
    // A root more than gc's run knows of.
    work.garbage.giveUp();
    const unsaid = { parents: [], principal: "", requestId: "", message: "", paths: [] };
    putCheckpoint(work, { ...unsaid, ...base, workspace, generation: 0, cause: "import" });
    return "done";
  },
};
