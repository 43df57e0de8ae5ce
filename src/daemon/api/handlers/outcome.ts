import { create, fromBinary, type JsonObject, toJson } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  Outcome,
  type RequestOutcomeResponse,
  RequestOutcomeResponseSchema,
  type Response,
  ResponseSchema,
} from "../../../gen/gin/v1/call_pb.ts";
import { ErrorDetailSchema } from "../../../gen/gin/v1/common_pb.ts";
import { type Caller, GinError } from "../../base/index.ts";
import { requireScope } from "../../policy/index.ts";
import type { RequestRow } from "../../store/index.ts";
import { type Ground, type Handlers, type Invocation, stateIn } from "../invocation.ts";
import { JSON_OPTIONS } from "../json-options.ts";
import { isAdmin, keyOfName, methodOf, nameOf, type OperationKey } from "../operations.ts";
import { needRequestId } from "../requests.ts";

/** RequestOutcome: did it happen? */
export function outcomeHandlers(ground: Ground): Pick<Handlers, "requestOutcome"> {
  return {
    requestOutcome(request, call): RequestOutcomeResponse {
      needRequestId(request.targetRequestId, "target_request_id");
      const principal = principalOf(request.principal, call.caller);
      const { store } = ground;
      const common = {
        ...stateIn(call),
        targetRequestId: request.targetRequestId,
        keptSince: timestampFromMs(ground.reader.facts().requestsKeptSinceMs),
      };
      for (const scope of scopesOf(call)) {
        const operation = ground.requests.running(scope, principal, request.targetRequestId);
        if (operation !== undefined) {
          return create(RequestOutcomeResponseSchema, { ...common, outcome: Outcome.IN_PROGRESS, operation });
        }
        const row = store.read.request(scope, principal, request.targetRequestId);
        if (row !== undefined) return create(RequestOutcomeResponseSchema, { ...common, ...outcomeOf(row) });
      }
      return create(RequestOutcomeResponseSchema, { ...common, outcome: Outcome.NOT_FOUND });
    },
  };
}

function principalOf(asked: string, caller: Caller): string {
  if (asked === "" || asked === caller.principal) return caller.principal;
  requireScope(caller, "admin");
  return asked;
}

/** Row ids under which the request may have been kept: the workspace's first, then the host's. */
export function scopesOf(call: Pick<Invocation, "hosted">): number[] {
  return call.hosted === undefined ? [0] : [call.hosted.rowid, 0];
}

/** What a stored row says, in the contract's form. */
function outcomeOf(row: RequestRow) {
  const common = { time: timestampFromMs(row.timeMs), operation: row.operation };
  if (row.outcome === "rejected") {
    return { ...common, outcome: Outcome.REJECTED, error: fromBinary(ErrorDetailSchema, row.answer) };
  }
  const key = keyOfName(row.operation);
  if (key === undefined) throw new GinError("STORE_CORRUPT", `the store names an operation that is not one: ${row.operation}`);
  const answer = fromBinary(methodOf(key).output, row.answer);
  return isAdmin(key)
    ? { ...common, outcome: Outcome.COMMITTED, adminResponse: toJson(methodOf(key).output, answer, JSON_OPTIONS) as JsonObject }
    : { ...common, outcome: Outcome.COMMITTED, response: inResponse(key, answer) };
}

/** An operation's answer as a field of Response. */
export function inResponse(key: OperationKey, answer: unknown): Response {
  // The case and the message come from one table row, which the descriptors test compares with Response's fields.
  return create(ResponseSchema, { result: { case: key, value: answer } as Response["result"] });
}

/** The name of an operation that is kept under a request id, e.g. for Explain. */
export function operationTitle(row: RequestRow): string {
  const key = keyOfName(row.operation);
  return key === undefined ? row.operation : nameOf(key);
}
