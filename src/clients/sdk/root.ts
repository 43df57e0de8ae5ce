import * as path from "node:path";
import { realPathOf } from "../../paths/index.ts";
import { EngineError, isObject, type JsonObject } from "./errors.ts";

/** What resolving a root needs of a session. */
interface Admin {
  admin(method: string, message?: JsonObject): Promise<JsonObject>;
}

/**
 * The workspace of a directory: the open one that owns it or encloses it, else a newly opened one. The list is asked first, because opening
 * is a mutation that would write to the store at every command. Throws what OpenWorkspace answers.
 */
export async function resolveRoot(session: Admin, root: string, repository: string | undefined): Promise<JsonObject> {
  const real = realPathOf(root);
  const listed = await session.admin("ListWorkspaces");
  const open = (Array.isArray(listed.workspaces) ? listed.workspaces : [])
    .filter(isObject)
    .filter((info) => info.status !== "closed");
  const enclosing = open.find((info) => typeof info.root === "string" && encloses(info.root, real));
  if (enclosing !== undefined) return addressOf(enclosing);
  const opened = await session.admin("OpenWorkspace", { root: real, ...(repository !== undefined && { repository }) });
  if (isObject(opened.info)) return addressOf(opened.info);
  throw new EngineError(
    { ...NO_INFO, raw: {} },
    "internal",
    typeof opened.request_id === "string" ? opened.request_id : undefined,
  );
}

const NO_INFO = {
  reason: "INTERNAL",
  message: "the daemon opened the directory and did not say as which workspace",
  suggestion: "gin workspace list shows it",
  retryable: false,
  retryAfterMs: 0,
  facts: {},
  nextCall: undefined,
  detailId: "",
};

function encloses(root: string, real: string): boolean {
  const relative = path.relative(root, real);
  return relative === "" || !(relative === ".." || relative.startsWith(`..${path.sep}`) || path.isAbsolute(relative));
}

function addressOf(info: JsonObject): JsonObject {
  return { repository: info.repository ?? "", workspace: info.id ?? "" };
}
