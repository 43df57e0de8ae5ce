import { create, type JsonObject } from "@bufbuild/protobuf";
import {
  type CallToolRequest,
  type CallToolResponse,
  CallToolResponseSchema,
  type ListToolsResponse,
  ListToolsResponseSchema,
} from "../../../gen/gin/v1/tool_pb.ts";
import type { Scope } from "../../base/index.ts";
import { mayTouch, requireScope } from "../../policy/index.ts";
import type { DetailRow, RequestRow } from "../../store/index.ts";
import {
  type AdmittedCall,
  admit,
  compressed,
  type JsonMap,
  run,
  TOOLS,
  type ToolResult,
  type ToolSave,
  type WriteContext,
} from "../../tools/index.ts";
import type { SaveInput } from "../../workspace/index.ts";
import type { CursorScope } from "../cursors.ts";
import { type Ground, type Handlers, type Invocation, stateIn, targetOf } from "../invocation.ts";
import { LIMITS } from "../limits.ts";
import { requirePath } from "../resolve.ts";
import { saverOf } from "./save.ts";

/** ListTools and CallTool. What a tool does is the tools room's; who may, under which request id and lease, is seen to here. */
export function toolHandlers(ground: Ground): Pick<Handlers, "listTools" | "callTool"> {
  return {
    listTools: (request, call): ListToolsResponse =>
      create(ListToolsResponseSchema, {
        ...stateIn(call),
        version: ground.version,
        tools: TOOLS.map((tool) => ({
          name: tool.name,
          description: tool.description,
          risk: tool.risk,
          features: [...tool.features],
          available: !("missing" in tool),
          whyNot: "missing" in tool ? tool.missing : "",
          ...(request.includeSchema ? { schema: tool.schema as unknown as JsonObject } : {}),
        })),
      }),
    callTool: async (request, call) => {
      const admitted = admittedOf(request);
      const context = new CallContext(ground, request, call);
      const result = await run(admitted, context);
      await context.settle();
      return context.response(result);
    },
  };
}

/** The arguments of a call; none is the empty object. */
function argumentsOf(request: CallToolRequest): JsonMap {
  return (request.arguments ?? {}) as JsonMap;
}

/** Calls that were found to be in order, so that long arguments are gone through once. */
const ADMITTED = new WeakMap<CallToolRequest, AdmittedCall>();

/** The call, once it is found to be in order. Throws as admit. */
function admittedOf(request: CallToolRequest): AdmittedCall {
  const admitted = ADMITTED.get(request) ?? admit(request.tool, argumentsOf(request));
  ADMITTED.set(request, admitted);
  return admitted;
}

/** Whether a call is one whose outcome is kept: only those that change something, and that may run at all. */
export function changesSomething(request: CallToolRequest): boolean {
  try {
    return admittedOf(request).changes;
  } catch {
    // Refused for what it is: the handler says so, and there is no outcome to keep.
    return false;
  }
}

/** What one call hands to its tool. */
class CallContext implements WriteContext {
  readonly caller: WriteContext["caller"];
  readonly workspace: WriteContext["workspace"];
  readonly store: WriteContext["store"];
  readonly differ: WriteContext["differ"];
  readonly memory: WriteContext["memory"];
  readonly search: WriteContext["search"];
  readonly servers: WriteContext["servers"];
  readonly clock: WriteContext["clock"];
  readonly random: WriteContext["random"];
  readonly log: WriteContext["log"];
  readonly signal: AbortSignal;
  readonly requestId: string;
  readonly tools = TOOLS;
  readonly version: string;
  readonly cursors: WriteContext["cursors"];
  readonly #ground: Ground;
  readonly #request: CallToolRequest;
  readonly #call: Invocation<"callTool">;
  #detail: DetailRow | undefined;

