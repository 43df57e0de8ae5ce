import type { Reading } from "./reader.ts";
import * as rows from "./rows.ts";
import type { Checkpoint, CheckpointQuery } from "./types.ts";

/** Touches below a prefix that are collected at most before the other way of looking is taken. */
const FEW_TOUCHES = 4096;

/**
 * The log, newest first, without the base. A path that few checkpoints touched is looked up by path; below one that many touched, checkpoints
 * are tried from the newest on, since a match is never far.
 */
export function findCheckpoints(reading: Reading, query: CheckpointQuery): Checkpoint[] {
  const { workspace, path, principal, cause, requestId, beforeGeneration, afterGeneration, limit } = query;
  // Generation 0 is the base: a state to compare with, and no change.
  const where = ["workspace = ?", "generation > 0", "generation < ?"];
  const parameters: unknown[] = [workspace, beforeGeneration ?? Number.MAX_SAFE_INTEGER];
  if (afterGeneration !== undefined) {
    where.push("generation > ?");
    parameters.push(afterGeneration);
  }
  if (principal !== undefined && query.subAgents === true) {
    where.push("(principal = ? OR (principal >= ? AND principal < ?))");
    parameters.push(principal, ...below(principal));
  } else if (principal !== undefined) {
    where.push("principal = ?");
    parameters.push(principal);
  }
  if (requestId !== undefined) {
    where.push("request_id = ?");
    parameters.push(requestId);
  }
  if (cause !== undefined) {
    where.push("cause = ?");
    parameters.push(cause);
  }
  if (path !== undefined && path !== "") {
    const few = generationsTouching(reading, workspace, path);
    if (few === undefined) {
      where.push(
        "EXISTS (SELECT 1 FROM touched WHERE workspace = checkpoint.workspace AND generation = checkpoint.generation AND (path = ? OR (path >= ? AND path < ?)))",
      );
      parameters.push(path, ...below(path));
    } else {
      where.push("generation IN (SELECT value FROM json_each(?))");
      parameters.push(JSON.stringify(few));
    }
  }
  const sql = `SELECT * FROM checkpoint WHERE ${where.join(" AND ")} ORDER BY generation DESC LIMIT ?`;
  const found = reading.statement(sql).all(...parameters, limit) as rows.CheckpointColumns[];
  return found.map(rows.checkpointOf);
}

/** Generations that touched the path or anything below it; undefined when there are too many to collect. */
function generationsTouching(reading: Reading, workspace: number, path: string): number[] | undefined {
  const sql =
    "SELECT generation FROM touched WHERE workspace = ? AND path = ? UNION ALL SELECT generation FROM touched WHERE workspace = ? AND path >= ? AND path < ? LIMIT ?";
  const found = reading
    .statement(sql)
    .pluck()
    .all(workspace, path, workspace, ...below(path), FEW_TOUCHES + 1) as number[];
  return found.length > FEW_TOUCHES ? undefined : [...new Set(found)];
}

/** Bounds of what lies below a path: "0" is the character after "/". */
function below(path: string): [from: string, until: string] {
  return [`${path}/`, `${path}0`];
}
