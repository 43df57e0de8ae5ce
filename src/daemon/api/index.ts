// The door of api: what an admitted caller's request goes through.

export { createApi } from "./api.ts";
export { toConnectError, toErrorDetail } from "./errors.ts";
export { PROTOCOL } from "./handlers/capabilities.ts";
export { JSON_OPTIONS } from "./json-options.ts";
export { LIMITS, type LimitInfo, type LimitName } from "./limits.ts";
export {
  fieldOf,
  isAdmin,
  nameOf,
  OPERATION_KEYS,
  OPERATIONS,
  type Operation,
  type OperationKey,
  STREAM_KEYS,
  STREAMS,
  type StreamKey,
} from "./operations.ts";
export type * from "./types.ts";
