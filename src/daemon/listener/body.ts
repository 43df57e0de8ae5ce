import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../base/index.ts";
import type { NodeServerRequest } from "./node.ts";

/** How to read a request's body. */
export interface BodyOptions {
  readonly clock: Clock;
  /** Until the last byte; undefined for streams, which end when they end. */
  readonly withinMs: number | undefined;
  /** Called before the first byte is asked for. */
  readonly onStart: () => void;
  /** Sees every chunk. */
  readonly onChunk: ((chunk: Uint8Array) => void) | undefined;
}

/**
 * The body as connect-node reads it. Unlike a plain `for await`, stopping early leaves the connection alone, so that the
 * refusal of a message that is too large still reaches its sender.
 */
export function bodyOf(request: NodeServerRequest, options: BodyOptions): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]() {
      options.onStart();
      const chunks: AsyncIterator<Uint8Array> = request.iterator({ destroyOnReturn: false });
      const late = deadline(options);
      return {
        async next() {
          const result = await (late === undefined ? chunks.next() : Promise.race([chunks.next(), late.passed]));
          if (result.done === true) late?.cancel();
          else options.onChunk?.(result.value);
          return result;
        },
        async return() {
          late?.cancel();
          await chunks.return?.();
          return { done: true, value: undefined };
        },
      };
    },
  };
}

function deadline(options: BodyOptions): { readonly passed: Promise<never>; cancel(): void } | undefined {
  if (options.withinMs === undefined) return undefined;
  const ms = options.withinMs;
  let cancel = () => {};
  const passed = new Promise<never>((_, reject) => {
    cancel = options.clock.after(ms, () => reject(new ConnectError("the body was not there in time", Code.DeadlineExceeded)));
  });
  // It may pass while nobody waits for a chunk; the next wait then sees it.
  passed.catch(() => {});
  return { passed, cancel };
}

/** How to read a body that is wanted in one piece. */
export interface WholeOptions extends Omit<BodyOptions, "onChunk" | "withinMs"> {
  readonly withinMs: number;
  /** The `content-length` field, which the body must then have exactly. */
  readonly length: string | null;
  readonly maxBytes: number;
}

/**
 * The whole body. What is announced as too large is refused before it is asked for, what turns out too large as soon as it
 * is; the connection stays, so that the refusal reaches its sender. Rejects as Connect's reading does: ConnectError
 * ResourceExhausted, InvalidArgument (not the length promised) or DeadlineExceeded, or what broke the request off.
 */
export function readWhole(request: NodeServerRequest, options: WholeOptions): Promise<Uint8Array> {
  const { clock, withinMs, maxBytes } = options;
  const hint = Number.parseInt(options.length ?? "", 10);
  const promised = Number.isSafeInteger(hint) && hint >= 0 ? hint : undefined;
  return new Promise((resolve, reject) => {
    if (promised !== undefined && promised > maxBytes) return reject(tooLarge(maxBytes));
    options.onStart();
    const chunks: Uint8Array[] = [];
    let size = 0;
    const stop = () => {
      cancel();
      request.off("data", onData).off("end", onEnd).off("error", onBreak).off("close", onBreak);
    };
    const fail = (error: unknown) => {
      stop();
      // Nobody listens any more: what still comes waits until the answer is out.
      request.pause();
      reject(error);
    };
    const onData = (chunk: Uint8Array) => {
      size += chunk.byteLength;
      if (promised !== undefined && size > promised) fail(notPromised(promised, size));
      else if (size > maxBytes) fail(tooLarge(maxBytes));
      else chunks.push(chunk);
    };
    const onEnd = () => {
      stop();
      if (promised !== undefined && size < promised) reject(notPromised(promised, size));
      else resolve(joined(chunks));
    };
    const onBreak = (cause?: unknown) => fail(cause ?? new Error("the request broke off"));
    const cancel = clock.after(withinMs, () => fail(new ConnectError("the body was not there in time", Code.DeadlineExceeded)));
    request.on("data", onData).on("end", onEnd).on("error", onBreak).on("close", onBreak);
  });
}

/** Plain bytes, never a Buffer: messages keep views of them. */
function joined(chunks: readonly Uint8Array[]): Uint8Array {
  const [only] = chunks;
  const bytes = chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks);
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function tooLarge(maxBytes: number): ConnectError {
  return new ConnectError(`message size is larger than ${maxBytes} bytes`, Code.ResourceExhausted);
}

function notPromised(promised: number, received: number): ConnectError {
  return new ConnectError(`protocol error: promised ${promised} bytes, received ${received}`, Code.InvalidArgument);
}
