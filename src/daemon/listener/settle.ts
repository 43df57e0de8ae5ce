import { ConnectError, type Interceptor } from "@connectrpc/connect";
import { GinError, type Log, toGinError } from "../base/index.ts";
import { toConnectError } from "./error-detail.ts";
import { type JsonBody, jsonBodyKey } from "./json-body.ts";

/** The outermost interceptor: whatever a handler throws leaves as a ConnectError with an ErrorDetail. */
export function settleErrors(log: Log): Interceptor {
  return (next) => async (request) => {
    try {
      checkNumbers(request.contextValues.get(jsonBodyKey));
      const response = await next(request);
      return response.stream ? { ...response, message: guarded(response.message, request.signal, log) } : response;
    } catch (thrown) {
      throw outgoing(thrown, log);
    }
  };
}

/** A JSON request is decoded by now: numbers are looked at, then the bytes are let go. Throws GinError INVALID_REQUEST. */
export function checkNumbers(json: JsonBody | undefined): void {
  if (json === undefined) return;
  const unsafe = json.hasUnsafeInteger();
  json.drop();
  if (unsafe) throw new GinError("INVALID_REQUEST", "a number is beyond 2^53", "send 64-bit integers as strings");
}

/** A stream whose errors are settled too, and which ends when its request is aborted even if its handler does not. */
async function* guarded<T>(messages: AsyncIterable<T>, signal: AbortSignal, log: Log): AsyncGenerator<T> {
  const iterator = messages[Symbol.asyncIterator]();
  let stop = () => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop);
  });
  aborted.catch(() => {});
  try {
    for (;;) {
      const result = await Promise.race([iterator.next(), aborted]);
      if (result.done === true) return;
      yield result.value;
    }
  } catch (thrown) {
    throw outgoing(thrown, log);
  } finally {
    signal.removeEventListener("abort", stop);
    // Not awaited: a handler that hangs must not hold the stream.
    iterator.return?.().catch((cause: unknown) => log.debug({ err: cause }, "a stream's handler failed while it ended"));
  }
}

/** What a handler threw as it leaves: with an ErrorDetail; a failure inside gin is logged, and told without its words. */
export function outgoing(thrown: unknown, log: Log): ConnectError {
  if (thrown instanceof ConnectError) return thrown;
  const error = toGinError(thrown);
  if (error.reason === "INTERNAL") log.error({ err: error.cause ?? error }, "a handler failed");
  return toConnectError(error);
}
