import type { Handler } from "../work.ts";
import { mustPutRequest } from "./put.ts";

/** Moves a principal's mark forward, with its request's outcome. */
export const undoClear: Handler<"undo.clear"> = {
  durable: true,
  run(work, { workspace, principal, generation, request }) {
    work
      .statement(
        "INSERT INTO undo_cleared(workspace, principal, generation) VALUES (?, ?, ?) ON CONFLICT(workspace, principal) DO UPDATE SET generation = max(generation, excluded.generation)",
      )
      .run(workspace, principal, generation);
    mustPutRequest(work, request);
    return null;
  },
};
