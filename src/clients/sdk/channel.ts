import { PROTOCOL, VERSION } from "../../paths/index.ts";
import {
  EngineError,
  type ErrorDetail,
  errorDetail,
  isObject,
  type JsonValue,
  NotSentError,
  type TransportError,
  UnknownOutcomeError,
} from "./errors.ts";
import type { OperationInfo } from "./operations.ts";
import { type Answer, PostFailure, type PostOptions, type Sender, type Target } from "./post.ts";

/** Who calls, as the headers tell it. */
export interface Identity {
  /** Name of the front-end for logs; the version is added. Default "gin-sdk". */
  readonly client?: string | undefined;
  /** On the socket the whole principal, over TCP "/sub" to append to the token's. */
  readonly principal?: string | undefined;
  /** Bearer token; never logged. */
  readonly token?: string | undefined;
}

/** What every call takes. */
export interface CallOptions {
  /** Milliseconds; default the client's own; 0 is no bound. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What is known of one call before it is sent. */
export interface CallFacts extends OperationInfo {
  readonly requestId: string | undefined;
}

/** Milliseconds a call may take unless said otherwise. */
export const DEFAULT_TIMEOUT_MS = 60_000;

/** Posts to one daemon and sorts whatever happens into an answer, an EngineError, or one of the two TransportErrors. */
export class Channel {
  readonly #target: Target;
  readonly #identity: Identity;
  readonly #timeoutMs: number;
  readonly #oneShot: boolean;
  #sender: Sender | undefined;
  /** Version of the daemon ("0.1.0") as its last answer told it; undefined before the first. */
  serverVersion: string | undefined;

  /** `timeoutMs` is the default of every call. `oneShot` is ClientOptions'. */
  constructor(target: Target, identity: Identity, timeoutMs: number = DEFAULT_TIMEOUT_MS, oneShot = false) {
    this.#target = target;
    this.#identity = identity;
    this.#timeoutMs = timeoutMs;
    this.#oneShot = oneShot;
  }

  /** The body of a good answer. */
  async send(
    path: string,
    contentType: "application/json" | "application/proto",
    body: string | Uint8Array,
    facts: CallFacts,
    options: CallOptions,
  ): Promise<Buffer> {
    const post: PostOptions = { timeoutMs: options.timeoutMs ?? this.#timeoutMs, signal: options.signal };
    let answer: Answer;
    try {
      answer = await (this.#sender ?? (await this.#open())).post(path, contentType, body, post);
    } catch (thrown) {
      if (thrown instanceof PostFailure) throw lost(thrown.message, thrown.code, thrown, thrown.sent, facts);
      throw thrown;
    }
    const server = answer.headers["gin-server"];
    if (typeof server === "string") this.serverVersion = server.slice(server.lastIndexOf("/") + 1);
    if (answer.status === 200) {
      const type = String(answer.headers["content-type"] ?? "");
      if (type.startsWith(contentType)) return answer.body;
      throw lost("the answer is not one of a gin daemon", "NOT_GIN", undefined, true, facts);
    }
    throw await refusal(answer, facts);
  }

  /** Closes the connections. */
  close(): void {
    this.#sender?.close();
  }

  /** Each sender is loaded when it is the one that is needed: node:http costs a short-lived client as much as everything else it does. */
  async #open(): Promise<Sender> {
    const headers = headersOf(this.#identity);
    let opened: Sender;
    if (this.#oneShot && "socketPath" in this.#target) {
      const { OneShot } = await import("./one-shot.ts");
      opened = new OneShot(this.#target.socketPath, headers);
    } else {
      const { Poster } = await import("./poster.ts");
      opened = new Poster(this.#target, headers);
    }
    // Of two first calls at once, the later one keeps to the sender of the earlier.
    this.#sender ??= opened;
    return this.#sender;
  }
}

/** Headers that go with every call, also those of a Connect transport. */
export function headersOf(identity: Identity): { [name: string]: string } {
  return {
    "connect-protocol-version": "1",
    "gin-protocol": String(PROTOCOL),
    "gin-client": `${identity.client ?? "gin-sdk"}/${VERSION}`,
    ...(identity.principal !== undefined && { "gin-principal": identity.principal }),
    ...(identity.token !== undefined && { authorization: `Bearer ${identity.token}` }),
  };
}

/** Sorts a missing or unreadable answer: only a mutation whose bytes may have arrived leaves its outcome unknown. */
export function lost(message: string, code: string, cause: unknown, sent: boolean, facts: CallFacts): TransportError {
  if (!sent || !facts.mutation || facts.requestId === undefined) return new NotSentError(message, code, cause, sent);
  return new UnknownOutcomeError(message, code, cause, facts.requestId, facts.recorded);
}

/** The error of an answer other than 200. One without an ErrorDetail does not come from a gin daemon, and is a lost answer. */
export async function refusal(answer: Answer, facts: CallFacts): Promise<Error> {
  let body: unknown;
  try {
    body = JSON.parse(answer.body.toString("utf8"));
  } catch {
    // Not JSON: not ours. The status decides below.
    body = undefined;
  }
  const detail = isObject(body) ? await detailOf(body.details) : undefined;
  if (detail !== undefined && isObject(body)) return new EngineError(detail, String(body.code ?? ""), facts.requestId);
  // Below 500 whoever answered turned the request down before doing anything with it.
  return lost(`the answer is not one of a gin daemon (HTTP ${answer.status})`, "NOT_GIN", undefined, answer.status >= 500, facts);
}

async function detailOf(details: JsonValue | undefined): Promise<ErrorDetail | undefined> {
  if (!Array.isArray(details)) return undefined;
  for (const entry of details) {
    if (!isObject(entry) || entry.type !== "gin.v1.ErrorDetail") continue;
    const fromDebug = errorDetail(entry.debug);
    if (fromDebug !== undefined) return fromDebug;
    if (typeof entry.value !== "string") continue;
    const { decodeErrorDetail } = await import("./protobuf.ts");
    return errorDetail(decodeErrorDetail(Buffer.from(entry.value, "base64")));
  }
  return undefined;
}
