import { isObject, type JsonObject, type JsonValue, onlyOperation, UsageError } from "../../clients/sdk/index.ts";
import { ArgumentError, type Property, type Shape, type Tool, type ToolHints } from "./types.ts";

const READS: ToolHints = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };

const REQUEST_ID: Property = { type: "string", description: "Your own id for this request; one is made if you give none" };

const CURSOR: Property = { type: "string", description: "next_cursor of the page before" };

const limit = (of: string): Property => ({ type: "integer", minimum: 0, description: `Most ${of} in a page` });

const counter = (description: string): Property => ({ type: "string", counter: true, description });

function shape(properties: { readonly [name: string]: Property }, required: readonly string[] = []): Shape {
  const all = { ...properties, request_id: REQUEST_ID };
  return { type: "object", properties: all, ...(required.length > 0 && { required }), additionalProperties: false };
}

/** A tool whose arguments are the fields of a read's request. */
function read(name: string, operation: string, title: string, description: string, inputSchema: Shape): Tool {
  return {
    name,
    title,
    description,
    inputSchema,
    annotations: READS,
    request: (args) => ({ [operation]: args }),
    shows: operation,
  };
}

const EDIT: Shape = {
  type: "object",
  properties: {
    path: { type: "string", description: "Path in the workspace, with /" },
    expect: { type: "string", description: 'sha256 of what you read, or "absent"; may be left out only if generation is given' },
    text: { type: "string", description: "The whole new content" },
    data: { type: "string", description: "The whole new content in base64, for what is not UTF-8" },
    delete: { type: "boolean", description: "Delete the file" },
    rename_to: { type: "string", description: "New path; content may be given with it" },
    executable: { type: "boolean", description: "Set or clear the executable bit" },
  },
  required: ["path"],
  additionalProperties: false,
};

const SAVE: Tool = {
  name: "gin_save",
  title: "Save files",
  description:
    "Creates, changes, renames and deletes files, all or nothing. Each edit compares content first: if a file is not what expect says, nothing is written and STALE_CONTENT tells what is there. Answers with the checkpoint and the new sha256 of each path.",
  inputSchema: shape(
    {
      edits: { type: "array", description: "One per path", items: EDIT },
      on_conflict: {
        type: "string",
        enum: ["refuse", "merge"],
        description: "If a file changed since expect: refuse (default) or merge three-way",
      },
      message: { type: "string", description: "Why, for the log" },
      dry_run: { type: "boolean", description: "Judge everything, change nothing" },
      incarnation: { type: "string", description: "Refuse unless the workspace is this incarnation" },
      generation: counter("Refuse if anything in the workspace changed since this generation"),
      epoch: counter("Refuse unless this is the epoch"),
      lease_incarnation: { type: "string", description: "Fence of your lease, with lease_epoch" },
      lease_epoch: counter("Fence of your lease"),
    },
    ["edits"],
  ),
  // It can delete, and a repeated save either replays (same id) or is refused (content compared).
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  request: (args) => {
    const { on_conflict: conflict, ...rest } = args;
    return { save: typeof conflict === "string" ? { ...rest, on_conflict: `ON_CONFLICT_${conflict.toUpperCase()}` } : rest };
  },
  shows: "save",
};

const CALL: Tool = {
  name: "gin_call",
  title: "Any gin request",
  description:
    'Sends one gin.v1.Request: {"OPERATION":{fields}}. Operations without a tool of their own: request_outcome {target_request_id}, acquire_lease {paths, ttl_ms, intent, wait_ms}, renew_lease and release_lease {lease_id, lease_incarnation, lease_epoch}, list_leases, break_lease, list_checkpoints {path, principal, cause, cursor, limit}. Answers with the whole gin.v1.Response.',
  inputSchema: shape(
    {
      request: { type: "object", additionalProperties: true, description: 'As {"request_outcome":{"target_request_id":"rq_…"}}' },
    },
    ["request"],
  ),
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  request: callRequest,
  shows: undefined,
};

/** The tools, in the order they are listed. It never depends on the connection or on what was called before. */
export const TOOLS: readonly Tool[] = [
  read(
    "gin_capabilities",
    "capabilities",
    "What gin supports",
    "Operations, limits and features that this server really has for you.",
    shape({}),
  ),
  read(
    "gin_context",
    "context",
    "Where the workspace stands",
    "State (incarnation, generation, epoch, head), root, leases with your own fences, history, and what changed since a generation. Call it first.",
    shape({
      since_generation: counter("List what changed after this generation"),
      full: { type: "boolean", description: "Longer lists" },
      sections: {
        type: "array",
        description: "Only these; default all",
        items: { type: "string", enum: ["root", "leases", "history", "changes"], description: "A section" },
      },
    }),
  ),
  read(
    "gin_read",
    "read_path",
    "Read a file or directory",
    'A file\'s text (or base64 data) with its sha256, which gin_save takes as expect; or the entries of a directory ("." is the root).',
    shape(
      {
        path: { type: "string", description: "Path in the workspace, with /" },
        snapshot: { type: "string", description: "head (default), base, published or a checkpoint id" },
        content: { type: "boolean", description: "false: hash and size only" },
        start_line: { type: "integer", minimum: 0, description: "First line, from 1" },
        end_line: { type: "integer", minimum: 0, description: "Last line, inclusive" },
        if_hash: { type: "string", description: "sha256 you have: if it still holds, the answer is only unchanged" },
        cursor: CURSOR,
        limit: limit("bytes (of a file) or entries (of a directory)"),
      },
      ["path"],
    ),
  ),
  read(
    "gin_explain",
    "explain",
    "Explain an id or reason",
    "What a checkpoint, lease, workspace, detail or request is (request:ID for requests), or what a reason such as STALE_CONTENT means, and what to do next.",
    shape({ id: { type: "string", description: "An id, request:ID, or a reason" } }, ["id"]),
  ),
  read(
    "gin_details",
    "details",
    "The long list behind an answer",
    "What another answer only counted and named by detail_id. Kept 24 hours.",
    shape({ detail_id: { type: "string", description: "detail_id of an answer" }, cursor: CURSOR, limit: limit("bytes") }, [
      "detail_id",
    ]),
  ),
  SAVE,
  CALL,
];

/** The request of gin_call, which carries an id of its own or takes the argument. */
function callRequest(args: JsonObject): JsonObject {
  const request = isObject(args.request) ? args.request : {};
  const [operation, message] = operationOf(request);
  const outer = args.request_id;
  if (outer === undefined) return request;
  const inner: JsonValue | undefined = message.request_id ?? message.requestId;
  if (inner !== undefined && inner !== "" && inner !== outer) {
    throw new ArgumentError("request_id is given twice and differs", "give it once, in the request or beside it");
  }
  const { requestId: _same, ...rest } = message;
  return { [operation]: { ...rest, request_id: outer } };
}

function operationOf(request: JsonObject): [operation: string, message: JsonObject] {
  try {
    return onlyOperation(request);
  } catch (thrown) {
    if (!(thrown instanceof UsageError)) throw thrown;
    throw new ArgumentError("request must hold exactly one operation", thrown.message);
  }
}
