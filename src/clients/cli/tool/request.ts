import { isObject, type JsonObject } from "../../sdk/index.ts";
import { parseStrict, StrictJsonError } from "./strict-json.ts";

/** Largest request, in bytes. */
export const REQUEST_BYTES = 16 * 1024 * 1024;

/** One call as the protocol spells it. */
export interface ToolRequest {
  readonly tool: string;
  readonly args: JsonObject;
  readonly compress: boolean;
  /** "" when none was given. */
  readonly requestId: string;
}

/** A request that is none. `code` is the envelope's; `requestId` the one that could be read all the same, or "". */
export class BadRequest extends Error {
  readonly code: "invalid_json" | "invalid_args" | "resource_limit";
  readonly requestId: string;

  constructor(code: BadRequest["code"], message: string, requestId = "") {
    super(message);
    this.name = "BadRequest";
    this.code = code;
    this.requestId = requestId;
  }
}

const KEYS = ["tool", "args", "client", "compress", "request_id"];

/** Reads one request. Throws BadRequest. */
export function readRequest(bytes: Uint8Array): ToolRequest {
  const value = strict(bytes, "request");
  const requestId = requestIdOf(value);
  const refuse = (message: string): BadRequest => new BadRequest("invalid_args", message, requestId);
  if (!isObject(value)) throw refuse("the request must be a JSON object");
  for (const key of Object.keys(value)) {
    if (!KEYS.includes(key)) throw refuse(`/${key.slice(0, 128)}: is no key of a request; those are ${KEYS.join(", ")}`);
  }
  const { tool, args = {}, compress = false, request_id = "" } = value;
  if (typeof tool !== "string" || tool.trim() === "") throw refuse("/tool: must be the name of a tool");
  if (!isObject(args)) throw refuse("/args: must be a JSON object");
  if (typeof compress !== "boolean") throw refuse("/compress: must be true or false");
  if (typeof request_id !== "string") throw refuse("/request_id: must be a string");
  return { tool, args, compress, requestId };
}

/** Reads the arguments alone. Throws BadRequest. */
export function readArguments(bytes: Uint8Array): JsonObject {
  const value = strict(bytes, "arguments");
  if (!isObject(value)) throw new BadRequest("invalid_args", "the arguments must be a JSON object");
  return value;
}

function strict(bytes: Uint8Array, what: string): unknown {
  if (bytes.byteLength > REQUEST_BYTES)
    throw new BadRequest("resource_limit", `the ${what} has more than ${REQUEST_BYTES} bytes`);
  try {
    return parseStrict(bytes);
  } catch (thrown) {
    if (thrown instanceof StrictJsonError) throw new BadRequest("invalid_json", thrown.message, requestIdOf(thrown.value));
    throw thrown;
  }
}

function requestIdOf(value: unknown): string {
  const id = typeof value === "object" && value !== null && "request_id" in value ? value.request_id : undefined;
  return typeof id === "string" ? id : "";
}
