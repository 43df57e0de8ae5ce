import type { Http2Server, ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import type { Clock, Log } from "../base/index.ts";
import type { ListenerLimits } from "./types.ts";

/** For the peer of an idle session to close its side. */
const GOODBYE_MS = 1_000;

/**
 * Watches over the HTTP/2 sessions of one server: how many, how fast they reset streams, how long they idle. Node
 * closes a session that floods with resets but keeps its socket, so they are counted and destroyed here.
 */
export class Sessions {
  readonly #open = new Set<ServerHttp2Session>();
  readonly #limits: ListenerLimits;
  readonly #clock: Clock;
  readonly #log: Log;

  constructor(server: Http2Server, limits: ListenerLimits, clock: Clock, log: Log) {
    this.#limits = limits;
    this.#clock = clock;
    this.#log = log;
    server.on("session", (session) => this.#admit(session));
  }

  get size(): number {
    return this.#open.size;
  }

  /** Lets each session finish its streams and take no new ones. */
  closeGently(): void {
    for (const session of this.#open) session.close();
  }

  #admit(session: ServerHttp2Session): void {
    session.on("error", (cause) => this.#log.debug({ err: cause }, "an HTTP/2 session failed"));
    if (this.#open.size >= this.#limits.maxSessions) {
      // Not at once: Node hands a new session its first bytes a tick later, and throws when its handle is gone.
      setImmediate(() => session.destroy());
      return;
    }
    this.#open.add(session);
    session.once("close", () => this.#open.delete(session));
    const meter = new ResetMeter(this.#clock, this.#limits);
    const streams = { open: 0 };
    // Until its first stream a session is nobody's: it gets as long as the headers of an HTTP/1 request.
    let quietMs = this.#limits.headersMs;
    session.setTimeout(quietMs);
    session.on("timeout", () => {
      if (streams.open === 0) this.#end(session);
      else session.setTimeout(quietMs);
    });
    session.on("stream", (stream) => {
      quietMs = this.#limits.idleMs;
      session.setTimeout(quietMs);
      this.#watch(session, stream, meter, streams);
    });
  }

  /** Says goodbye, then hangs up: with half a header block on the wire a gentle close alone would wait for ever. */
  #end(session: ServerHttp2Session): void {
    session.close();
    this.#clock.after(GOODBYE_MS, () => {
      if (!session.destroyed) session.destroy();
    });
  }

  #watch(session: ServerHttp2Session, stream: ServerHttp2Stream, meter: ResetMeter, streams: { open: number }): void {
    stream.on("error", (cause) => this.#log.debug({ err: cause }, "an HTTP/2 stream failed"));
    streams.open++;
    const closed = () => {
      streams.open--;
      if (stream.rstCode !== 0 && meter.tooMany() && !session.destroyed) {
        this.#log.warn({}, "an HTTP/2 session was destroyed: it resets streams too fast");
        session.destroy();
      }
    };
    if (stream.closed && stream.destroyed) closed();
    else stream.once("close", closed);
  }
}

/** Counts resets in all and in the current second. */
class ResetMeter {
  readonly #clock: Clock;
  readonly #limits: ListenerLimits;
  #total = 0;
  #sinceMs = 0;
  #inSecond = 0;

  constructor(clock: Clock, limits: ListenerLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Counts one; true when the session has had its share. */
  tooMany(): boolean {
    const now = this.#clock.monotonicMs();
    if (now - this.#sinceMs >= 1000) {
      this.#sinceMs = now;
      this.#inSecond = 0;
    }
    this.#total++;
    this.#inSecond++;
    return this.#total > this.#limits.resetsTotal && this.#inSecond > this.#limits.resetsPerSecond;
  }
}
