import { isObject, type JsonObject, type Prepared, prepare } from "../../clients/sdk/index.ts";
import { checkArguments } from "../catalog/check.ts";
import type { Tool } from "../catalog/types.ts";
import type { Daemon } from "./daemon.ts";
import { failureOf } from "./failure.ts";
import { bytesOf, cutToFit, PAGE_BYTES, smallerLimit } from "./pages.ts";

/** Pages asked for anew until one fits; each is smaller in proportion, so the second nearly always does. */
const SMALLER_PAGES_MAX = 4;

/** A `tools/call` as the protocol hands it over. */
export interface ToolCall {
  readonly arguments: unknown;
  /** Given when the host cancelled the call or left. */
  readonly signal: AbortSignal;
  /** The host's own name; undefined when it did not say. */
  readonly client: string | undefined;
}

/** What a tool answers: texts, and whether the first is an error. */
export interface ToolAnswer {
  readonly texts: readonly string[];
  readonly isError: boolean;
}

/**
 * Runs one tool. Never throws: whatever happens is an answer. The first text is the response as `gin --json` prints it; where that does not
 * name the request id of a mutation, a second text does.
 */
export async function callTool(tool: Tool, call: ToolCall, daemon: Daemon): Promise<ToolAnswer> {
  let prepared: Prepared | undefined;
  try {
    prepared = prepare(tool.request(checkArguments(tool.inputSchema, call.arguments)));
    return answerOf(tool, prepared, await pageOf(prepared, call, daemon));
  } catch (thrown) {
    const failure = failureOf(thrown, prepared, daemon.principal);
    if (isFault(failure)) process.stderr.write(`gin mcp: ${thrown instanceof Error ? thrown.stack : String(thrown)}\n`);
    return { texts: textsOf(failure, prepared), isError: true };
  }
}

/** The response; of a read that came too large for one answer, a smaller page. */
async function pageOf(prepared: Prepared, call: ToolCall, daemon: Daemon): Promise<JsonObject> {
  let response = await daemon.send(prepared, call.signal, call.client);
  for (let asked = 0; asked < SMALLER_PAGES_MAX && bytesOf(response) > PAGE_BYTES; asked += 1) {
    const shown = response[prepared.operation];
    const limit = !prepared.mutation && isObject(shown) ? smallerLimit(prepared.operation, shown) : undefined;
    if (limit === undefined) break;
    const [field, message] = Object.entries(prepared.request)[0] ?? [prepared.operation, {}];
    const smaller = { ...prepared, request: { [field]: { ...(message as JsonObject), limit } } };
    response = await daemon.send(smaller, call.signal, call.client);
  }
  return response;
}

function answerOf(tool: Tool, prepared: Prepared, response: JsonObject): ToolAnswer {
  const isError = isObject(response.error);
  const shown = tool.shows === undefined || isError ? response : response[tool.shows];
  return { texts: textsOf(isObject(shown) ? shown : response, prepared), isError };
}

function textsOf(message: JsonObject, prepared: Prepared | undefined): string[] {
  const text = JSON.stringify(cutToFit(message));
  const id = prepared?.mutation === true ? prepared.requestId : undefined;
  return id === undefined || text.includes(JSON.stringify(id)) ? [text] : [text, JSON.stringify({ request_id: id })];
}

function isFault(failure: JsonObject): boolean {
  return isObject(failure.bridge_error) && failure.bridge_error.kind === "fault";
}
