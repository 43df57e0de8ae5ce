import { errnoOf, GinError, toGinError } from "../base/index.ts";
import { Clients } from "./clients.ts";
import { Endpoint } from "./endpoint.ts";
import { Handler, type Where } from "./handler.ts";
import { Serving } from "./health.ts";
import { anyHost, hostCheck, isLoopback } from "./hosts.ts";
import { DEFAULT_LIMITS, LARGE_PATHS } from "./limits.ts";
import { registerReflection } from "./reflection.ts";
import { buildRoutes } from "./routes.ts";
import { Running } from "./running.ts";
import { keepText } from "./text-encoding.ts";
import { loadTls, TlsKeeper } from "./tls.ts";
import type { BoundAddress, Listener, ListenerOptions, TcpAddress } from "./types.ts";
import { type SocketName, socketName } from "./unix-socket.ts";

/** Makes a listener; it listens nowhere until told. Health says NOT_SERVING until told otherwise. */
export function createListener(options: ListenerOptions): Listener {
  keepText();
  const { gate, log, clock } = options;
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const answerHeaders = { "gin-protocol": String(options.protocol ?? 1), "gin-server": options.server ?? "gin" };
  const serving = new Serving();
  const running = new Running();
  const clients = new Clients(clock);
  const endpoints: Endpoint[] = [];
  const names: SocketName[] = [];
  const keepers: TlsKeeper[] = [];
  let draining = false;

  const routes = buildRoutes({
    limits,
    largePaths: options.largePaths ?? LARGE_PATHS,
    log,
    register: (router) => {
      options.routes(router);
      serving.register(router);
    },
  });
  const withReflection = buildReflection(routes.services);
  const allowOrigins = new Set(options.allowOrigins ?? []);
  const handler = new Handler({
    routes: { byPath: new Map([...routes.byPath, ...withReflection]), services: routes.services },
    gate,
    log,
    clock,
    limits,
    running,
    clients,
    allowOrigins,
    answerHeaders,
    draining: () => draining,
  });

  function buildReflection(services: (typeof routes)["services"]) {
    const register = (router: Parameters<typeof registerReflection>[0]) => registerReflection(router, services);
    return buildRoutes({ limits, largePaths: new Set(), log, register }).byPath;
  }

  return {
    async listenSocket(path) {
      const name = socketName(path);
      const where: Where = { transport: "socket", hostAllowed: anyHost };
      const endpoint = new Endpoint({ handler, limits, clock, log, answerHeaders, where: () => where, tls: undefined });
      await bind(endpoint, { path: name.temporary });
      endpoints.push(endpoint);
      name.publish();
      names.push(name);
    },

    async listenTcp(address) {
      if (address.tls === undefined && !isLoopback(address.host)) throw beyondLoopback();
      const tls = address.tls === undefined ? undefined : loadTls(address.tls);
      let where: Where = { transport: "tcp", hostAllowed: () => false };
      const endpoint = new Endpoint({ handler, limits, clock, log, answerHeaders, where: () => where, tls });
      await bind(endpoint, { host: address.host, port: address.port });
      endpoints.push(endpoint);
      const bound = boundAddress(endpoint, address);
      const hostAllowed = hostCheck(bound.host, bound.port, bound.tls, options.allowHosts ?? []);
      where = { transport: "tcp", hostAllowed };
      if (address.tls !== undefined && "setSecureContext" in endpoint.server) {
        keepers.push(new TlsKeeper(endpoint.server, address.tls, clock, log, limits.tlsPollMs));
      }
      return bound;
    },

    setServing: (value) => serving.set(value),
    endToken: (tokenId) => running.endToken(tokenId),
    reloadTls: () => {
      for (const keeper of keepers) keeper.reload();
    },

    stats: () => ({
      connections: endpoints.reduce((sum, endpoint) => sum + endpoint.connections, 0),
      sessions: endpoints.reduce((sum, endpoint) => sum + endpoint.sessions.size, 0),
      running: running.size,
    }),

    clients: () => clients.list(),

    drain(ms) {
      draining = true;
      serving.set(false);
      for (const name of names.splice(0)) name.remove();
      for (const endpoint of endpoints) endpoint.stopAccepting();
      running.endStreams(new GinError("BUSY", "the daemon is draining", "open the stream again with its last cursor"));
      return new Promise((resolve) => {
        const cancel = clock.after(ms, () => resolve(false));
        running.whenIdle(() => {
          cancel();
          resolve(true);
        });
      });
    },

    async close() {
      draining = true;
      serving.set(false);
      for (const name of names.splice(0)) name.remove();
      for (const keeper of keepers.splice(0)) keeper.stop();
      await Promise.all(endpoints.map((endpoint) => endpoint.close()));
    },
  };
}

async function bind(
  endpoint: Endpoint,
  at: { readonly path: string } | { readonly host: string; readonly port: number },
): Promise<void> {
  try {
    await endpoint.listen({ ...at });
  } catch (thrown) {
    await endpoint.close();
    const errno = errnoOf(thrown);
    if (errno !== "EADDRINUSE" && errno !== "EADDRNOTAVAIL" && errno !== "EACCES") throw toGinError(thrown);
    const what = errno === "EADDRINUSE" ? "is taken" : "cannot be had";
    throw new GinError("IO_FAILED", `the address to listen on ${what} (${errno})`, "listen on another", {
      cause: thrown,
      facts: { errno },
    });
  }
}

function boundAddress(endpoint: Endpoint, asked: TcpAddress): BoundAddress {
  const real = endpoint.server.address();
  if (real === null || typeof real === "string") throw new GinError("INTERNAL", "an address has no port");
  const tls = asked.tls !== undefined;
  const literal = real.address.includes(":") ? `[${real.address}]` : real.address;
  return { host: real.address, port: real.port, tls, url: `${tls ? "https" : "http"}://${literal}:${real.port}` };
}

function beyondLoopback(): GinError {
  return new GinError(
    "INVALID_REQUEST",
    "listening beyond loopback needs TLS",
    "pass --tls-cert FILE and --tls-key FILE, or listen on 127.0.0.1",
    { facts: { field: "listen" } },
  );
}
