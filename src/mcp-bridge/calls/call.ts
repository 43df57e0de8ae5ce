import { isObject, type JsonObject, type JsonValue, type Prepared, prepare } from "../../clients/sdk/index.ts";
import { checkArguments } from "../catalog/check.ts";
import { fenceOf } from "../catalog/parts.ts";
import { ArgumentError, type Callable } from "../catalog/types.ts";
import type { Daemon } from "./daemon.ts";
import { type EnvelopeAnswer, envelopeAnswer, type Image } from "./envelope.ts";
import { failureOf } from "./failure.ts";
import { cutToFit, PAGE_BYTES, smallerLimit } from "./pages.ts";
import { envelopeWithin } from "./tool-pages.ts";

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

/** What a tool answers: texts, and whether they tell of an error. */
export interface ToolAnswer {
  readonly texts: readonly string[];
  readonly isError: boolean;
  readonly images?: readonly Image[];
  /** Says the same as the texts. */
  readonly structured?: JsonObject;
}

/**
 * Runs one tool. Never throws: whatever happens is an answer. The first text is the response as `gin --json` prints it, or what the envelope
 * of a tool of the table says; where no text names the request id of a mutation, a further one does.
 */
export async function callTool(tool: Callable, call: ToolCall, daemon: Daemon): Promise<ToolAnswer> {
  let prepared: Prepared | undefined;
  try {
    const args = argumentsOf(tool, call.arguments);
    prepared = prepare(tool.request(args));
    const answer = await answerOf(tool, args, prepared, call, daemon);
    return { ...answer, texts: withRequestId(answer.texts, prepared) };
  } catch (thrown) {
    const failure = failureOf(thrown, prepared, daemon.principal, againOf(tool, prepared));
    if (isFault(failure)) process.stderr.write(`gin mcp: ${thrown instanceof Error ? thrown.stack : String(thrown)}\n`);
    return { texts: withRequestId([fitting(failure)], prepared), isError: true };
  }
}

function argumentsOf(tool: Callable, given: unknown): JsonObject {
  if (tool.inputSchema !== undefined) return checkArguments(tool.inputSchema, given);
  if (given === undefined) return {};
  if (!isObject(given)) throw new ArgumentError("arguments must be an object", "give an object for arguments");
  return given;
}

/** Of a tool by its own name: the call that was made, with its request id. */
function againOf(tool: Callable, prepared: Prepared | undefined): JsonObject | undefined {
  const message = prepared?.request.call_tool;
  if (tool.inputSchema !== undefined || !isObject(message) || !isObject(message.arguments)) return undefined;
  return { tool: tool.name, arguments: { ...message.arguments, ...fenceOf(message), request_id: prepared?.requestId ?? "" } };
}

async function answerOf(
  tool: Callable,
  args: JsonObject,
  prepared: Prepared,
  call: ToolCall,
  daemon: Daemon,
): Promise<ToolAnswer> {
  if (tool.shows !== "call_tool") {
    const { text, isError } = await pageOf(tool, prepared, call, daemon);
    return { texts: [text], isError };
  }
  const message = prepared.request.call_tool;
  const sent = isObject(message) ? message : {};
  const table = {
    tool: String(sent.tool),
    arguments: isObject(sent.arguments) ? sent.arguments : {},
    mutation: prepared.mutation,
  };
  let last: JsonObject = {};
  const ask = async (given: JsonObject): Promise<JsonObject | undefined> => {
    const request = { call_tool: { ...sent, arguments: given } };
    last = await daemon.send({ ...prepared, request }, call.signal, call.client);
    return isObject(last.call_tool) ? last.call_tool : undefined;
  };
  const of = (response: JsonObject): EnvelopeAnswer => envelopeAnswer(tool, args, response);
  const unbounded = async (): Promise<EnvelopeAnswer | undefined> => {
    const response = await ask(table.arguments);
    return response === undefined ? undefined : of(response);
  };
  const answer = await (tool.whole === true ? unbounded() : envelopeWithin(table, ask, of));
  // What is refused around the tool (who calls, which workspace) has no envelope.
  return answer ?? { texts: [fitting(last)], isError: true };
}

/** The response as text; of a read that came too large for one answer, a smaller page. */
async function pageOf(
  tool: Callable,
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
    const text = JSON.stringify(tool.lean === true && shown === page ? lean(shown) : shown);
    const bytes = Buffer.byteLength(text);
    if (bytes <= PAGE_BYTES) return { text, isError };
    const pages = !prepared.mutation && isObject(page) && asked < SMALLER_PAGES_MAX;
    const limit = pages ? smallerLimit(prepared.operation, page, bytes) : undefined;
    if (limit === undefined) return { text: fitting(shown), isError };
    asking = limited(prepared, limit);
  }
}

/** Without what is empty: a message of many fields of which an answer fills few. */
function lean(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(lean);
  if (!isObject(value)) return value;
  const full = Object.entries(value).filter(
    ([, one]) => one !== "" && one !== false && one !== null && !(Array.isArray(one) && one.length === 0),
  );
  return Object.fromEntries(full.map(([name, one]) => [name, lean(one)]));
}

/** The same read with another page size. */
function limited(prepared: Prepared, limit: number): Prepared {
  const [field, message] = Object.entries(prepared.request)[0] ?? [prepared.operation, {}];
  const size = prepared.operation === "lsp" ? "page_size" : "limit";
  return { ...prepared, request: { [field]: { ...(isObject(message) ? message : {}), [size]: limit } } };
}

function fitting(message: JsonObject): string {
  return JSON.stringify(cutToFit(message));
}

function withRequestId(texts: readonly string[], prepared: Prepared | undefined): readonly string[] {
  const id = prepared?.mutation === true ? prepared.requestId : undefined;
  const told = id === undefined || texts.some((text) => text.includes(JSON.stringify(id)));
  return told ? texts : [...texts, JSON.stringify({ request_id: id })];
}

function isFault(failure: JsonObject): boolean {
  return isObject(failure.bridge_error) && failure.bridge_error.kind === "fault";
}
