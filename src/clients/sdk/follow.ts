import { EngineError, type JsonObject, TransportError } from "./errors.ts";

/** How to follow. */
export interface WatchOptions {
  /** Ends the iteration, without an error. */
  readonly signal?: AbortSignal | undefined;
  /** False: the first break is thrown. Default: the stream is opened again where it broke off, for as long as it takes. */
  readonly reconnect?: boolean | undefined;
  /** Hears why the stream broke off, once a break: it is then tried again. */
  readonly onBreak?: ((why: Error) => void) | undefined;
}

/** Milliseconds before the first attempt to open it again, and between later ones: twice as long each time, at most the second. */
const FIRST_WAIT_MS = 100;
const LAST_WAIT_MS = 1_000;

/** Reasons that an end has nothing to do with this stream: the daemon leaves, or has no place for now. */
const PASSING: ReadonlySet<string> = new Set(["BUSY", "NOT_READY"]);

/**
 * Follows a stream over breaks: after one it is opened again with the cursor of the last message, so that nothing is missed or told twice.
 * Only a stream that stood is opened again; the first attempt's error is thrown, and so is any answer that says this stream may not go on.
 */
export async function* follow(
  open: (since: string, again: boolean) => AsyncIterable<JsonObject>,
  since: string,
  { signal, reconnect = true, onBreak }: WatchOptions,
): AsyncGenerator<JsonObject> {
  let cursor = since;
  let stood = false;
  let wait = FIRST_WAIT_MS;
  for (;;) {
    try {
      for await (const message of open(cursor, stood)) {
        if (typeof message.cursor === "string") cursor = message.cursor;
        wait = FIRST_WAIT_MS;
        stood = true;
        yield message;
      }
      return;
    } catch (thrown) {
      if (!stood || !reconnect || !passes(thrown)) throw thrown;
      if (wait === FIRST_WAIT_MS) onBreak?.(thrown);
    }
    if (!(await slept(wait, signal))) return;
    wait = Math.min(LAST_WAIT_MS, wait * 2);
  }
}

/** What is no daemon's (a foreign answer, a message that is none or too large) would be the same the next time, and for ever. */
function passes(thrown: unknown): thrown is Error {
  if (thrown instanceof TransportError) return thrown.code !== "NOT_GIN";
  return thrown instanceof EngineError && PASSING.has(thrown.detail.reason);
}

/** False when the signal came. */
function slept(ms: number, signal: AbortSignal | undefined): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve(signal?.aborted !== true);
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end, { once: true });
    if (signal?.aborted === true) end();
  });
}
