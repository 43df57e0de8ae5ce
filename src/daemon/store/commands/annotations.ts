import { GinError } from "../../base/index.ts";
import { blob } from "../rows.ts";
import type { Handler } from "../work.ts";
import { mustPutRequest } from "./put.ts";

/** Keeps an annotation with its anchors and its request's outcome. */
export const write: Handler<"annotation.write"> = {
  durable: true,
  run(work, { annotation, request }) {
    const { id, workspace, checkpoint, principal, requestId, text, thread, replyTo, corrects, evidenceId, timeMs } = annotation;
    if (work.statement("SELECT 1 FROM workspace WHERE rowid = ?").get(workspace) === undefined)
      throw new GinError("WORKSPACE_NOT_FOUND", "the workspace is not there any more");
    const { lastInsertRowid } = work
      .statement(
        "INSERT INTO annotation(id, workspace, checkpoint, principal, request_id, text, thread, reply_to, corrects, evidence_id, time_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      )
      .run(id, workspace, checkpoint, principal, requestId, text, thread, replyTo, corrects, evidenceId, timeMs);
    const seq = Number(lastInsertRowid);
    const insert = work.statement("INSERT INTO anchor VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
    for (const [position, anchor] of annotation.anchors.entries()) {
      const { path, startLine, endLine, sha256 } = anchor;
      insert.run(seq, position, workspace, path, startLine, endLine, blob(sha256), anchor.text);
    }
    mustPutRequest(work, request);
    return { seq };
  },
};
