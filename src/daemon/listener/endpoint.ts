import { createServer as createHttp, type Server as HttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createHttp2, type Http2Server } from "node:http2";
import { createServer as createNet, type ListenOptions, type Server, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { createServer as createTls, type SecureContextOptions, type Server as TlsServer } from "node:tls";
import type { Clock, Log } from "../base/index.ts";
import type { Handler, Where } from "./handler.ts";
import { refuseRaw } from "./raw-refusal.ts";
import { Sessions } from "./sessions.ts";
import { sniff } from "./sniff.ts";
import type { ListenerLimits } from "./types.ts";

/** What an address is made of. */
export interface EndpointOptions {
  readonly handler: Handler;
  readonly limits: ListenerLimits;
  readonly clock: Clock;
  readonly log: Log;
  readonly answerHeaders: Readonly<Record<string, string>>;
  /** Asked at each request, since the port is known only once it is bound. */
  readonly where: () => Where;
  readonly tls: SecureContextOptions | undefined;
}

/** A stream may be silent for hours: the kernel finds out whether its peer is still there. */
const ALIVE = { keepAlive: true, keepAliveInitialDelay: 60_000 };

/**
 * One address: the server that accepts, and an HTTP/1 and an HTTP/2 server that never listen and are handed its
 * connections, by the first bytes in clear text or by ALPN under TLS.
 */
export class Endpoint {
  readonly server: Server | TlsServer;
  readonly sessions: Sessions;
  readonly #http: HttpServer;
  readonly #http2: Http2Server;
  readonly #sockets = new Set<Socket>();
  readonly #options: EndpointOptions;

  constructor(options: EndpointOptions) {
    this.#options = options;
    this.#http = this.#createHttp();
    this.#http2 = this.#createHttp2();
    this.sessions = new Sessions(this.#http2, options.limits, options.clock, options.log);
    this.server = options.tls === undefined ? this.#acceptPlain() : this.#acceptTls(options.tls);
    this.server.maxConnections = options.limits.maxConnections;
    this.server.on("connection", (socket) => this.#track(socket));
    // Node starts the timer behind headersTimeout and requestTimeout at this event alone.
    this.#http.emit("listening");
  }

  get connections(): number {
    return this.#sockets.size;
  }

  /** Resolves when bound; rejects with Node's error. */
  listen(at: ListenOptions): Promise<void> {
    return new Promise((resolve, reject) => {
      this.server.once("error", reject);
      this.server.listen(at, () => {
        this.server.removeListener("error", reject);
        this.server.on("error", (cause) => this.#options.log.error({ err: cause }, "an address failed"));
        resolve();
      });
    });
  }

  /** Accepts nothing more; idle connections end, busy ones finish. */
  stopAccepting(): void {
    this.server.close();
    this.sessions.closeGently();
    this.#http.closeIdleConnections();
  }

  /** Ends every connection; idempotent. */
  async close(): Promise<void> {
    const ends = [...this.#sockets].map((socket) => new Promise((resolve) => socket.once("close", resolve)));
    if (this.server.listening) ends.push(new Promise((resolve) => this.server.close(resolve)));
    this.#http.close();
    this.#http2.close();
    // closeAllConnections knows the HTTP/1 half only.
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all(ends);
  }

  #track(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
    socket.on("error", (cause) => this.#options.log.debug({ err: cause }, "a connection broke"));
  }

  #acceptPlain(): Server {
    const { clock, limits } = this.#options;
    return createNet({ allowHalfOpen: true, noDelay: true, ...ALIVE }, (socket) => {
      sniff(socket, { http: this.#http, http2: this.#http2, clock, withinMs: limits.sniffMs });
    });
  }

  #acceptTls(context: SecureContextOptions): TlsServer {
    const { limits, log } = this.#options;
    const options = {
      ...context,
      ALPNProtocols: ["h2", "http/1.1"],
      handshakeTimeout: limits.sniffMs,
      requestCert: context.ca !== undefined,
      rejectUnauthorized: context.ca !== undefined,
      noDelay: true,
      ...ALIVE,
    };
    const server = createTls(options, (socket) => {
      socket.on("error", (cause) => log.debug({ err: cause }, "a connection broke"));
      (socket.alpnProtocol === "h2" ? this.#http2 : this.#http).emit("connection", socket);
    });
    server.on("tlsClientError", (cause, socket) => {
      log.debug({ err: cause }, "a TLS handshake failed");
      socket.destroy();
    });
    return server;
  }

  #createHttp(): HttpServer {
    const { handler, limits, where, answerHeaders } = this.#options;
    const server = createHttp(
      {
        maxHeaderSize: limits.maxHeaderBytes,
        headersTimeout: limits.headersMs,
        // A backstop: the body's own limit answers first.
        requestTimeout: limits.bodyMs + limits.headersMs,
        keepAliveTimeout: limits.keepAliveMs,
        connectionsCheckingInterval: Math.min(1000, Math.ceil(limits.headersMs / 2)),
        // Without a Host the request is answered by our own check, which explains itself.
        requireHostHeader: false,
      },
      (request, response) => serve(request, response, () => {}),
    );
    const answering = new Answering();
    const serve = (request: IncomingMessage, response: ServerResponse, sendContinue: () => void) => {
      answering.add(response, request.socket);
      handler.handle(request, response, where(), sendContinue);
    };
    const headers = Object.entries(answerHeaders)
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join("");
    server.on("checkContinue", (request, response) => {
      serve(request, response, () => response.writeContinue());
    });
    server.on("checkExpectation", (request, response) => serve(request, response, () => {}));
    server.on("connect", (_request, socket) => refuseRaw(socket, "CONNECT", limits.maxHeaderBytes, headers));
    server.on("clientError", (cause: NodeJS.ErrnoException, socket) => {
      // A peer that is gone reads nothing, and another answer's middle is no place for words.
      if ("syscall" in cause || answering.has(socket)) socket.destroy();
      else refuseRaw(socket, cause.code ?? "", limits.maxHeaderBytes, headers);
    });
    return server;
  }

  #createHttp2(): Http2Server {
    const { handler, limits, where } = this.#options;
    const server = createHttp2({
      // Room for the pseudo-headers beside the pairs that are counted.
      maxHeaderListPairs: limits.maxHeaderPairs + 4,
      // MB a session may hold: a few of the largest messages at once; Node's 10 would end a session over one.
      maxSessionMemory: 64,
      maxSessionInvalidFrames: 100,
      maxSessionRejectedStreams: 100,
      settings: { maxConcurrentStreams: limits.maxStreams, maxHeaderListSize: limits.maxHeaderBytes, enablePush: false },
    });
    server.on("request", (request, response) => handler.handle(request, response, where(), () => {}));
    server.on("connect", (request, response) => handler.handle(request, response, where(), () => {}));
    server.on("checkContinue", (request, response) => {
      handler.handle(request, response, where(), () => {
        if (!response.stream.destroyed) response.writeContinue();
      });
    });
    server.on("sessionError", (cause) => this.#options.log.debug({ err: cause }, "an HTTP/2 session failed"));
    return server;
  }
}

/** Connections with an HTTP/1 answer under way. */
class Answering {
  readonly #counts = new WeakMap<Duplex, number>();

  add(response: ServerResponse, socket: Duplex): void {
    this.#counts.set(socket, (this.#counts.get(socket) ?? 0) + 1);
    response.once("close", () => this.#counts.set(socket, (this.#counts.get(socket) ?? 1) - 1));
  }

  has(socket: Duplex): boolean {
    return (this.#counts.get(socket) ?? 0) > 0;
  }
}
