import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { type ErrorDetail, ErrorDetailSchema } from "../../gen/gin/v1/common_pb.ts";
import { type GinError, type Json, REASONS } from "../base/index.ts";

/** The ErrorDetail message of a GinError. Its cause stays here. */
export function toErrorDetail(error: GinError): ErrorDetail {
  const detail = create(ErrorDetailSchema, {
    reason: error.reason,
    message: error.message,
    suggestion: error.suggestion,
    retryable: error.retryable,
    retryAfterMs: BigInt(Math.max(0, Math.ceil(error.retryAfterMs))),
    facts: structOf(error.facts),
    detailId: error.detailId ?? "",
  });
  if (error.nextCall !== undefined) detail.nextCall = structOf(error.nextCall);
  return detail;
}

/** The error as Connect, gRPC and gRPC-Web carry it: the reason's code, the message, and an ErrorDetail. */
export function toConnectError(error: GinError): ConnectError {
  const detail = { desc: ErrorDetailSchema, value: toErrorDetail(error) };
  return new ConnectError(error.message, REASONS[error.reason].code, undefined, [detail], error);
}

/** A mutable copy, as generated Struct fields are typed. */
function structOf(value: { readonly [key: string]: Json }): JsonObject {
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plain(inner)]));
}

function plain(value: Json): JsonValue {
  if (value === null || typeof value !== "object") return value;
  if (isList(value)) return value.map(plain);
  return structOf(value);
}

function isList(value: object): value is readonly Json[] {
  return Array.isArray(value);
}
