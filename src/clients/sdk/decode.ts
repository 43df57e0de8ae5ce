import { fromBinary, toJson } from "@bufbuild/protobuf";
import { ErrorDetailSchema } from "../../gen/gin/v1/common_pb.ts";
import type { JsonValue } from "./errors.ts";

/**
 * `gin.v1.ErrorDetail` from its bytes, in the JSON the daemon would have sent. Loaded only for an error whose Connect detail came without
 * its `debug` form, because protobuf costs a short-lived client more than the call itself. Throws on bytes that are no such message.
 */
export function decodeErrorDetail(bytes: Uint8Array): JsonValue {
  return toJson(ErrorDetailSchema, fromBinary(ErrorDetailSchema, bytes), {
    useProtoFieldName: true,
    alwaysEmitImplicit: true,
  }) as JsonValue;
}
