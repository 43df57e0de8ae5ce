// The door of the SDK. Loading it costs little: node:http comes with the first call, protobuf with createClient, connect-node with transport(). Exports are pinned by a test.
export { type CallOptions, DEFAULT_TIMEOUT_MS, type Identity } from "./channel.ts";
export type { GinClient, Unary } from "./client.ts";
export { createClient } from "./create.ts";
export { programFile } from "./entry.ts";
export {
  EngineError,
  type ErrorDetail,
  errorDetail,
  isObject,
  type JsonObject,
  type JsonValue,
  NotSentError,
  StartError,
  TransportError,
  UnknownOutcomeError,
  UsageError,
} from "./errors.ts";
export { milliseconds, SESSION_FLAGS, SESSION_HELP, type SessionOptions, sessionOptions } from "./flags.ts";
export type { WatchOptions } from "./follow.ts";
export { type ClientOptions, JsonClient, onlyOperation, type Prepared, prepare } from "./http.ts";
export { mintRequestId } from "./ids.ts";
export { ADMIN_OPERATIONS, OPERATIONS, type OperationInfo, READ_ONLY_TOOLS } from "./operations.ts";
export type { Target, TlsFiles } from "./post.ts";
export { openSession, type Session } from "./session.ts";
export type { StreamOptions } from "./stream.ts";
export { toolEnvelope } from "./tool-envelope.ts";
