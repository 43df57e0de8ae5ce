import type { Caller, Clock } from "../base/index.ts";
import type { NodeServerRequest } from "./node.ts";
import type { ClientStats } from "./types.ts";

/** What carries a client's requests: the socket of HTTP/1, the session of HTTP/2. */
type Carrier = NodeJS.EventEmitter;

interface Entry {
  /** Of its last request: a connection may speak for several. */
  caller: Caller;
  readonly sinceMs: number;
  lastMs: number;
  requests: number;
  running: number;
}

/** Who is connected: a row for each connection that had a request admitted, for as long as it is open; as bounded as connections are. */
export class Clients {
  readonly #clock: Clock;
  readonly #entries = new Map<Carrier, Entry>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts an admitted request; the returned function says that it is over. */
  began(request: NodeServerRequest, caller: Caller): () => void {
    const entry = this.#entryOf(request, caller);
    if (entry === undefined) return () => {};
    entry.caller = caller;
    entry.requests += 1;
    entry.running += 1;
    entry.lastMs = this.#clock.monotonicMs();
    return () => {
      entry.running -= 1;
      entry.lastMs = this.#clock.monotonicMs();
    };
  }

  /** Everybody, in the order they came. */
  list(): ClientStats[] {
    const now = this.#clock.monotonicMs();
    return [...this.#entries.values()].map(({ caller, sinceMs, lastMs, requests, running }) => ({
      client: caller.client,
      principal: caller.principal,
      transport: caller.transport,
      connectedMs: now - sinceMs,
      requests,
      running,
      idleMs: running > 0 ? 0 : now - lastMs,
    }));
  }

  #entryOf(request: NodeServerRequest, caller: Caller): Entry | undefined {
    const carrier = carrierOf(request);
    if (carrier === undefined) return undefined;
    const known = this.#entries.get(carrier);
    if (known !== undefined) return known;
    const now = this.#clock.monotonicMs();
    const entry: Entry = { caller, sinceMs: now, lastMs: now, requests: 0, running: 0 };
    this.#entries.set(carrier, entry);
    carrier.once("close", () => this.#entries.delete(carrier));
    return entry;
  }
}

/** Undefined when it is gone already: its "close" is over, and would never take the row away. */
function carrierOf(request: NodeServerRequest): Carrier | undefined {
  if (!("stream" in request)) return request.socket.destroyed ? undefined : request.socket;
  const { session } = request.stream;
  return session === undefined || session.destroyed ? undefined : session;
}
