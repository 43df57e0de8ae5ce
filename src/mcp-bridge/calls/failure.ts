import {
  EngineError,
  type JsonObject,
  NotSentError,
  type Prepared,
  StartError,
  TransportError,
  UnknownOutcomeError,
  UsageError,
} from "../../clients/sdk/index.ts";
import { PathsError, TokenFileError } from "../../paths/index.ts";
import { ArgumentError } from "../catalog/types.ts";
import { NotStarted } from "./turns.ts";

/** What the bridge itself says of a call the daemon did not answer. A closed list: docs/mcp.md explains each. */
export type BridgeErrorKind =
  /** The arguments form no request: nothing was sent. */
  | "arguments"
  /** The bridge was started wrongly: nothing was sent. */
  | "configuration"
  /** No daemon could be reached or started: nothing was sent. */
  | "not_sent"
  /** A read was sent and not answered: nothing changed. */
  | "failed_read"
  /** A mutation was sent and not answered: it may or may not have happened. */
  | "unknown_outcome"
  /** A fault of the bridge. */
  | "fault";

/**
 * The JSON a failed call is answered with: an engine error as the CLI prints it, or a `bridge_error`. `again` is the same call under its
 * request id, for a profile that has no gin_call to ask with.
 */
export function failureOf(
  thrown: unknown,
  prepared: Prepared | undefined,
  principal: string | undefined,
  again?: JsonObject,
): JsonObject {
  if (thrown instanceof EngineError) return { error: thrown.detail.raw };
  if (thrown instanceof UnknownOutcomeError) return unknownOutcome(thrown, principal, again);
  if (thrown instanceof ArgumentError) return bridgeError("arguments", thrown.message, thrown.fix);
  if (thrown instanceof TokenFileError || thrown instanceof PathsError) {
    return bridgeError("configuration", thrown.message, thrown.suggestion);
  }
  if (thrown instanceof UsageError) {
    return bridgeError("configuration", thrown.message, "correct the gin entry in the host's MCP configuration and restart it");
  }
  if (thrown instanceof StartError) return bridgeError("not_sent", thrown.message, `nothing was sent; ${thrown.suggestion}`);
  if (thrown instanceof NotSentError) return notAnswered(thrown);
  if (thrown instanceof NotStarted) return bridgeError("not_sent", thrown.message, "send it again if it is still wanted");
  if (thrown instanceof TransportError && prepared?.mutation !== true) {
    return bridgeError("failed_read", thrown.message, "nothing changed; ask again");
  }
  const name = thrown instanceof Error ? thrown.name : typeof thrown;
  return bridgeError("fault", `the bridge failed (${name})`, "ask gin_context where the workspace stands before going on");
}

function notAnswered(thrown: NotSentError): JsonObject {
  if (thrown.sent) return bridgeError("failed_read", thrown.message, "nothing changed; ask again");
  const absent = ["ENOENT", "ECONNREFUSED"].includes(thrown.code);
  return bridgeError(
    "not_sent",
    thrown.message,
    absent ? "nothing was sent; a person can run: gin start" : "nothing was sent; call again",
  );
}

function unknownOutcome(thrown: UnknownOutcomeError, principal: string | undefined, again: JsonObject | undefined): JsonObject {
  const id = thrown.requestId;
  if (again !== undefined) {
    const how = "it may or may not have happened: make next_call, the same call with the same request_id, which never runs twice";
    const error = bridgeError("unknown_outcome", `${thrown.message}: the outcome is unknown`, how);
    return { bridge_error: { ...(error.bridge_error as JsonObject), request_id: id, next_call: again } };
  }
  const next = thrown.recorded ? { request_outcome: { target_request_id: id } } : { list_leases: {} };
  const command = principal === undefined ? `gin outcome ${id}` : `gin outcome ${id} --of ${principal}`;
  const how = thrown.recorded
    ? `it may or may not have happened: ask gin_call with next_call (a person: ${command}), or send the identical request with the same request_id, which never runs twice`
    : "it may or may not have happened: gin_call with next_call shows the leases";
  const error = bridgeError("unknown_outcome", `${thrown.message}: the outcome is unknown`, how);
  return { bridge_error: { ...(error.bridge_error as JsonObject), request_id: id, next_call: next } };
}

function bridgeError(kind: BridgeErrorKind, message: string, suggestion: string): JsonObject {
  return { bridge_error: { kind, message, suggestion } };
}
