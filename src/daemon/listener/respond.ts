import type { UniversalServerResponse } from "@connectrpc/connect/protocol";
import type { Clock } from "../base/index.ts";
import { destroyCarrier, isGone, type NodeServerRequest, type NodeServerResponse } from "./node.ts";

/** How long a peer may leave what it was sent untaken, or go on sending what nobody reads. */
export interface RespondOptions {
  readonly clock: Clock;
  readonly stallMs: number;
}

/** After an answer, the rest of an unread body is thrown away for this long before the connection or stream is ended. */
const LINGER_MS = 5_000;

/** Writes an answer at the peer's pace. Resolves when it is handed over or the peer is gone; never rejects for the latter. */
export async function respond(
  answer: UniversalServerResponse,
  request: NodeServerRequest,
  response: NodeServerResponse,
  options: RespondOptions,
): Promise<void> {
  const peer = watchPeer(response, isGone(response) || response.writableEnded);
  const chunks = answer.body?.[Symbol.asyncIterator]();
  try {
    // Headers go out with the first chunk, since handlers may set some until then.
    let next = chunks === undefined ? undefined : await chunks.next();
    if (peer.gone()) return;
    const header = headerObject(answer.header);
    keepForBody(request, response);
    response.writeHead(answer.status, header);
    while (next !== undefined && next.done !== true) {
      if (peer.gone()) return;
      const chunk: Uint8Array = next.value;
      if (!write(response, chunk)) await within(peer, "drain", request, options);
      next = await chunks?.next();
    }
    if (peer.gone()) return;
    if (answer.trailer !== undefined) response.addTrailers(headerObject(answer.trailer));
    const finished = within(peer, "finish", request, options);
    letBodyEnd(request, options);
    response.end();
    await finished;
  } finally {
    peer.stop();
    await chunks?.return?.();
  }
}

/** Writes a good answer that is all there: head and body leave in one go. Resolves and never rejects as `respond` does. */
export async function sendWhole(
  head: Readonly<Record<string, string | number>>,
  body: Uint8Array,
  request: NodeServerRequest,
  response: NodeServerResponse,
  options: RespondOptions,
): Promise<void> {
  if (isGone(response) || response.writableEnded) return;
  response.writeHead(200, head);
  response.end(body);
  if (response.writableFinished) return;
  const peer = watchPeer(response, isGone(response));
  await within(peer, "finish", request, options);
  peer.stop();
}

function write(response: NodeServerResponse, chunk: Uint8Array): boolean {
  // The two classes overload write apart; the call is the same.
  return "stream" in response ? response.write(chunk) : response.write(chunk);
}

function headerObject(headers: Headers | undefined): Record<string, string> {
  return headers === undefined ? {} : Object.fromEntries(headers.entries());
}

/** Tells whether the peer is gone, and waits for what it does. */
interface Peer {
  gone(): boolean;
  /** Resolves at the event, or when the peer goes. */
  until(event: "drain" | "finish"): Promise<void>;
  stop(): void;
}

function watchPeer(response: NodeServerResponse, alreadyGone: boolean): Peer {
  let gone = alreadyGone;
  let wake = () => {};
  const onClose = () => {
    gone = true;
    wake();
  };
  response.once("close", onClose);
  return {
    gone: () => gone,
    until: (event) =>
      new Promise((resolve) => {
        if (gone) return resolve();
        const done = () => {
          response.removeListener(event, done);
          resolve();
        };
        wake = done;
        response.once(event, done);
      }),
    stop: () => {
      response.removeListener("close", onClose);
    },
  };
}

async function within(peer: Peer, event: "drain" | "finish", request: NodeServerRequest, options: RespondOptions): Promise<void> {
  const cancel = options.clock.after(options.stallMs, () => destroyCarrier(request));
  await peer.until(event);
  cancel();
}

/**
 * A caller that asked for the connection to be closed would find it closed, with the answer lost, while it still sends: Node closes it
 * as soon as the answer is out. Kept until the body is in, and ended then.
 */
function keepForBody(request: NodeServerRequest, response: NodeServerResponse): void {
  if (request.complete || "stream" in response || response.shouldKeepAlive) return;
  response.shouldKeepAlive = true;
  const end = () => request.socket.end();
  request.once("end", () => (response.writableFinished ? end() : response.once("finish", end)));
}

/**
 * The answer goes out, the body is perhaps not in: takes what comes for a while, so that the peer gets to read the answer.
 * Begun before the end is written, or Node resets an HTTP/2 stream nobody read from, which curl takes for a failure.
 */
function letBodyEnd(request: NodeServerRequest, options: RespondOptions): void {
  if (request.complete || request.destroyed) return;
  const cancel = options.clock.after(LINGER_MS, () => destroyCarrier(request));
  request.once("end", cancel);
  request.once("close", cancel);
  request.resume();
}
