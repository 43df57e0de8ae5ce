// The door of listener: one port and one socket that speak Connect, gRPC and gRPC-Web; health, reflection, refusals.

export { callerKey } from "./caller-key.ts";
export { toConnectError } from "./error-detail.ts";
export { DEFAULT_LIMITS } from "./limits.ts";
export { createListener } from "./listener.ts";
export type {
  BoundAddress,
  ClientStats,
  Gate,
  Listener,
  ListenerLimits,
  ListenerOptions,
  ListenerStats,
  RequestHead,
  TcpAddress,
  TlsFiles,
} from "./types.ts";
