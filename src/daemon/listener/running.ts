import type { ConnectError } from "@connectrpc/connect";
import { type Caller, GinError } from "../base/index.ts";
import { toConnectError } from "./error-detail.ts";

/** One request between admission and the end of its answer. */
export interface Run {
  /** Made when it is first asked for: most refusals never need one. */
  readonly signal: AbortSignal;
  /** Aborts the signal; the first call counts. */
  abort(reason: ConnectError): void;
  /** Takes it off the list. */
  end(): void;
}

/** The requests that run now. */
export class Running {
  readonly #runs = new Set<OneRun>();
  #waiters: (() => void)[] = [];

  get size(): number {
    return this.#runs.size;
  }

  /**
   * Puts a request on the list. Health, which has no caller, is on none: an open watch holds up no drain. `stream`: it answers until
   * it is ended.
   */
  start(caller: Caller | undefined, stream = false): Run {
    const run = new OneRun(caller?.tokenId, stream, () => this.#end(run));
    if (caller !== undefined) this.#runs.add(run);
    return run;
  }

  /** Aborts what a token runs. */
  endToken(tokenId: string): void {
    const error = toConnectError(new GinError("UNAUTHENTICATED", "the token is not valid any more"));
    for (const run of this.#runs) if (run.tokenId === tokenId) run.abort(error);
  }

  /** Ends what would not end by itself. */
  endStreams(why: GinError): void {
    for (const run of this.#runs) if (run.stream) run.abort(toConnectError(why));
  }

  /** Calls back when nothing runs, at once when that is so now. */
  whenIdle(callback: () => void): void {
    if (this.#runs.size === 0) callback();
    else this.#waiters.push(callback);
  }

  #end(run: OneRun): void {
    if (!this.#runs.delete(run) || this.#runs.size > 0) return;
    for (const waiter of this.#waiters.splice(0)) waiter();
  }
}

class OneRun implements Run {
  readonly tokenId: string | undefined;
  readonly stream: boolean;
  readonly end: () => void;
  #controller: AbortController | undefined;
  #reason: ConnectError | undefined;

  constructor(tokenId: string | undefined, stream: boolean, end: () => void) {
    this.tokenId = tokenId;
    this.stream = stream;
    this.end = end;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  abort(reason: ConnectError): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
  }
}
