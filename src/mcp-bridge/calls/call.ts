import { isObject, type JsonObject, type Prepared, prepare } from "../../clients/sdk/index.ts";
import { checkArguments } from "../catalog/check.ts";
import type { Tool } from "../catalog/types.ts";
import type { Daemon } from "./daemon.ts";
import { failureOf } from "./failure.ts";
import { cutToFit, PAGE_BYTES, smallerLimit } from "./pages.ts";

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
    const { text, isError } = await pageOf(tool, prepared, call, daemon);
    return { texts: withRequestId(text, prepared), isError };
  } catch (thrown) {
    const failure = failureOf(thrown, prepared, daemon.principal);
    if (isFault(failure)) process.stderr.write(`gin mcp: ${thrown instanceof Error ? thrown.stack : String(thrown)}\n`);
    return { texts: withRequestId(fitting(failure), prepared), isError: true };
  }
}

/** The response as text; of a read that came too large for one answer, a smaller page. */
async function pageOf(
  tool: Tool,
  prepared: Prepared,
  call: ToolCall,
  daemon: Daemon,
): Promise<{ readonly text: string; readonly isError: boolean }> {
  let asking = prepared;
  for (let asked = 0; ; asked += 1) {
    const response = await daemon.send(asking, call.signal, call.client);
    const isError = isObject(response.error);
    const page = response[prepared.operation];
    const shown = tool.shows !== undefined && !isError && isObject(page) ? page : response;
    const text = JSON.stringify(shown);
    const bytes = Buffer.byteLength(text);
    if (bytes <= PAGE_BYTES) return { text, isError };
    const pages = !prepared.mutation && isObject(page) && asked < SMALLER_PAGES_MAX;
    const limit = pages ? smallerLimit(prepared.operation, page, bytes) : undefined;
    if (limit === undefined) return { text: fitting(shown), isError };
    asking = limited(prepared, limit);
  }
}

/** The same read with another page size. */
function limited(prepared: Prepared, limit: number): Prepared {
  const [field, message] = Object.entries(prepared.request)[0] ?? [prepared.operation, {}];
  return { ...prepared, request: { [field]: { ...(isObject(message) ? message : {}), limit } } };
}

function fitting(message: JsonObject): string {
  return JSON.stringify(cutToFit(message));
}

function withRequestId(text: string, prepared: Prepared | undefined): string[] {
  const id = prepared?.mutation === true ? prepared.requestId : undefined;
  return id === undefined || text.includes(JSON.stringify(id)) ? [text] : [text, JSON.stringify({ request_id: id })];
}

function isFault(failure: JsonObject): boolean {
  return isObject(failure.bridge_error) && failure.bridge_error.kind === "fault";
}
