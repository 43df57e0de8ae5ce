import type { JsonObject } from "../../../src/clients/sdk/index.ts";
import type { PatientClient } from "./patient.ts";

/** A checkpoint as ListCheckpoints tells it. */
export interface LoggedCheckpoint {
  readonly id: string;
  readonly generation: number;
  /** "CAUSE_SAVE" and the like. */
  readonly cause: string;
  /** "" where no request made it. */
  readonly request: string;
  /** All of them; hashes are "" where the path was absent. */
  readonly paths: readonly { readonly path: string; readonly before: string; readonly after: string }[];
  readonly pathCount: number;
}

/** The whole log, newest first. */
export async function logOf(client: PatientClient): Promise<LoggedCheckpoint[]> {
  const all: LoggedCheckpoint[] = [];
  let cursor = "";
  do {
    const page = await client.run("list_checkpoints", { cursor, limit: 500 });
    for (const one of page.checkpoints as JsonObject[]) all.push(toLogged(one, await pathsOf(client, one)));
    cursor = String(page.next_cursor);
  } while (cursor !== "");
  return all;
}

/** All paths of a checkpoint, where the log shows only the first. */
async function pathsOf(client: PatientClient, one: JsonObject): Promise<JsonObject[]> {
  if (one.detail_id === "" || one.detail_id === undefined) return one.paths as JsonObject[];
  let text = "";
  let cursor = "";
  do {
    const page = await client.run("details", { detail_id: one.detail_id, cursor, limit: 1_000_000 });
    text += String(page.text);
    cursor = String(page.next_cursor);
  } while (cursor !== "");
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as JsonObject);
}

function toLogged(one: JsonObject, touched: JsonObject[]): LoggedCheckpoint {
  const paths = touched as unknown as { path: string; before_sha256: string; after_sha256: string }[];
  return {
    id: String(one.id),
    generation: Number(one.generation),
    cause: String(one.cause),
    request: String(one.request_id),
    paths: paths.map((path) => ({ path: path.path, before: path.before_sha256, after: path.after_sha256 })),
    pathCount: Number(one.path_count),
  };
}
