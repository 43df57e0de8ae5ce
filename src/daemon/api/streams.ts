import { type Caller, type Clock, GinError } from "../base/index.ts";
import { requireScope } from "../policy/index.ts";
import { abortError } from "./deadline.ts";
import type { Origin } from "./dispatch.ts";
import type { Ground, Target } from "./invocation.ts";
import { LIMITS } from "./limits.ts";
import { type Operation, STREAMS, type StreamKey, streamMethodOf } from "./operations.ts";
import { checkRequestId } from "./requests.ts";
import { resolve } from "./resolve.ts";
import { refuseUnknown } from "./unknown.ts";

/** How often a stream that nothing wakes looks around, in milliseconds: its token may have run out, a hint may have been missed. */
const LOOK_MS = 500;

/** What a stream works with. */
export interface StreamCall {
  readonly caller: Caller;
  readonly signal: AbortSignal;
  /** Id of the workspace it speaks of. */
  readonly workspace: string;
  /**
   * The workspace as it is held now. Throws when the stream may not go on: the workspace was closed or removed
   * (WORKSPACE_NOT_FOUND), or the caller's token ended (UNAUTHENTICATED, TOKEN_EXPIRED).
   */
  here(): Target;
}

/** Counts the open streams, all and each principal's. */
export class Streams {
  readonly #byPrincipal = new Map<string, number>();
  #open = 0;

  /** Streams open now. */
  get size(): number {
    return this.#open;
  }

  /** Takes a place; the returned function gives it back. Throws BUSY when there is none. */
  enter(principal: string): () => void {
    const own = this.#byPrincipal.get(principal) ?? 0;
    if (own >= LIMITS.streams_principal.value) throw full(`${principal} has ${own} streams open, which is the most`);
    if (this.#open >= LIMITS.streams.value) throw full(`${this.#open} streams are open, which is the most`);
    this.#open += 1;
    this.#byPrincipal.set(principal, own + 1);
    return () => {
      this.#open -= 1;
      const left = (this.#byPrincipal.get(principal) ?? 1) - 1;
      if (left === 0) this.#byPrincipal.delete(principal);
      else this.#byPrincipal.set(principal, left);
    };
  }
}

function full(message: string): GinError {
  return new GinError("BUSY", message, "end one of them, or try again later", { retryAfterMs: 5_000 });
}

/** Everything that is settled before a stream begins: unknown fields, scope, workspace. Throws what the dispatcher would. */
export function openStream(ground: Ground, key: StreamKey, request: StreamRequest, origin: Origin): StreamCall {
  const { caller, signal } = origin;
  const operation: Operation = STREAMS[key];
  if (caller.principal === "") throw new GinError("UNAUTHENTICATED", "nobody was admitted under this call");
  refuseUnknown(streamMethodOf(key).input, request);
  checkRequestId(request.requestId);
  const find = (repository: string, workspace: string): Target => {
    const { target } = resolve(ground.host.workspaces(), caller, operation.target, repository, workspace);
    if (target === undefined) throw new Error("a stream was opened on no workspace");
    return target;
  };
  const { id } = find(request.repository, request.workspace);
  requireScope(caller, operation.action);
  const here = (): Target => {
    if (signal.aborted) throw abortError(signal);
    refuseEnded(ground, caller);
    return find("", id);
  };
  return { caller, signal, workspace: id, here };
}

/** A request that opens a stream. */
type StreamRequest = Parameters<typeof refuseUnknown>[1] & {
  readonly repository: string;
  readonly workspace: string;
  readonly requestId: string;
};

/** The gate looked at the token once, when the stream was opened; wall time decides expiry there and here. */
function refuseEnded(ground: Ground, { tokenId }: Caller): void {
  if (tokenId === undefined) return;
  const row = ground.tokens.token(tokenId);
  if (row === undefined || row.revokedMs > 0) throw new GinError("UNAUTHENTICATED", "the token is not valid any more");
  if (ground.clock.wallMs() >= row.expiresMs) throw new GinError("TOKEN_EXPIRED", "the token ran out");
}

/** What wakes a stream: calls between two waits count as one. */
export class Wake {
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  #called = false;
  #resume = (): void => {};

  constructor(clock: Clock, signal: AbortSignal) {
    this.#clock = clock;
    this.#signal = signal;
  }

  /** Something may have happened. */
  readonly call = (): void => {
    this.#called = true;
    this.#resume();
  };

  /** Resolves at the next call, at once if there was one since the last wait; at the signal's abort; or after LOOK_MS. */
  async wait(): Promise<void> {
    if (!this.#called && !this.#signal.aborted) {
      await new Promise<void>((resolve) => {
        const cancel = this.#clock.after(LOOK_MS, resolve);
        this.#signal.addEventListener("abort", this.call, { once: true });
        this.#resume = () => {
          cancel();
          resolve();
        };
      });
      this.#signal.removeEventListener("abort", this.call);
      this.#resume = () => {};
    }
    this.#called = false;
  }
}
