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
