import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";

/** A request of either HTTP version. */
export type NodeServerRequest = IncomingMessage | Http2ServerRequest;

/** Its response. */
export type NodeServerResponse = ServerResponse | Http2ServerResponse;

/** Ends what carries the response: the stream of HTTP/2, the connection of HTTP/1. */
export function destroyCarrier(request: NodeServerRequest): void {
  if ("stream" in request) request.stream.destroy();
  else request.socket.destroy();
}

/** Header fields as Headers; pseudo-headers left out. Throws TypeError on a name or value no header may have. */
export function headersOf(request: NodeServerRequest): Headers {
  const headers = new Headers();
  const raw = request.rawHeaders;
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = raw[at] ?? "";
    if (!name.startsWith(":")) headers.append(name, raw[at + 1] ?? "");
  }
  return headers;
}
