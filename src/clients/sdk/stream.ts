import type { IncomingMessage } from "node:http";
import { headersOf, type Identity, refusal } from "./channel.ts";
import { EngineError, isObject, type JsonObject, NotSentError, TransportError } from "./errors.ts";
import { type AnswerHeaders, codeOf, failureOf, PostFailure, type Target } from "./post.ts";
import { openRequester } from "./requester.ts";

/** Bytes of one message at most. */
const MESSAGE_MAX = 16 * 1024 * 1024;

/** Flags of Connect's envelopes: compressed, which is never asked for; and the last one, which tells how it ended. */
const COMPRESSED = 1;
const END = 2;

/** Milliseconds of silence after which a TCP connection is asked whether its other end is still there: a stream may be silent for days. */
const ALIVE_MS = 30_000;

/** A stream has no request id and changes nothing. */
const READ = { mutation: false, recorded: false, requestId: undefined } as const;

/** How a stream may be ended. */
export interface StreamOptions {
  /** Ends it: the iteration is then over, without an error. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds until its answer must have begun; default and 0: no bound. */
  readonly openMs?: number | undefined;
  /** Hears the headers of the answer. */
  readonly onHeaders?: ((headers: AnswerHeaders) => void) | undefined;
}

/**
 * Calls an RPC that answers with a stream and gives its messages as they come, at the pace they are taken. Over node:http in Connect's
 * JSON form, a connection a stream. Throws EngineError when the daemon ends it with an error, NotSentError when the connection cannot be
 * made or breaks, with code "NOT_GIN" when what answers is no daemon; is over when the daemon ends it well, when the caller leaves the loop, and at the signal.
 */
export async function* openStream(
  target: Target,
  identity: Identity,
  path: string,
  message: JsonObject,
  { signal, openMs = 0, onHeaders }: StreamOptions = {},
): AsyncGenerator<JsonObject> {
  const given = () => signal?.aborted === true;
  if (given()) return;
  const requester = await openRequester(target, { keepAlive: false });
  const { "connect-protocol-version": version, ...headers } = headersOf(identity);
  const body = envelope(Buffer.from(JSON.stringify(message)));
  let response: IncomingMessage | undefined;
  const sending = requester.request({
    ...requester.address(path),
    method: "POST",
    agent: requester.agent,
    headers: {
      ...headers,
      "connect-protocol-version": version,
      "content-type": "application/connect+json",
      "content-length": body.byteLength,
    },
  });
  if ("url" in target) sending.on("socket", (socket) => socket.setKeepAlive(true, ALIVE_MS));
  const abort = () => sending.destroy();
  let late = false;
  const tooLate = () => {
    late = true;
    sending.destroy();
  };
  const timer = openMs > 0 ? setTimeout(tooLate, openMs) : undefined;
  signal?.addEventListener("abort", abort, { once: true });
  try {
    response = await answerTo(sending, body);
    onHeaders?.(response.headers);
    const type = String(response.headers["content-type"] ?? "");
    if (response.statusCode !== 200) throw await refused(response);
    if (!type.startsWith("application/connect+json")) throw foreign("its answer is no stream");
    clearTimeout(timer);
    yield* messagesOf(response);
  } catch (thrown) {
    if (given()) return;
    const failure = settled(thrown);
    if (!late) throw failure;
    const sent = !(failure instanceof NotSentError) || failure.sent;
    throw new NotSentError(`no answer within ${openMs} ms`, "TIMEOUT", thrown, sent);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
    sending.destroy();
    requester.agent.destroy();
  }
}

function answerTo(
  sending: ReturnType<Awaited<ReturnType<typeof openRequester>>["request"]>,
  body: Buffer,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    let sent = false;
    sending.on("socket", (socket) => socket.once("connect", () => (sent = true)));
    sending.once("response", resolve);
    // It stays: an error after the answer began is told by reading on.
    sending.on("error", (thrown) => reject(failureOf(thrown, sent)));
    sending.end(body);
  });
}

async function* messagesOf(response: IncomingMessage): AsyncGenerator<JsonObject> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of response as AsyncIterable<Buffer>) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    for (;;) {
      if (rest.length < 5) break;
      const length = rest.readUInt32BE(1);
      if (length > MESSAGE_MAX) throw foreign("a message is too large");
      if (rest.length < 5 + length) break;
      const flags = rest[0] ?? 0;
      const json = rest.toString("utf8", 5, 5 + length);
      rest = rest.subarray(5 + length);
      if ((flags & COMPRESSED) !== 0) throw foreign("a message is compressed");
      const parsed = parse(json);
      if ((flags & END) === 0) {
        yield parsed;
        continue;
      }
      if (isObject(parsed.error)) throw await ended(parsed.error);
      return;
    }
  }
  // Only the last envelope is an end: anything else is a connection that broke.
  throw new NotSentError("the stream broke off", "ECONNRESET", undefined, true);
}

/** The error of an answer other than 200. A gateway tells so that the daemon is away for now: that is no answer of something else. */
async function refused(response: IncomingMessage): Promise<Error> {
  const status = response.statusCode ?? 0;
  const error = await refusal({ status, headers: response.headers, body: await whole(response) }, READ);
  if (error instanceof EngineError || status < 500) return error;
  return new NotSentError(error.message, `HTTP_${status}`, error, true);
}

/** The error that a stream ended with, read as that of an answer. */
async function ended(error: JsonObject): Promise<Error> {
  return await refusal({ status: 500, headers: {}, body: Buffer.from(JSON.stringify(error)) }, READ);
}

function parse(json: string): JsonObject {
  let parsed: unknown;
  try {
    parsed = JSON.parse(json);
  } catch (thrown) {
    throw new NotSentError("a message of the stream is not JSON", "NOT_GIN", thrown, true);
  }
  if (!isObject(parsed)) throw foreign("a message is not a JSON object");
  return parsed;
}

function foreign(why: string): NotSentError {
  return new NotSentError(`the stream is not one of a gin daemon: ${why}`, "NOT_GIN", undefined, true);
}

function settled(thrown: unknown): Error {
  if (thrown instanceof EngineError || thrown instanceof TransportError) return thrown;
  if (thrown instanceof PostFailure) return new NotSentError(thrown.message, thrown.code, thrown, thrown.sent);
  const failure = failureOf(thrown, true);
  return new NotSentError(failure.message, codeOf(thrown), thrown, true);
}

async function whole(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function envelope(message: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.byteLength, 1);
  return Buffer.concat([head, message]);
}
