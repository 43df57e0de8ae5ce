import type { JsonObject } from "../sdk/index.ts";
import type { Context } from "./command.ts";
import { bytes, object, text } from "./output.ts";

/** How far the first look at the whole tree is; "" once it has ended and all could be read. */
export function importFacts(progress: JsonObject): string {
  const note = text(progress, "note");
  const unreadable = text(progress, "unreadable");
  if (progress.done === true) return note === "" ? "" : `${unreadable} not readable: ${note}`;
  if (progress.done !== false) return "";
  const left = text(progress, "directories_left");
  const seen = `${text(progress, "files")} files, ${bytes(text(progress, "bytes"))}, ${left} directories left`;
  return note === "" ? seen : `${seen} (${note})`;
}

/** A row of the workspace table. */
export function workspaceRow(info: JsonObject): string[] {
  const importing = object(info, "import").done === false ? `importing, ${importFacts(object(info, "import"))}` : "";
  const status = [text(info, "status"), text(info, "status_note"), importing].filter((part) => part !== "").join(": ");
  return [
    text(info, "id"),
    text(info, "name"),
    text(info, "repository_name"),
    status,
    text(object(info, "state"), "generation"),
    text(info, "root"),
  ];
}

/** Head of that table. */
export const WORKSPACE_HEAD = ["workspace", "name", "repository", "status", "gen", "root"];

/** Shows the workspace an answer speaks of. */
export function showWorkspace(context: Context, answer: JsonObject): void {
  if (context.json) context.out.json(answer);
  else context.out.table(WORKSPACE_HEAD, [workspaceRow(object(answer, "info"))]);
}

/** The workspace that a close or remove means: the word given, else what the session flags say. Exactly one of them must be there. */
export async function meantWorkspace(context: Context): Promise<JsonObject> {
  const [word] = context.positionals;
  return word === undefined ? await context.session().address() : { workspace: word };
}
