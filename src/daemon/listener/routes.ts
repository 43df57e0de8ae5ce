import type { DescService } from "@bufbuild/protobuf";
import { ConnectError, type ConnectRouter, createConnectRouter, createContextKey, type Interceptor } from "@connectrpc/connect";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import { compressionGzip } from "@connectrpc/connect-node";
import { GinError, type Log, toGinError } from "../base/index.ts";
import { toConnectError } from "./error-detail.ts";
import type { JsonBody } from "./json-body.ts";
import type { ListenerLimits } from "./types.ts";
import { JSON_OPTIONS } from "./wire.ts";

/** What serves one path. */
export interface Route {
  readonly handler: UniversalHandler;
  /** Bytes of one message. */
  readonly limit: number;
}

/** Everything that is served. */
export interface Routes {
  /** By "/gin.v1.GinService/Save". */
  readonly byPath: ReadonlyMap<string, Route>;
  readonly services: readonly DescService[];
}

/** How to build them. */
export interface RoutesOptions {
  readonly limits: ListenerLimits;
  readonly largePaths: ReadonlySet<string>;
  readonly log: Log;
  /** Called once, with the router to register services on. */
  readonly register: (router: ConnectRouter) => void;
}

/** Where a JSON request's bytes are found until it is decoded. */
export const jsonBodyKey = createContextKey<JsonBody | undefined>(undefined, { description: "gin JSON body" });

/** A timeout above this would overflow a timer and pass at once. */
const MAX_TIMEOUT_MS = 0x7fff_ffff;

/**
 * Registers every service twice, with the small and with the large message limit, and picks by path: connect-node knows
 * one limit a registration, not one a method.
 */
export function buildRoutes({ limits, largePaths, log, register }: RoutesOptions): Routes {
  const services: DescService[] = [];
  const common = {
    // gzip alone: a brotli bomb of 1.6 kB becomes gigabytes.
    acceptCompression: [compressionGzip],
    jsonOptions: JSON_OPTIONS,
    maxTimeoutMs: MAX_TIMEOUT_MS,
  };
  const small = createConnectRouter({ ...common, readMaxBytes: limits.readMaxBytes });
  const large = createConnectRouter({ ...common, readMaxBytes: limits.readMaxBytesLarge });
  const first = settleErrors(log);
  const router: ConnectRouter = {
    handlers: small.handlers,
    service(service, implementation, options) {
      services.push(service);
      const merged = { ...options, interceptors: [first, ...(options?.interceptors ?? [])] };
      small.service(service, implementation, merged);
      large.service(service, implementation, merged);
      return router;
    },
    rpc(method, implementation, options) {
      const merged = { ...options, interceptors: [first, ...(options?.interceptors ?? [])] };
      small.rpc(method, implementation, merged);
      large.rpc(method, implementation, merged);
      return router;
    },
  };
  register(router);
  const byPath = new Map<string, Route>();
  for (const handler of small.handlers) {
    if (!largePaths.has(handler.requestPath)) byPath.set(handler.requestPath, { handler, limit: limits.readMaxBytes });
  }
  for (const handler of large.handlers) {
    if (largePaths.has(handler.requestPath)) byPath.set(handler.requestPath, { handler, limit: limits.readMaxBytesLarge });
  }
  return { byPath, services };
}

/** The outermost interceptor: whatever a handler throws leaves as a ConnectError with an ErrorDetail. */
function settleErrors(log: Log): Interceptor {
  return (next) => async (request) => {
    try {
      checkNumbers(request.contextValues.get(jsonBodyKey));
      const response = await next(request);
      return response.stream ? { ...response, message: guarded(response.message, request.signal, log) } : response;
    } catch (thrown) {
      throw outgoing(thrown, log);
    }
  };
}

/** It is decoded by now: numbers are looked at, then the bytes are let go. */
function checkNumbers(json: JsonBody | undefined): void {
  if (json === undefined) return;
  const unsafe = json.hasUnsafeInteger();
  json.drop();
  if (unsafe) throw new GinError("INVALID_REQUEST", "a number is beyond 2^53", "send 64-bit integers as strings");
}

/** A stream whose errors are settled too, and which ends when its request is aborted even if its handler does not. */
async function* guarded<T>(messages: AsyncIterable<T>, signal: AbortSignal, log: Log): AsyncGenerator<T> {
  const iterator = messages[Symbol.asyncIterator]();
  let stop = () => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop);
  });
  aborted.catch(() => {});
  try {
    for (;;) {
      const result = await Promise.race([iterator.next(), aborted]);
      if (result.done === true) return;
      yield result.value;
    }
  } catch (thrown) {
    throw outgoing(thrown, log);
  } finally {
    signal.removeEventListener("abort", stop);
    // Not awaited: a handler that hangs must not hold the stream.
    iterator.return?.().catch((cause: unknown) => log.debug({ err: cause }, "a stream's handler failed while it ended"));
  }
}

function outgoing(thrown: unknown, log: Log): ConnectError {
  if (thrown instanceof ConnectError) return thrown;
  const error = toGinError(thrown);
  if (error.reason === "INTERNAL") log.error({ err: error.cause ?? error }, "a handler failed");
  return toConnectError(error);
}
