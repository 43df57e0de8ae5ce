import type { ConnectRouter } from "@connectrpc/connect";
import type { Caller, Clock, Log } from "../base/index.ts";

/** What is known of a request before a byte of its body is read. */
export interface RequestHead {
  readonly transport: Caller["transport"];
  /** "/gin.v1.GinService/Save", without a query. */
  readonly path: string;
  /** Values by names in lower case; fields given twice are joined, as Headers does. */
  readonly headers: Pick<Headers, "get">;
  /** IP address of the peer, or "socket": for counting failures and for logs. */
  readonly remoteAddress: string;
}

/** Who may come in. */
export interface Gate {
  /** Finds out who calls; throws GinError UNAUTHENTICATED, TOKEN_EXPIRED, UNSUPPORTED or INVALID_REQUEST. */
  admit(head: RequestHead): Caller;
}

/** Bounds of every listener. All have defaults; tests shorten the times. */
export interface ListenerLimits {
  /** Bytes of one message, decompressed: 4 MiB. */
  readonly readMaxBytes: number;
  /** The same for the paths in `ListenerOptions.largePaths`: 16 MiB. */
  readonly readMaxBytesLarge: number;
  /** Open connections of one address: 512. More are closed at once. */
  readonly maxConnections: number;
  /** HTTP/2 sessions of one address: 256. */
  readonly maxSessions: number;
  /** Streams open in one session: 64. */
  readonly maxStreams: number;
  /** Bytes of a header list: 16 KiB. */
  readonly maxHeaderBytes: number;
  /** Pairs of a header list: 64. */
  readonly maxHeaderPairs: number;
  /** Resets by the peer after which a session that resets faster than `resetsPerSecond` is destroyed: 200. */
  readonly resetsTotal: number;
  /** Resets in one second: 50. */
  readonly resetsPerSecond: number;
  /** Until the first three bytes show the protocol, or the TLS handshake ends: 5 s. */
  readonly sniffMs: number;
  /** Until all headers of an HTTP/1 request are there: 10 s. */
  readonly headersMs: number;
  /** Until the whole body of a request that is not a stream is there: 120 s. */
  readonly bodyMs: number;
  /** Between two requests on an HTTP/1 connection: 75 s. */
  readonly keepAliveMs: number;
  /** Without any traffic on an HTTP/2 session that runs nothing: 300 s. */
  readonly idleMs: number;
  /** For the peer to take what it was sent: 60 s. */
  readonly stallMs: number;
  /** How often certificate files are looked at: 5 s. */
  readonly tlsPollMs: number;
}

/** How to make a listener. */
export interface ListenerOptions {
  /** Registers the services, once. GinErrors they throw travel with their ErrorDetail. */
  readonly routes: (router: ConnectRouter) => void;
  readonly gate: Gate;
  readonly log: Log;
  readonly clock: Clock;
  readonly limits?: Partial<ListenerLimits>;
  /** Paths that take large messages. Default: Save, Call and CallTool of gin.v1.GinService. */
  readonly largePaths?: ReadonlySet<string>;
  /** Value of the answers' `gin-server`, e.g. "gin/0.1.0". Default "gin". */
  readonly server?: string;
  /** Value of the answers' `gin-protocol`. Default 1. */
  readonly protocol?: number;
  /** More names for the Host check of TCP: "name" (with the port listened on) or "name:port". */
  readonly allowHosts?: readonly string[];
  /** Origins that browsers may call from, exactly as the header spells them. Default none. */
  readonly allowOrigins?: readonly string[];
}

/** TLS of a TCP address: files, so that they can be read again when they change. */
export interface TlsFiles {
  readonly certFile: string;
  /** Under the rules of token files: 0600, ours. */
  readonly keyFile: string;
  /** When given, clients must show a certificate signed by it. */
  readonly clientCaFile?: string;
}

/** Where to listen. */
export interface TcpAddress {
  /** IP address or "localhost". Anything beyond loopback needs `tls`. */
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  readonly tls?: TlsFiles;
}

/** An address that is really listened on. */
export interface BoundAddress {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  /** "http://127.0.0.1:7400". */
  readonly url: string;
}

/** What is going on. */
export interface ListenerStats {
  /** Open sockets, both protocols. */
  readonly connections: number;
  /** HTTP/2 sessions. */
  readonly sessions: number;
  /** Requests admitted and not yet answered to the end. */
  readonly running: number;
}

/** One connection with whoever speaks over it. */
export interface ClientStats {
  /** "NAME/VERSION", as it says itself. */
  readonly client: string;
  /** Of its last request. */
  readonly principal: string;
  readonly transport: Caller["transport"];
  /** Since its first request. */
  readonly connectedMs: number;
  /** Admitted so far. */
  readonly requests: number;
  /** Not yet answered to the end, streams included. */
  readonly running: number;
  /** Since its last request ended; 0 while one runs. */
  readonly idleMs: number;
}

/** Serves Connect, gRPC and gRPC-Web on each address it listens on, with health and reflection. */
export interface Listener {
  /**
   * Binds a Unix socket under a temporary name beside `path`, makes it 0600 and renames it into place, replacing what
   * is there. The caller owns the directory (0700) and holds the daemon's lock. Throws GinError INVALID_REQUEST, IO_FAILED.
   */
  listenSocket(path: string): Promise<void>;
  /** Throws GinError INVALID_REQUEST (beyond loopback without TLS, bad PEM, bad files), IO_FAILED with errno EADDRINUSE, …. */
  listenTcp(address: TcpAddress): Promise<BoundAddress>;
  /** What health tells. False until it is set. */
  setServing(serving: boolean): void;
  /** Aborts the signals of every request a token runs, and ends its streams with UNAUTHENTICATED. */
  endToken(tokenId: string): void;
  /** Reads the certificate files again; a bad one keeps the old and is logged. Also done by itself when they change. */
  reloadTls(): void;
  stats(): ListenerStats;
  /** Who is connected and had a request admitted, in the order they came. */
  clients(): ClientStats[];
  /**
   * Stops listening (the socket's name goes away), answers new requests on open connections with BUSY, ends streams with it, and
   * waits for running requests at most `ms`. Gives true when all ended.
   */
  drain(ms: number): Promise<boolean>;
  /** Ends everything at once; idempotent. */
  close(): Promise<void>;
}
