import { type CallFacts, type CallOptions, Channel, DEFAULT_TIMEOUT_MS, type Identity, lost } from "./channel.ts";
import { EngineError, errorDetail, isObject, type JsonObject, UsageError } from "./errors.ts";
import { mintRequestId } from "./ids.ts";
import { ADMIN_OPERATIONS, changesNothing, OPERATIONS, type OperationInfo, operationInfo } from "./operations.ts";
import type { Target } from "./post.ts";
import type { StreamOptions } from "./stream.ts";

/** Where to and as whom. */
export interface ClientOptions extends Identity {
  readonly target: Target;
  /** Default of every call in milliseconds; 60,000; 0 is no bound. */
  readonly timeoutMs?: number | undefined;
  /** True: each call on the Unix socket has a connection of its own, for a process that asks once and ends. Default: kept alive. */
  readonly oneShot?: boolean | undefined;
}

/**
 * The thin client: JSON over kept-alive HTTP, no protobuf, quick to load. Mutations without a request id get one before the first attempt;
 * EngineError and UnknownOutcomeError carry it, and so does the answer.
 */
export class JsonClient {
  readonly #channel: Channel;
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#channel = new Channel(options.target, options, options.timeoutMs ?? DEFAULT_TIMEOUT_MS, options.oneShot);
  }

  /** Version of the daemon as its last answer told it. */
  get serverVersion(): string | undefined {
    return this.#channel.serverVersion;
  }

  /**
   * Sends one `gin.v1.Request` and gives the whole `gin.v1.Response`; engine errors are its `error`. Throws EngineError for refusals of the
   * transport (authentication, framing, size, draining), NotSentError, UnknownOutcomeError, and UsageError when not exactly one operation is set.
   */
  async call(request: JsonObject, options: CallOptions = {}): Promise<JsonObject> {
    return (await this.#call(request, options)).response;
  }

  /** One operation by its field in `gin.v1.Request`: the response message. Throws as `call`, and EngineError for engine errors too. */
  async run(operation: string, message: JsonObject = {}, options: CallOptions = {}): Promise<JsonObject> {
    const { response, facts } = await this.#call({ [operation]: message }, options);
    const error = errorDetail(response.error);
    if (error !== undefined) throw new EngineError(error, "", facts.requestId);
    const result = response[operation];
    if (!isObject(result)) throw lost(`the answer holds no ${operation}`, "NOT_GIN", undefined, true, facts);
    return result;
  }

  /** One RPC of AdminService by its name ("OpenWorkspace"): the response message. Throws as `run`. */
  async admin(method: string, message: JsonObject = {}, options: CallOptions = {}): Promise<JsonObject> {
    const info = operationInfo(ADMIN_OPERATIONS, method, false);
    const sent = withRequestId(message, info);
    return await this.#post(`/gin.v1.AdminService/${method}`, sent.message, { ...info, requestId: sent.requestId }, options);
  }

  /**
   * Watch: its messages as they come, until the caller leaves the loop or gives the signal. See `openStream` for what it throws. The
   * client's `timeoutMs` bounds how long the answer may take to begin.
   */
  async *watch(message: JsonObject = {}, options: StreamOptions = {}): AsyncGenerator<JsonObject> {
    const { openStream } = await import("./stream.ts");
    const openMs = this.#options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    yield* openStream(this.#options.target, this.#options, "/gin.v1.GinService/Watch", message, { openMs, ...options });
  }

  /** Closes the connections of calls; a stream has one of its own. */
  close(): void {
    this.#channel.close();
  }

  async #call(request: JsonObject, options: CallOptions): Promise<{ response: JsonObject; facts: CallFacts }> {
    const prepared = prepare(request);
    const response = await this.#post("/gin.v1.GinService/Call", prepared.request, prepared, options);
    return { response, facts: prepared };
  }

  async #post(path: string, message: JsonObject, facts: CallFacts, options: CallOptions): Promise<JsonObject> {
    const body = await this.#channel.send(path, "application/json", JSON.stringify(message), facts, options);
    let parsed: unknown;
    try {
      parsed = JSON.parse(body.toString("utf8"));
    } catch (thrown) {
      throw lost("the answer is not JSON", "NOT_GIN", thrown, true, facts);
    }
    if (!isObject(parsed)) throw lost("the answer is not a JSON object", "NOT_GIN", undefined, true, facts);
    return parsed;
  }
}

/** A Request ready to be sent, and what is known of it. */
export interface Prepared extends CallFacts {
  readonly request: JsonObject;
  /** The operation's field in snake case. */
  readonly operation: string;
}

/** Gives a mutation its request id, so that a caller can name it whatever happens. Throws UsageError unless exactly one operation is set. */
export function prepare(request: JsonObject): Prepared {
  const [field, message] = onlyOperation(request);
  const operation = field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const info = operationInfo(OPERATIONS, operation, changesNothing(operation, message));
  const sent = withRequestId(message, info);
  return { ...info, operation, request: { [field]: sent.message }, requestId: sent.requestId };
}

/** The one operation of a Request and its message. Throws UsageError unless there is exactly one. */
export function onlyOperation(request: JsonObject): [operation: string, message: JsonObject] {
  const entries = Object.entries(request);
  const [first] = entries;
  if (first === undefined || entries.length > 1 || !isObject(first[1])) {
    throw new UsageError('a request is one operation and its message, as {"read_path":{"path":"README.md"}}');
  }
  return [first[0], first[1]];
}

function withRequestId(message: JsonObject, info: OperationInfo): { message: JsonObject; requestId: string | undefined } {
  const given = message.request_id ?? message.requestId;
  if (typeof given === "string" && given !== "") return { message, requestId: given };
  const within = idWithin(message);
  if (within !== undefined) return { message: { ...message, request_id: within }, requestId: within };
  if (!info.mutation) return { message, requestId: undefined };
  const requestId = mintRequestId();
  const { requestId: _empty, ...rest } = message;
  return { message: { ...rest, request_id: requestId }, requestId };
}

/** The id that the tool memory takes among its arguments, as the reference does. */
function idWithin({ tool, arguments: args }: JsonObject): string | undefined {
  const id = tool === "memory" && isObject(args) ? args.request_id : undefined;
  return typeof id === "string" && id !== "" ? id : undefined;
}
