import type { ListenerLimits } from "./types.ts";

const MIB = 1024 * 1024;

/** The limits when nothing else is said; what each one means stands at ListenerLimits. */
export const DEFAULT_LIMITS: ListenerLimits = {
  readMaxBytes: 4 * MIB,
  readMaxBytesLarge: 16 * MIB,
  maxConnections: 512,
  maxSessions: 256,
  maxStreams: 64,
  maxHeaderBytes: 16 * 1024,
  maxHeaderPairs: 64,
  resetsTotal: 200,
  resetsPerSecond: 50,
  sniffMs: 5_000,
  headersMs: 10_000,
  bodyMs: 120_000,
  keepAliveMs: 75_000,
  idleMs: 300_000,
  stallMs: 60_000,
  tlsPollMs: 5_000,
};

/** RPCs whose messages carry contents. */
export const LARGE_PATHS: ReadonlySet<string> = new Set(
  ["Save", "Call", "CallTool"].map((method) => `/gin.v1.GinService/${method}`),
);
