import { create, type JsonObject, toBinary } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { type ErrorDetail, ErrorDetailSchema } from "../../gen/gin/v1/common_pb.ts";
import { type GinError, REASONS } from "../base/index.ts";

/** Bytes of an ErrorDetail that fit in gRPC trailers with room for the rest: clients commonly allow 8 KiB of them. */
const TRAILER_BYTES = 4_096;

/** The contract's form of a refusal: what `Response.error` and a Connect error carry. */
export function toErrorDetail(error: GinError): ErrorDetail {
  return create(ErrorDetailSchema, {
    reason: error.reason,
    message: error.message,
    suggestion: error.suggestion,
    retryable: error.retryable,
    retryAfterMs: BigInt(Math.max(0, Math.round(error.retryAfterMs))),
    facts: error.facts as JsonObject,
    ...(error.nextCall === undefined ? {} : { nextCall: error.nextCall as JsonObject }),
    detailId: error.detailId ?? "",
  });
}

/** The transport's form: the reason's Connect code and one ErrorDetail. */
export function toConnectError(error: GinError, detail: ErrorDetail = toErrorDetail(error)): ConnectError {
  return new ConnectError(error.message, REASONS[error.reason].code, undefined, [{ desc: ErrorDetailSchema, value: detail }]);
}

/** Whether a detail is too big for a gRPC trailer, where it must be cut down to a detail id. */
export function exceedsTrailer(detail: ErrorDetail): boolean {
  return toBinary(ErrorDetailSchema, detail).byteLength > TRAILER_BYTES;
}
