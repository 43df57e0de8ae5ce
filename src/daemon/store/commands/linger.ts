import type { Handler } from "../work.ts";

/** Displaced files that somebody still has open, and those that are let go. */
export const linger: Handler<"linger"> = {
  durable: false,
  run(work, { workspace, kept, gone }) {
    // Nobody asks for `seen`: what a file holds is compared with the contents of the store.
    const put = work.statement(
      "INSERT INTO linger(workspace, temp, path, seen) VALUES (?, ?, ?, x'') ON CONFLICT(workspace, temp) DO NOTHING",
    );
    for (const { temp, path } of kept) put.run(workspace, temp, path);
    const remove = work.statement("DELETE FROM linger WHERE workspace = ? AND temp = ?");
    for (const temp of gone) remove.run(workspace, temp);
    return null;
  },
};
