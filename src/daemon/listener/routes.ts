import type { DescService } from "@bufbuild/protobuf";
import {
  type ConnectRouter,
  createConnectRouter,
  createMethodImplSpec,
  createServiceImplSpec,
  type MethodImplSpec,
} from "@connectrpc/connect";
import type { UniversalHandler, UniversalHandlerOptions } from "@connectrpc/connect/protocol";
import { compressionGzip } from "@connectrpc/connect-node";
import type { Log } from "../base/index.ts";
import { settleErrors } from "./settle.ts";
import type { ListenerLimits } from "./types.ts";
import { type Unary, unaryOf } from "./unary.ts";
import { JSON_OPTIONS } from "./wire.ts";

/** What serves one path. */
export interface Route {
  readonly handler: UniversalHandler;
  /** The same for a plain Connect call of one message each way; undefined where only `handler` will do. */
  readonly unary: Unary | undefined;
  /** It sends until it is ended, rather than once. */
  readonly stream: boolean;
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

/** A timeout above this would overflow a timer and pass at once. */
export const MAX_TIMEOUT_MS = 0x7fff_ffff;

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
  const unaries = new Map<string, Unary | undefined>();
  const note = (spec: MethodImplSpec, options: Partial<UniversalHandlerOptions> | undefined) => {
    const path = `/${spec.method.parent.typeName}/${spec.method.name}`;
    const readMaxBytes = largePaths.has(path) ? limits.readMaxBytesLarge : limits.readMaxBytes;
    // A later registration of a path is the one that serves, here as with the handlers.
    unaries.set(path, unaryOf(spec, { jsonOptions: JSON_OPTIONS, readMaxBytes, ...options }));
  };
  const router: ConnectRouter = {
    handlers: small.handlers,
    service(service, implementation, options) {
      services.push(service);
      const merged = { ...options, interceptors: [first, ...(options?.interceptors ?? [])] };
      small.service(service, implementation, merged);
      large.service(service, implementation, merged);
      for (const spec of Object.values(createServiceImplSpec(service, implementation).methods)) note(spec, options);
      return router;
    },
    rpc(method, implementation, options) {
      const merged = { ...options, interceptors: [first, ...(options?.interceptors ?? [])] };
      small.rpc(method, implementation, merged);
      large.rpc(method, implementation, merged);
      note(createMethodImplSpec(method, implementation), options);
      return router;
    },
  };
  register(router);
  const byPath = new Map<string, Route>();
  const add = (handler: UniversalHandler, limit: number) => {
    const unary = unaries.get(handler.requestPath);
    byPath.set(handler.requestPath, { handler, unary, stream: handler.method.methodKind === "server_streaming", limit });
  };
  for (const handler of small.handlers) if (!largePaths.has(handler.requestPath)) add(handler, limits.readMaxBytes);
  for (const handler of large.handlers) if (largePaths.has(handler.requestPath)) add(handler, limits.readMaxBytesLarge);
  return { byPath, services };
}
