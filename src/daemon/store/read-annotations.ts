import type { AnchorRow, AnnotationReads, AnnotationRow } from "./annotation-types.ts";
import type { Asking } from "./read-origin.ts";
import * as rows from "./rows.ts";

interface AnnotationColumns extends Omit<AnnotationRow, "requestId" | "replyTo" | "evidenceId" | "timeMs" | "anchors"> {
  readonly request_id: string;
  readonly reply_to: string;
  readonly evidence_id: string;
  readonly time_ms: number;
}

interface AnchorColumns {
  readonly path: string;
  readonly start_line: number;
  readonly end_line: number;
  readonly sha256: Uint8Array;
  readonly text: string;
}

/**
 * Annotations of a path by their anchors: on it, below it ("0" is the character after "/": what lies between is below), or on and
 * below what it had been before any number of renames.
 */
const ANCHORED = `WITH RECURSIVE asked(workspace, path) AS (VALUES (?, ?)), earlier(name) AS (
    SELECT t.renamed_from FROM asked a CROSS JOIN touched t INDEXED BY touched_renamed
      WHERE t.workspace = a.workspace AND t.path = a.path AND t.renamed_from IS NOT NULL
    UNION SELECT t.renamed_from FROM asked a CROSS JOIN touched t INDEXED BY touched_renamed
      WHERE t.workspace = a.workspace AND t.path >= a.path || '/' AND t.path < a.path || '0' AND t.renamed_from IS NOT NULL
    UNION SELECT t.renamed_from FROM earlier e CROSS JOIN asked a CROSS JOIN touched t INDEXED BY touched_renamed
      WHERE t.workspace = a.workspace AND t.path = e.name AND t.renamed_from IS NOT NULL),
  named(workspace, path) AS (SELECT workspace, path FROM asked UNION SELECT asked.workspace, name FROM asked CROSS JOIN earlier)
  SELECT a.annotation FROM named p CROSS JOIN anchor a INDEXED BY anchor_path WHERE a.workspace = p.workspace AND a.path = p.path
  UNION ALL SELECT a.annotation FROM named p CROSS JOIN anchor a INDEXED BY anchor_path WHERE a.workspace = p.workspace AND a.path >= p.path || '/' AND a.path < p.path || '0'`;

/** Reads of annotations. Rows of a removed workspace wait for upkeep and are not seen: callers name a live one, or come by id. */
export function annotationReads({ one, all }: Asking): AnnotationReads {
  const whole = (row: AnnotationColumns): AnnotationRow => {
    const { request_id: requestId, reply_to: replyTo, evidence_id: evidenceId, time_ms: timeMs, ...same } = row;
    const anchors = all<AnchorColumns>("SELECT * FROM anchor WHERE annotation = ? ORDER BY position", row.seq).map(anchorOf);
    return { ...same, requestId, replyTo, evidenceId, timeMs, anchors };
  };
  return {
    annotation(id) {
      const live = "EXISTS (SELECT 1 FROM workspace WHERE rowid = annotation.workspace)";
      const row = one<AnnotationColumns>(`SELECT * FROM annotation WHERE id = ? AND ${live}`, id);
      return row && whole(row);
    },
    annotations(query) {
      const { workspace, checkpoint, path, thread, ascending = false, after, limit } = query;
      // The plus keeps SQLite from going through all of the workspace's where the rest names a few.
      const where = [checkpoint === undefined && thread === undefined ? "workspace = ?" : "+workspace = ?"];
      const parameters: unknown[] = [workspace];
      const add = (clause: string, ...values: unknown[]): void => {
        where.push(clause);
        parameters.push(...values);
      };
      if (checkpoint !== undefined) add("checkpoint = ?", checkpoint);
      if (thread !== undefined) add("thread = ?", thread);
      if (path !== undefined) add(`seq IN (${ANCHORED})`, workspace, path);
      if (after !== undefined) add(ascending ? "seq > ?" : "seq < ?", after);
      const order = ascending ? "ASC" : "DESC";
      const sql = `SELECT * FROM annotation WHERE ${where.join(" AND ")} ORDER BY seq ${order} LIMIT ?`;
      return all<AnnotationColumns>(sql, ...parameters, limit).map(whole);
    },
    correctedBy: (id) =>
      one<{ id: string }>("SELECT id FROM annotation WHERE corrects = ? AND corrects <> '' ORDER BY seq DESC LIMIT 1", id)?.id ??
      "",
  };
}

function anchorOf(row: AnchorColumns): AnchorRow {
  const { path, start_line: startLine, end_line: endLine, text } = row;
  return { path, startLine, endLine, sha256: rows.hex(row.sha256), text };
}
