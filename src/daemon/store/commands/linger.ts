import { blob } from "../rows.ts";
import type { Handler } from "../work.ts";

/** Displaced files that somebody still has open, and those that are let go. */
export const linger: Handler<"linger"> = {
  durable: false,
  run(work, { workspace, kept, gone }) {
    const put = work.statement(
      "INSERT INTO linger(workspace, temp, path, seen) VALUES (?, ?, ?, ?) ON CONFLICT(workspace, temp) DO UPDATE SET seen = excluded.seen",
    );
    for (const { temp, path, seen } of kept) put.run(workspace, temp, path, blob(seen));
    const remove = work.statement("DELETE FROM linger WHERE workspace = ? AND temp = ?");
    for (const temp of gone) remove.run(workspace, temp);
    return null;
  },
};
