import { type GinError, REASONS, type Reason } from "../base/index.ts";

/** Reasons that have a name of the reference's; every other one is its own name in lower case. */
const NAMED: { readonly [R in Reason]?: string } = {
  INVALID_REQUEST: "invalid_args",
  INVALID_CURSOR: "invalid_args",
  PATH_INVALID: "invalid_args",
  NOT_A_FILE: "invalid_args",
  NOT_A_DIRECTORY: "invalid_args",
  PATH_OUTSIDE_WORKSPACE: "path_outside_sandbox",
  PATH_SENSITIVE: "path_outside_sandbox",
  PATH_NOT_FOUND: "file_not_found",
  STALE_CONTENT: "stale_file",
  CURSOR_EXPIRED: "stale_file",
  TOO_LARGE: "file_too_large",
  CANCELLED: "canceled",
  DEADLINE_EXCEEDED: "timeout",
  MALFORMED: "invalid_json",
};

/** What the reference calls a file that the system does not let us read. */
const DENIED = "permission_denied";
const DENIED_ERRNOS: readonly unknown[] = ["EACCES", "EPERM"];

/** The code of a refusal in the tool envelope. */
export function codeOf(error: Pick<GinError, "reason"> & Partial<Pick<GinError, "facts">>): string {
  if (error.reason === "IO_FAILED" && DENIED_ERRNOS.includes(error.facts?.errno)) return DENIED;
  return NAMED[error.reason] ?? error.reason.toLowerCase();
}

/** Every code a tool may answer with, in the order of the reasons' table. */
export const TOOL_CODES: readonly string[] = [
  ...new Set([...(Object.keys(REASONS) as Reason[]).map((reason) => codeOf({ reason })), DENIED]),
];
