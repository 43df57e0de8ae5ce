import { isObject, type JsonObject, type JsonValue, onlyOperation, UsageError } from "../../clients/sdk/index.ts";
import { shape } from "./parts.ts";
import { ArgumentError, type Tool } from "./types.ts";

const DESCRIPTION = `Sends one gin.v1.Request, {"OPERATION":{fields}}, and answers with the whole gin.v1.Response. Operations without a tool of their own:
{"undo":{"select":S,"preview":true}} tells what would come back, without preview it is done. S: {"request_id":"rq_…"} or {"checkpoint":"ck_…"} or {"principal":"me","since":"ck_…"} or {"path":"a.txt","checkpoint":"ck_…"} (the path as it was then). skip_conflicts:true leaves out what later work stands on.
{"redo":{"undo":"ck_…"}} brings back what that undo took.
{"list_checkpoints":{"path":"src","principal":"bob","cause":"CAUSE_SAVE"}}: the log.
{"request_outcome":{"target_request_id":"rq_…"}}: what became of a request.
{"acquire_lease":{"paths":["src"],"intent":"why","ttl_ms":600000,"wait_ms":0}}; {"release_lease":{"lease_id":"ls_…","lease_incarnation":"li_…","lease_epoch":"7"}}; renew_lease likewise, with ttl_ms; {"list_leases":{}}.
undo and redo take message and the lease fence as gin_save does.`;

/** Any operation, for what has no tool of its own. */
export const CALL: Tool = {
  name: "gin_call",
  title: "Any gin request",
  description: DESCRIPTION,
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
