import { REASONS, type Reason } from "./reasons.ts";

/** Plain JSON, as facts and next calls carry it. 64-bit integers are strings. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/** What an error may carry beside its reason, message and suggestion. */
export interface ErrorMore {
  /** Overrides the table's `retryable`. */
  readonly retryable?: boolean;
  /** Milliseconds to wait before a retry. */
  readonly retryAfterMs?: number;
  /** Facts by the names the reason's table row lists. May hold file content: clients treat them as data. */
  readonly facts?: { readonly [key: string]: Json };
  /** A whole request in the JSON form of `gin.v1.Request`. */
  readonly nextCall?: { readonly [key: string]: Json };
  /** Id of a longer list kept for Details. */
  readonly detailId?: string;
  /** What was thrown underneath: logged, never sent. */
  readonly cause?: unknown;
}

/** The one error class: a reason of the closed list, a message for a person, and what to do about it. */
export class GinError extends Error {
  readonly reason: Reason;
  readonly suggestion: string;
  readonly retryable: boolean;
  readonly retryAfterMs: number;
  readonly facts: { readonly [key: string]: Json };
  readonly nextCall: { readonly [key: string]: Json } | undefined;
  readonly detailId: string | undefined;

  /** `suggestion` defaults to the reason's own. `message` never holds file content or absolute paths. */
  constructor(reason: Reason, message: string, suggestion?: string, more: ErrorMore = {}) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.name = "GinError";
    const info = REASONS[reason];
    this.reason = reason;
    this.suggestion = suggestion ?? info.then;
    this.retryable = more.retryable ?? info.retryable;
    this.retryAfterMs = more.retryAfterMs ?? 0;
    this.facts = more.facts ?? {};
    this.nextCall = more.nextCall;
    this.detailId = more.detailId;
  }
}

/** errno codes that mean "no room". */
const FULL = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);

/**
 * Turns anything thrown into a GinError; the only place that does.
 * System errors become DISK_FULL or IO_FAILED and carry the errno's name but never the absolute path; what nobody
 * foresaw is INTERNAL. `path` is the workspace-relative path being worked on.
 */
export function toGinError(thrown: unknown, path?: string): GinError {
  if (thrown instanceof GinError) return thrown;
  const code = errnoOf(thrown);
  const where = path === undefined ? {} : { path };
  if (code !== undefined && FULL.has(code)) {
    return new GinError("DISK_FULL", "no space left on the disk", undefined, { cause: thrown, facts: { where: path ?? "disk" } });
  }
  if (code !== undefined) {
    const facts = { ...where, errno: code };
    const at = path === undefined ? "" : ` at ${path}`;
    return new GinError("IO_FAILED", `the file system answered ${code}${at}`, undefined, { cause: thrown, facts });
  }
  return new GinError("INTERNAL", "something went wrong inside gin", undefined, { cause: thrown });
}

/** The errno name ("ENOENT") of a Node system error, else undefined. SQLite and Node-internal codes do not count. */
export function errnoOf(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error) || !("code" in thrown) || typeof thrown.code !== "string") return undefined;
  return /^E[A-Z0-9]+$/.test(thrown.code) && "syscall" in thrown ? thrown.code : undefined;
}
