import { Code } from "@connectrpc/connect";

/** What the table says of one reason. `docs/api.md` is checked against it. */
export interface ReasonInfo {
  /** Connect code the reason travels under; frozen by a pin test. */
  readonly code: Code;
  /** Whether the identical request may succeed later by itself. A single error may say otherwise. */
  readonly retryable: boolean;
  /** When it is raised. */
  readonly when: string;
  /** Names of the facts it may carry. */
  readonly facts: readonly string[];
  /** What the caller does about it. */
  readonly then: string;
}

function reason(code: Code, when: string, then: string, facts: readonly string[] = [], retryable = false): ReasonInfo {
  return { code, retryable, when, facts, then };
}

/**
 * The closed list of reasons. Extend by adding; names and codes are frozen once landed.
 * Failing without one of these does not compile: `GinError` takes only these names.
 */
export const REASONS = {
  INVALID_REQUEST: reason(
    Code.InvalidArgument,
    "a field is unknown, missing, of the wrong type or over its limit",
    "correct the field named",
    ["field", "limit"],
  ),
  INVALID_CURSOR: reason(
    Code.InvalidArgument,
    "a cursor was altered, or belongs to another query or caller",
    "start the list again without a cursor",
  ),
  CURSOR_EXPIRED: reason(
    Code.Aborted,
    "what a cursor pages through changed or is no longer kept",
    "start the list again without a cursor",
    ["path"],
  ),
  PATH_INVALID: reason(
    Code.InvalidArgument,
    "a path is absolute, leaves the workspace, is not UTF-8, too long, or cannot be told apart from another here",
    "use a workspace-relative path with / and no ..",
    ["path", "twin"],
  ),
  PATH_OUTSIDE_WORKSPACE: reason(
    Code.PermissionDenied,
    "a symlink on the path leaves the workspace, or the path is on another device",
    "name a path inside the workspace",
    ["path"],
  ),
  PATH_SENSITIVE: reason(
    Code.PermissionDenied,
    "the path is a protected name (.git, .env, keys, gin's own files)",
    "leave it to the person who owns the workspace",
    ["path"],
  ),
  PATH_NOT_FOUND: reason(Code.NotFound, "nothing is at the path in that snapshot", "list the directory", ["path"]),
  NOT_A_FILE: reason(Code.FailedPrecondition, "a regular file was needed", "name a file", ["path", "kind"]),
  NOT_A_DIRECTORY: reason(Code.FailedPrecondition, "a directory was needed", "name a directory", ["path", "kind"]),
  ID_NOT_FOUND: reason(Code.NotFound, "no such id here", "list what there is", ["id"]),
  WORKSPACE_NOT_FOUND: reason(
    Code.NotFound,
    "no such workspace or repository, or more than one and none was named",
    "name one of those listed",
    ["workspaces"],
  ),
  WORKSPACE_MISSING_ROOT: reason(
    Code.FailedPrecondition,
    "the workspace's directory vanished or was replaced by another",
    "restore the directory, or remove the workspace",
    ["root"],
  ),
  ROOT_OWNED: reason(Code.FailedPrecondition, "another host owns the directory", "use that host, or close the workspace there", [
    "host",
  ]),
  ROOT_OVERLAPS: reason(
    Code.FailedPrecondition,
    "the directory is inside or around an open root or the host directory",
    "use the enclosing workspace",
    ["workspace"],
  ),
  STALE_INCARNATION: reason(Code.FailedPrecondition, "the workspace was re-created or restored since", "read the context again", [
    "incarnation",
  ]),
  STALE_GENERATION: reason(
    Code.Aborted,
    "the workspace moved on from the generation given",
    "read what changed, or leave generation out and give expect for each edit",
    ["generation"],
  ),
  STALE_EPOCH: reason(Code.FailedPrecondition, "another daemon took the workspace over since", "read the context again", [
    "epoch",
  ]),
  STALE_CONTENT: reason(Code.Aborted, "a path is not what the caller expected", "merge (on_conflict), or read it again", [
    "paths",
  ]),
  MERGE_CONFLICT: reason(
    Code.Aborted,
    "a merge was asked for and some path conflicts",
    "resolve the hunks shown and save the result",
    ["paths"],
  ),
  CONTENT_NOT_KEPT: reason(
    Code.FailedPrecondition,
    "the bytes of that content are not in the store",
    "use a snapshot whose content is kept",
    ["path", "sha256"],
  ),
  HISTORY_TRIMMED: reason(
    Code.FailedPrecondition,
    "what that checkpoint held was given up to keep history within its bounds",
    "use a newer snapshot",
    ["checkpoint", "kept_from"],
  ),
  LEASE_REQUIRED: reason(
    Code.FailedPrecondition,
    "this caller must hold a lease to write",
    "make the call in next_call, then save with its fence",
    ["paths"],
  ),
  LEASE_HELD: reason(
    Code.Aborted,
    "somebody else's lease covers the path",
    "wait, or work elsewhere",
    ["lease_id", "holder", "intent", "remaining_ms", "paths"],
    true,
  ),
  LEASE_EXPIRED: reason(Code.FailedPrecondition, "the lease ran out or was released", "acquire it again", ["lease_epoch"]),
  FENCE_SUPERSEDED: reason(
    Code.FailedPrecondition,
    "a later lease took over, or the lease table is another one",
    "acquire a lease again and read again",
    ["lease_epoch"],
  ),
  REQUEST_ID_REQUIRED: reason(
    Code.InvalidArgument,
    "a mutation came without a request id",
    "send a fresh request_id, and keep it for retries",
  ),
  REQUEST_ID_REUSED: reason(Code.AlreadyExists, "the id was used for other content", "use a fresh request_id", ["operation"]),
  REQUEST_IN_PROGRESS: reason(
    Code.Aborted,
    "the same request is still running",
    "ask RequestOutcome, or retry the identical request",
    [],
    true,
  ),
  OUTCOME_INDETERMINATE: reason(
    Code.Unknown,
    "an effect outside the store was started and its end is unknown",
    "look, then settle it with ResolveOutcome",
  ),
  UNAUTHENTICATED: reason(Code.Unauthenticated, "no token, an unknown token or a revoked one", "send a valid bearer token"),
  TOKEN_EXPIRED: reason(Code.Unauthenticated, "the token ran out", "have a new token made"),
  HOST_FORBIDDEN: reason(
    Code.PermissionDenied,
    "the Host header names a host this listener does not serve",
    "use the endpoint printed by gin serve, or --allow-host",
  ),
  ORIGIN_FORBIDDEN: reason(
    Code.PermissionDenied,
    "the Origin header is not on the list",
    "call without a browser, or use --allow-origin",
  ),
  SCOPE_FORBIDDEN: reason(Code.PermissionDenied, "the token lacks the scope, workspace or path", "use a token that has it", [
    "scope",
  ]),
  DENIED_BY_POLICY: reason(Code.PermissionDenied, "a policy rule denies it", "ask the owner", ["rule"]),
  APPROVAL_REQUIRED: reason(
    Code.FailedPrecondition,
    "a person must decide first",
    "wait for the decision and send the identical request",
    ["approval_id"],
  ),
  APPROVAL_DENIED: reason(Code.PermissionDenied, "a person said no", "do something else", ["approval_id"]),
  MEDIA_TYPE_UNSUPPORTED: reason(
    Code.InvalidArgument,
    "the content type or encoding is not one that is served",
    "use application/json, application/proto or application/grpc",
  ),
  METHOD_UNKNOWN: reason(Code.Unimplemented, "no such service, method or HTTP verb", "list the operations with Capabilities"),
  MALFORMED: reason(Code.InvalidArgument, "the message cannot be decoded", "send a well-formed message"),
  TOO_LARGE: reason(Code.ResourceExhausted, "a message, file, list or text is over its limit", "send less, or page", [
    "limit",
    "unit",
  ]),
  QUOTA_EXCEEDED: reason(Code.ResourceExhausted, "a quota is used up", "free some of it", ["limit"]),
  DISK_FULL: reason(
    Code.ResourceExhausted,
    "no space left where the bytes must go",
    "free space, then retry the identical request",
    ["where"],
    true,
  ),
  BUSY: reason(Code.Unavailable, "a queue is full, or the daemon is draining", "retry the identical request", [], true),
  CANCELLED: reason(Code.Canceled, "the caller cancelled it before it started", "send it again if it is still wanted"),
  DEADLINE_EXCEEDED: reason(
    Code.DeadlineExceeded,
    "it did not finish within the caller's deadline",
    "ask RequestOutcome for a mutation; else allow more time",
    [],
    true,
  ),
  NOT_READY: reason(
    Code.Unavailable,
    "the answer is not known yet",
    "retry after retry_after_ms",
    ["state", "files", "directories_left", "server"],
    true,
  ),
  UNSUPPORTED: reason(Code.Unimplemented, "this host cannot do it", "see Capabilities", ["supported", "requested"]),
  PREVIEW_STALE: reason(Code.Aborted, "what was previewed changed", "preview again", ["paths"]),
  BRANCH_CHECKED_OUT: reason(Code.FailedPrecondition, "the branch is checked out in a worktree", "publish to another branch", [
    "branch",
  ]),
  STORE_READ_ONLY: reason(Code.FailedPrecondition, "the store cannot be written", "make the data directory writable", ["where"]),
  STORE_TOO_NEW: reason(Code.FailedPrecondition, "a newer gin wrote the store", "use that version or newer", [
    "store_version",
    "supported_version",
  ]),
  STORE_CORRUPT: reason(Code.DataLoss, "the store failed its integrity check", "restore a backup; gin doctor tells more"),
  IO_FAILED: reason(
    Code.Unavailable,
    "the file system refused (permission, read-only, input/output error)",
    "mend the cause named",
    ["path", "errno"],
  ),
  BINARY_FILE: reason(
    Code.FailedPrecondition,
    "text was needed and the file is none",
    "look at it with stat_file, or convert it",
    ["path"],
  ),
  RESOURCE_LIMIT: reason(
    Code.ResourceExhausted,
    "what was asked of one tool call is more than it may do",
    "ask for less, in several calls",
    ["limit", "unit"],
  ),
  EDIT_NOT_FOUND: reason(
    Code.FailedPrecondition,
    "the text to be replaced, or a hunk's lines, are not in the file",
    "read the file and give the text as it stands there",
    ["path", "line", "near", "index", "edits"],
  ),
  EDIT_NOT_UNIQUE: reason(
    Code.FailedPrecondition,
    "the text to be replaced is there more than once",
    "give more of the lines around it",
    ["path", "lines", "matches", "index", "edits"],
  ),
  EDIT_NO_CHANGE: reason(
    Code.FailedPrecondition,
    "the edit gives what is there already",
    "leave it out, or check what was meant",
    ["path", "index", "edits"],
  ),
  EDIT_OVERLAP: reason(
    Code.FailedPrecondition,
    "an edit replaced what a later one of the same call was to replace",
    "put the two into one edit",
    ["path", "index", "with", "edits"],
  ),
  OLD_TEXT_EMPTY: reason(
    Code.InvalidArgument,
    "there is no text to be replaced",
    "give the lines it should stand beside, and repeat them in the new text",
    ["path", "index"],
  ),
  INVALID_REGEX: reason(
    Code.InvalidArgument,
    "a pattern is no RE2 expression",
    "mend it, or set literal to true to look for it as it stands",
  ),
  PATCH_INVALID: reason(Code.InvalidArgument, "the patch cannot be read", "mend the line named", ["line"]),
  SYMBOL_NOT_FOUND: reason(
    Code.NotFound,
    "no such symbol is in the file, or in the workspace",
    "take one of those in near, or list them with action symbols",
    ["symbol", "near"],
  ),
  SYMBOL_AMBIGUOUS: reason(
    Code.FailedPrecondition,
    "more than one symbol has that name",
    "give the whole name path of one, or its line",
    ["symbol", "candidates"],
  ),
  LSP_REFUSED: reason(
    Code.FailedPrecondition,
    "the language server answered with an error of its own",
    "ask it otherwise; gin lsp status tells more",
    ["server", "code", "message"],
  ),
  LSP_NEEDS_TRUST: reason(
    Code.FailedPrecondition,
    "the language server could run code of a workspace that is not trusted",
    "the owner trusts the workspace with gin workspace trust",
    ["server"],
  ),
  INTERNAL: reason(Code.Internal, "a fault in gin", "report it with the log line of this request"),
} as const satisfies Record<string, ReasonInfo>;

/** Name of a reason. */
export type Reason = keyof typeof REASONS;

/** True for a name on the closed list. */
export function isReason(name: string): name is Reason {
  return Object.hasOwn(REASONS, name);
}
