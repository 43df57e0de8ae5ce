import { blob } from "../rows.ts";
import type { Handler } from "../work.ts";

/** How files looked when they were read; what is known of a path already gives way. */
export const looked: Handler<"looked"> = {
  durable: false,
  run(work, { workspace, clear, put, forget }) {
    if (clear) work.statement("DELETE FROM looked WHERE workspace = ?").run(workspace);
    const remove = work.statement("DELETE FROM looked WHERE workspace = ? AND path = ?");
    for (const path of forget) remove.run(workspace, path);
    const insert = work.statement(
      "INSERT INTO looked(workspace, path, stamp, newest_ms, sha256) VALUES (?, ?, ?, ?, ?) ON CONFLICT(workspace, path) DO UPDATE SET stamp = excluded.stamp, newest_ms = excluded.newest_ms, sha256 = excluded.sha256",
    );
    for (const { path, stamp, newestMs, sha256 } of put) insert.run(workspace, path, stamp, newestMs, blob(sha256));
    return null;
  },
};
