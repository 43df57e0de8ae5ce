import type { OriginReads, PathTouch, SpanRow } from "./origin-types.ts";
import * as rows from "./rows.ts";
import type { CauseName } from "./types.ts";

/** How a reading connection asks: one row or all of them. */
export interface Asking {
  one<T>(sql: string, ...parameters: unknown[]): T | undefined;
  all<T>(sql: string, ...parameters: unknown[]): T[];
}

type TouchColumns = rows.TouchedColumns & { readonly generation: number; readonly id: string; readonly cause: string };

/** Named indexes: left to itself SQLite goes through every path of the generations asked for. */
const TOUCHES =
  "SELECT t.*, c.id, c.cause FROM touched t INDEXED BY touched_path CROSS JOIN checkpoint c ON c.workspace = t.workspace AND c.generation = t.generation WHERE t.workspace = ? AND t.path = ?";

/** Reads about who touched a path. */
export function originReads({ one, all }: Asking): OriginReads {
  const between = (order: "ASC" | "DESC") =>
    `${TOUCHES} AND t.generation > ? AND t.generation <= ? ORDER BY t.generation ${order} LIMIT ?`;
  return {
    touchesBefore: (workspace, path, after, until, limit) =>
      all<TouchColumns>(between("DESC"), workspace, path, after, until, limit).map(touchOf),
    touchesAfter: (workspace, path, after, until, limit) =>
      all<TouchColumns>(between("ASC"), workspace, path, after, until, limit).map(touchOf),
    touchAt(workspace, path, generation) {
      const row = one<TouchColumns>(`${TOUCHES} AND t.generation = ?`, workspace, path, generation);
      return row && touchOf(row);
    },
    renameOnto: (workspace, path, after, until) =>
      one<{ generation: number; from: string }>(
        'SELECT generation, renamed_from AS "from" FROM touched INDEXED BY touched_renamed WHERE workspace = ? AND path = ? AND generation > ? AND generation <= ? AND renamed_from IS NOT NULL ORDER BY generation DESC LIMIT 1',
        workspace,
        path,
        after,
        until,
      ),
    span(workspace, path, until) {
      const row = one<Omit<SpanRow, "sha256"> & { sha256: Uint8Array }>(
        "SELECT * FROM span WHERE workspace = ? AND path = ? AND generation <= ? ORDER BY generation DESC LIMIT 1",
        workspace,
        path,
        until,
      );
      return row && { ...row, sha256: rows.hex(row.sha256) };
    },
    lastGeneration: (workspace, path, until) =>
      one<{ newest: number | null }>(
        "SELECT max(generation) AS newest FROM touched WHERE workspace = ? AND path = ? AND generation <= ?",
        workspace,
        path,
        until,
      )?.newest ?? undefined,
    lastGenerationBetween(workspace, from, below, until, limit) {
      // max() skips what lies after `until`, so that the last path seen is the last path read.
      const row = one<{ newest: number | null; last: string | null; count: number }>(
        "SELECT max(iif(generation <= ?, generation, NULL)) AS newest, max(path) AS last, count(*) AS count FROM (SELECT path, generation FROM touched WHERE workspace = ? AND path >= ? AND path < ? ORDER BY path LIMIT ?)",
        until,
        workspace,
        from,
        below,
        limit,
      );
      const full = row !== undefined && row.count === limit && row.last !== null;
      return { generation: row?.newest ?? undefined, next: full && row.last !== null ? row.last : undefined };
    },
  };
}

function touchOf(row: TouchColumns): PathTouch {
  return { ...rows.changeOf(row), generation: row.generation, checkpoint: row.id, cause: row.cause as CauseName };
}
