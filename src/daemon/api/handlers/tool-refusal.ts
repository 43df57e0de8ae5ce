import { create, type JsonObject } from "@bufbuild/protobuf";
import { type CallToolRequest, type CallToolResponse, CallToolResponseSchema } from "../../../gen/gin/v1/tool_pb.ts";
import type { GinError } from "../../base/index.ts";
import { codeOf } from "../../tools/index.ts";

/** A refusal as the tool envelope says it: part of the answer, with a code always. */
export function refusedAnswer(request: CallToolRequest, error: GinError): CallToolResponse {
  return create(CallToolResponseSchema, {
    ok: false,
    error: error.message,
    errorCode: codeOf(error),
    suggestion: error.suggestion,
    requestId: request.requestId,
    facts: {
      reason: error.reason,
      ...error.facts,
      ...(error.detailId === undefined ? {} : { detail_id: error.detailId }),
      ...(error.retryAfterMs === 0 ? {} : { retry_after_ms: String(error.retryAfterMs) }),
    } as JsonObject,
    ...(error.nextCall === undefined ? {} : { nextCall: error.nextCall as JsonObject }),
  });
}
