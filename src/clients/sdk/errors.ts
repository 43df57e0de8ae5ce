/** Any JSON value as it stands on the wire: 64-bit integers are strings, names are snake_case. */
export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;

/** A JSON object as it stands on the wire. */
export interface JsonObject {
  [name: string]: JsonValue;
}

/** `gin.v1.ErrorDetail` in JSON: why the engine refused. `reason` is one of the closed list in docs/api.md. */
export interface ErrorDetail {
  readonly reason: string;
  /** For a person; never carries file content. */
  readonly message: string;
  /** What to do about it; empty when nothing is known. */
  readonly suggestion: string;
  /** True when the identical request may succeed later by itself. */
  readonly retryable: boolean;
  /** Milliseconds to wait before a retry; 0 when unknown. */
  readonly retryAfterMs: number;
  /** Facts by the names docs/api.md lists for the reason. May hold file content: data, never instructions. */
  readonly facts: JsonObject;
  /** A whole `gin.v1.Request` that would do the right thing next. */
  readonly nextCall: JsonObject | undefined;
  /** Names a longer list kept for Details ("dt_…"); empty when there is none. */
  readonly detailId: string;
  /** The detail as the daemon sent it, for `--json`. */
  readonly raw: JsonObject;
}

/** The engine answered with an error: what it says is known to be so. Exit status 1. */
export class EngineError extends Error {
  readonly detail: ErrorDetail;
  /** Connect code ("aborted"); empty for an error inside a Call response. */
  readonly code: string;
  /** The id the request carried; undefined for a request without one. */
  readonly requestId: string | undefined;

  constructor(detail: ErrorDetail, code: string, requestId: string | undefined) {
    super(detail.message);
    this.name = "EngineError";
    this.detail = detail;
    this.code = code;
    this.requestId = requestId;
  }
}

/** No answer came. One of the two classes below says what that means. */
export abstract class TransportError extends Error {
  /** Errno or Node code of what broke ("ECONNREFUSED"), "TIMEOUT", "ABORTED", "NOT_GIN", or of a stream "HTTP_502" and the like. */
  readonly code: string;

  constructor(message: string, code: string, cause: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

/**
 * Nothing was done by this request: it never reached a daemon, or it was a read whose answer was lost. Sending it again is safe.
 * Exit status 3.
 */
export class NotSentError extends TransportError {
  /** False when nothing at all reached a daemon; true for a read that was sent and not answered. */
  readonly sent: boolean;

  constructor(message: string, code: string, cause: unknown, sent: boolean) {
    super(message, code, cause);
    this.name = "NotSentError";
    this.sent = sent;
  }
}

/**
 * A mutation was sent and no answer came: it may or may not have happened. RequestOutcome with `requestId` tells, and the identical
 * request with the same id is safe. Exit status 4.
 */
export class UnknownOutcomeError extends TransportError {
  /** The id to ask RequestOutcome about. */
  readonly requestId: string;
  /** False for the few mutations whose outcome is not recorded (lease renewals and releases). */
  readonly recorded: boolean;

  constructor(message: string, code: string, cause: unknown, requestId: string, recorded: boolean) {
    super(message, code, cause);
    this.name = "UnknownOutcomeError";
    this.requestId = requestId;
    this.recorded = recorded;
  }
}

/** Why a daemon did not start: `reason` is the daemon's own, one of docs/api.md; "" when it said none. */
interface NotStarted {
  readonly reason: string;
  readonly message: string;
  readonly suggestion: string;
}

/** The end of a daemon's log as it stands in its file, and the file's path; both "" when the log adds nothing. */
interface LogEnd {
  readonly file: string;
  readonly tail: string;
}

/** A daemon could not be started, so nothing was sent. `logTail` and `logFile` are for the person; may be empty. */
export class StartError extends NotSentError {
  /** The daemon's reason ("STORE_TOO_NEW"); "" when it said none. */
  readonly reason: string;
  readonly suggestion: string;
  readonly logTail: string;
  readonly logFile: string;

  constructor(why: NotStarted, log: LogEnd = { file: "", tail: "" }, cause?: unknown) {
    super(why.message, "NOT_STARTED", cause, false);
    this.name = "StartError";
    this.reason = why.reason;
    this.suggestion = why.suggestion;
    this.logTail = log.tail;
    this.logFile = log.file;
  }
}

/** The caller's own mistake, found before anything was sent (a flag, a variable, a file that cannot be read). Exit status 2. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "UsageError";
  }
}

/** True for a JSON object, and not for null or an array. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Reads an ErrorDetail out of JSON in either spelling; undefined when it has no reason. */
export function errorDetail(value: JsonValue | undefined): ErrorDetail | undefined {
  if (!isObject(value) || typeof value.reason !== "string" || value.reason === "") return undefined;
  const text = (name: string, other: string): string => {
    const found = value[name] ?? value[other];
    return typeof found === "string" ? found : "";
  };
  const facts = value.facts;
  const nextCall = value.next_call ?? value.nextCall;
  return {
    reason: value.reason,
    message: text("message", "message"),
    suggestion: text("suggestion", "suggestion"),
    retryable: value.retryable === true,
    retryAfterMs: Number(value.retry_after_ms ?? value.retryAfterMs ?? 0) || 0,
    facts: isObject(facts) ? facts : {},
    nextCall: isObject(nextCall) && Object.keys(nextCall).length > 0 ? nextCall : undefined,
    detailId: text("detail_id", "detailId"),
    raw: value,
  };
}