  constructor(ground: Ground, request: CallToolRequest, call: Invocation<"callTool">) {
    this.#ground = ground;
    this.#request = request;
    this.#call = call;
    const target = targetOf(call);
    this.caller = call.caller;
    this.workspace = target.workspace;
    this.store = ground.store;
    this.differ = ground.differ;
    this.memory = ground.memory;
    this.search = ground.search;
    this.servers = {
      ask: (question) =>
        ground.lsp.ask({
          ...question,
          workspace: ground.lsp.of(target, target.workspace),
          authorise: this.authorise,
          visible: (path) => mayTouch(call.caller, path),
          signal: call.signal,
        }),
    };
    this.clock = ground.clock;
    this.random = ground.random;
    this.log = ground.log;
    this.signal = call.signal;
    this.requestId = request.requestId;
    this.version = ground.version;
    const scope = (query: JsonMap, tool: string): CursorScope => ({
      operation: `CallTool ${tool}`,
      principal: call.caller.principal,
      query: [target.id, query],
    });
    this.cursors = {
      seal: (query, position, tool = request.tool) => ground.cursors.seal(scope(query, tool), position),
      open: (query, cursor) => ground.cursors.open(scope(query, request.tool), cursor),
    };
  }

  readonly authorise = (path: string): void => requirePath(this.caller, path);
  readonly requireScope = (scope: Scope): void => requireScope(this.caller, scope);
  readonly record = (result: ToolResult): RequestRow => this.#row(result);

  async save(what: ToolSave, answer: Parameters<WriteContext["save"]>[1]): Promise<ToolResult> {
    const remember: NonNullable<SaveInput["remember"]> = (outcome) => this.#row(answer(outcome));
    return answer(await this.workspace.save({ ...this.#input(what), remember }));
  }

  async unchanged(result: ToolResult): Promise<ToolResult> {
    await this.store.write("request", this.#row(result));
    return result;
  }

  /** What the committed row names must be there before the answer. */
  async settle(): Promise<void> {
    if (this.#detail !== undefined) await this.store.write("detail", this.#detail);
  }

  response(whole: ToolResult): CallToolResponse {
    const result = this.#request.compress ? compressed(whole) : whole;
    const { nextCall, meta } = result;
    return create(CallToolResponseSchema, {
      ...stateIn(this.#call),
      ok: true,
      result: result.result ?? "",
      content: (result.content ?? []).map((block) => ({ ...block })),
      ...(meta === undefined ? {} : { meta: meta as JsonObject }),
      classification: result.classification ?? "",
      requestId: this.requestId,
      ...(nextCall === undefined ? {} : { nextCall: { ...nextCall } as unknown as JsonObject }),
      checkpoint: result.checkpoint ?? "",
    });
  }

  /** The outcome's row; an answer too long to be kept goes to Details whole, and the row says where. */
  #row(result: ToolResult): ReturnType<Invocation<"callTool">["remember"]> {
    const response = this.response(result);
    const row = this.#call.remember(response);
    if (row.answer.byteLength <= LIMITS.answer_kept_bytes.value) return row;
    const id = this.random.id("dt");
    const { result: text, content, meta } = result;
    const body = Buffer.from(JSON.stringify({ result: text ?? "", content: content ?? [], meta: meta ?? {} }));
    this.#detail = {
      id,
      workspace: targetOf(this.#call).rowid,
      principal: this.caller.principal,
      kind: "tool.result",
      body,
      timeMs: row.timeMs,
    };
    const kept = { ...response, content: [], meta: { detail_id: id } };
    const short = this.#call.remember(response, kept);
    return short.answer.byteLength <= LIMITS.answer_kept_bytes.value
      ? short
      : this.#call.remember(response, { ...kept, result: "" });
  }

  #input(what: ToolSave): SaveInput {
    return {
      ...saverOf(this.#ground, this.#request, this.caller),
      edits: what.edits,
      onConflict: what.onConflict ?? "refuse",
      message: what.message ?? this.#request.tool,
      dryRun: false,
      cause: what.cause ?? "tool",
      ...(what.undoes === undefined ? {} : { undoes: what.undoes }),
      signal: this.signal,
    };
  }
}
