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

/** Whether nobody takes the answer any more. HTTP/2's response has no `destroyed` of its own, and its "close" may be over. */
export function isGone(response: NodeServerResponse): boolean {
  return "stream" in response ? (response.stream?.destroyed ?? true) : response.destroyed;
}
