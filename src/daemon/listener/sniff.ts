import type { Server as HttpServer } from "node:http";
import type { Http2Server } from "node:http2";
import type { Socket } from "node:net";
import type { Clock } from "../base/index.ts";

/** Whom to hand connections to. */
export interface SniffOptions {
  readonly http: HttpServer;
  readonly http2: Http2Server;
  readonly clock: Clock;
  /** For the first three bytes. */
  readonly withinMs: number;
}

/** Start of the HTTP/2 preface. No HTTP/1 method begins so. */
const PREFACE = Buffer.from("PRI");

/**
 * Tells HTTP/2 by prior knowledge from HTTP/1 by up to three bytes, then hands the connection over with all its bytes.
 * They are collected here and put back once: reading in a `readable` handler and putting back too few would spin for ever.
 */
export function sniff(socket: Socket, { http, http2, clock, withinMs }: SniffOptions): void {
  const chunks: Buffer[] = [];
  const destroy = () => socket.destroy();
  const cancel = clock.after(withinMs, destroy);

  const onData = (chunk: Buffer) => {
    chunks.push(chunk);
    const bytes = Buffer.concat(chunks);
    const start = bytes.subarray(0, PREFACE.length);
    const same = start.equals(PREFACE.subarray(0, start.length));
    if (same && start.length < PREFACE.length) return;
    cancel();
    socket.removeListener("data", onData);
    socket.removeListener("end", destroy);
    socket.pause();
    socket.unshift(bytes);
    if (same) {
      // An HTTP/2 peer that half-closes is gone.
      socket.allowHalfOpen = false;
      http2.emit("connection", socket);
    } else {
      http.emit("connection", socket);
      socket.resume();
    }
  };
  socket.on("data", onData);
  socket.once("end", destroy);
  socket.once("close", cancel);
}
