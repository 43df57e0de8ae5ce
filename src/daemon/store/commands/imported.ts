import { blob } from "../rows.ts";
import type { Handler } from "../work.ts";
import { putNodes } from "./put.ts";

/**
 * Ends the import: the base is a checkpoint of generation 0, before everything recorded, and without touched paths. One statement decides, so
 * that a daemon that lost the workspace meanwhile cannot set it.
 */
export const imported: Handler<"workspace.imported"> = {
  durable: true,
  run(work, { workspace, epoch, base, nodes, gitCommit }) {
    const { changes } = work
      .statement(
        "UPDATE workspace SET imported = 1, base = ?, git_commit = ? WHERE rowid = ? AND epoch = ? AND imported = 0 AND status = 'active'",
      )
      .run(base.id, gitCommit, workspace, epoch);
    if (changes === 0) return false;
    putNodes(work, nodes);
    // A root more than gc's run knows of.
    work.garbage.giveUp();
    work
      .statement(
        "INSERT INTO checkpoint(workspace, generation, id, parents, cause, principal, request_id, message, time_ms, tree, touched) VALUES (?, 0, ?, '[]', 'import', '', '', '', ?, ?, 0)",
      )
      .run(workspace, base.id, base.timeMs, blob(base.tree));
    return true;
  },
};
