import { isUtf8 } from "node:buffer";

/** Id of a JSON-RPC request, as MCP allows them. */
export type Id = string | number;

/** A message that is JSON-RPC 2.0, sorted by what it is. `message` is the whole of it. */
export type Message =
  | { readonly kind: "request"; readonly id: Id; readonly method: string; readonly message: Readonly<Record<string, unknown>> }
  | { readonly kind: "notification"; readonly method: string; readonly message: Readonly<Record<string, unknown>> }
  | { readonly kind: "response"; readonly message: Readonly<Record<string, unknown>> };

/** Codes of JSON-RPC that this transport answers with by itself. */
export const CODES = { parse: -32700, invalid: -32600, busy: -31029 } as const;

/** A line that is none. `id` is the one to answer with; null where none can be read. */
export interface Malformed {
  readonly kind: "malformed";
  readonly id: Id | null;
  readonly code: number;
  readonly reason: string;
}

/** Reads one line. Never throws. */
export function readMessage(line: Buffer): Message | Malformed {
  if (!isUtf8(line)) return malformed(null, CODES.parse, "Parse error: the line is not UTF-8");
  let value: unknown;
  try {
    value = JSON.parse(line.toString("utf8"));
  } catch {
    // What JSON.parse says quotes the line, which may be long and is not ours.
    return malformed(null, CODES.parse, "Parse error: the line is not JSON");
  }
  if (Array.isArray(value)) return malformed(null, CODES.invalid, "Invalid request: send one message a line, not a batch");
  if (!isRecord(value)) return malformed(null, CODES.invalid, "Invalid request: a message is a JSON object");
  return sort(value);
}

/** The request a `notifications/cancelled` names; undefined for any other message. */
export function cancelledId(message: Message): Id | undefined {
  if (message.kind !== "notification" || message.method !== "notifications/cancelled") return undefined;
  const { params } = message.message;
  const id = isRecord(params) ? params.requestId : undefined;
  return isId(id) ? id : undefined;
}

function sort(message: Readonly<Record<string, unknown>>): Message | Malformed {
  const { id, method, params } = message;
  const named = isId(id) ? id : null;
  if (message.jsonrpc !== "2.0") return malformed(named, CODES.invalid, 'Invalid request: jsonrpc must be "2.0"');
  if (typeof method !== "string") {
    const answers = named !== null && ("result" in message || "error" in message);
    return answers ? { kind: "response", message } : malformed(named, CODES.invalid, "Invalid request: method must be a string");
  }
  if (params !== undefined && !isRecord(params))
    return malformed(named, CODES.invalid, "Invalid request: params must be an object");
  if (!("id" in message)) return { kind: "notification", method, message };
  if (named === null) return malformed(null, CODES.invalid, "Invalid request: id must be a string or an integer");
  return { kind: "request", id: named, method, message };
}

function malformed(id: Id | null, code: number, reason: string): Malformed {
  return { kind: "malformed", id, code, reason };
}

function isId(value: unknown): value is Id {
  return typeof value === "string" || (typeof value === "number" && Number.isSafeInteger(value));
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
