import { Code, ConnectError } from "@connectrpc/connect";
import type { Caller } from "../base/index.ts";

/** One request between admission and the end of its answer. */
export interface Run {
  readonly signal: AbortSignal;
  /** Aborts the signal; the first call counts. */
  abort(reason: ConnectError): void;
  /** Takes it off the list. */
  end(): void;
}

/** The requests that run now. */
export class Running {
  readonly #runs = new Map<AbortController, Caller>();
  #waiters: (() => void)[] = [];

  get size(): number {
    return this.#runs.size;
  }

  /** Puts a request on the list. Health, which has no caller, is on none: an open watch holds up no drain. */
  start(caller: Caller | undefined): Run {
    const controller = new AbortController();
    if (caller !== undefined) this.#runs.set(controller, caller);
    return {
      signal: controller.signal,
      abort: (reason) => controller.abort(reason),
      end: () => {
        if (!this.#runs.delete(controller) || this.#runs.size > 0) return;
        for (const waiter of this.#waiters.splice(0)) waiter();
      },
    };
  }

  /** Aborts what a token runs. */
  endToken(tokenId: string): void {
    for (const [controller, caller] of this.#runs) {
      if (caller.tokenId === tokenId) controller.abort(new ConnectError("the token is not valid any more", Code.Unauthenticated));
    }
  }

  /** Calls back when nothing runs, at once when that is so now. */
  whenIdle(callback: () => void): void {
    if (this.#runs.size === 0) callback();
    else this.#waiters.push(callback);
  }
}
