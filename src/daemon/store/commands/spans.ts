import { blob } from "../rows.ts";
import type { Handler } from "../work.ts";

/** Spans computed from history, kept so that they need not be computed again, nor what they were computed from be kept. */
export const spans: Handler<"spans"> = {
  durable: false,
  run(work, { rows, forget }) {
    const insert = work.statement(
      "INSERT INTO span(workspace, path, generation, sha256, body) VALUES (?, ?, ?, ?, ?) ON CONFLICT(workspace, path, generation) DO UPDATE SET sha256 = excluded.sha256, body = excluded.body",
    );
    // A workspace may be removed while spans of it are computed: its row id is not used again, so nobody would delete them.
    const live = work.statement("SELECT 1 FROM workspace WHERE rowid = ?");
    for (const { workspace, path, generation, sha256, body } of rows) {
      if (live.get(workspace) === undefined) continue;
      insert.run(workspace, path, generation, blob(sha256), body);
      for (const old of forget ?? [])
        work.statement("DELETE FROM span WHERE workspace = ? AND path = ? AND generation = ?").run(workspace, path, old);
    }
    return null;
  },
};
