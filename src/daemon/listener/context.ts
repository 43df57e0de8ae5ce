import type { DescMethodUnary, DescService } from "@bufbuild/protobuf";
import { Code, ConnectError, type ContextValues, createContextValues, type HandlerContext } from "@connectrpc/connect";
import type { Caller, Clock } from "../base/index.ts";
import { callerKey } from "./caller-key.ts";
import type { Fields } from "./fields.ts";
import type { Run } from "./running.ts";

/** What a context is made of. */
export interface ContextInit {
  readonly method: DescMethodUnary;
  readonly caller: Caller | undefined;
  readonly fields: Fields;
  readonly path: string;
  readonly contentType: string;
  readonly run: Run;
  readonly clock: Clock;
  /** Milliseconds from now until the caller gives up; undefined when it set no deadline. */
  readonly timeoutMs: number | undefined;
}

/** What a unary handler is told of its call. Each part is made when it is first looked at: most handlers look at one or two. */
export class DirectContext implements HandlerContext {
  readonly protocolName = "connect";
  readonly requestMethod = "POST";
  readonly values: ContextValues;
  readonly #init: ContextInit;
  readonly #deadline: number;
  #stopTimer: (() => void) | undefined;
  #watched = false;
  #responseHeader: Headers | undefined;
  #responseTrailer: Headers | undefined;

  constructor(init: ContextInit) {
    this.#init = init;
    this.#deadline = init.timeoutMs === undefined ? Number.POSITIVE_INFINITY : init.clock.monotonicMs() + init.timeoutMs;
    this.values = createContextValues();
    if (init.caller !== undefined) this.values.set(callerKey, init.caller);
  }

  get method(): DescMethodUnary {
    return this.#init.method;
  }

  get service(): DescService {
    return this.#init.method.parent;
  }

  get url(): string {
    return urlOf(this.#init.path);
  }

  get requestHeader(): Headers {
    return this.#init.fields.headers;
  }

  /** Aborted when the caller is gone, its token ends, or the deadline passes. */
  get signal(): AbortSignal {
    if (!this.#watched) {
      this.#watched = true;
      this.#watchDeadline();
    }
    return this.#init.run.signal;
  }

  timeoutMs = (): number | undefined =>
    this.#init.timeoutMs === undefined ? undefined : this.#deadline - this.#init.clock.monotonicMs();

  get responseHeader(): Headers {
    this.#responseHeader ??= new Headers({ "content-type": this.#init.contentType });
    return this.#responseHeader;
  }

  get responseTrailer(): Headers {
    this.#responseTrailer ??= new Headers();
    return this.#responseTrailer;
  }

  /** Whether the answer may have fields beyond the usual ones. */
  get addsFields(): boolean {
    return this.#responseHeader !== undefined || this.#responseTrailer !== undefined;
  }

  /** The call is over: no deadline passes any more. */
  end(): void {
    this.#watched = true;
    this.#stopTimer?.();
  }

  #watchDeadline(): void {
    const { run, clock } = this.#init;
    const left = this.timeoutMs();
    if (left === undefined) return;
    const pass = () => run.abort(new ConnectError("the operation timed out", Code.DeadlineExceeded));
    if (left <= 0) pass();
    else this.#stopTimer = clock.after(left, pass);
  }
}

/** The URL handlers see. The authority is not the caller's business any more: it was checked, and handlers do not look at it. */
export function urlOf(path: string): string {
  return `http://gin${path}`;
}
