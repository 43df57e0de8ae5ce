import type { Handler } from "../work.ts";

/** Key of `meta` under which a workspace's clean end is known. */
export function endedKey(workspace: number): string {
  return `ended:${workspace}`;
}

/** How a term ended, or (null) that the next one begins. That it begins is on disk before anything is made that a killed one could leave. */
export const ended: Handler<"ended"> = {
  durable: ({ mark }) => mark === null,
  run(work, { workspace, epoch, mark }) {
    if (mark === null) work.statement("DELETE FROM meta WHERE key = ?").run(endedKey(workspace));
    else
      work
        .statement(
          "INSERT OR REPLACE INTO meta(key, value) SELECT ?, ? WHERE EXISTS (SELECT 1 FROM workspace WHERE rowid = ? AND epoch = ?)",
        )
        .run(endedKey(workspace), mark, workspace, epoch);
    return null;
  },
};
