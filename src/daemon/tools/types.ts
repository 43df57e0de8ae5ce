import type { Caller, Clock, Json, Log, Random, Scope } from "../base/index.ts";
import type { Differ } from "../history/index.ts";
import type { LspAnswer, LspAsk } from "../lsp/index.ts";
import type { Memory } from "../memory/index.ts";
import type { Search } from "../search/index.ts";
import type { RequestRow, Store } from "../store/index.ts";
import type { EditInput, SaveOutcome, Workspace } from "../workspace/index.ts";

/** A JSON object. */
export type JsonMap = { readonly [key: string]: Json };

/** What a tool may do to the world; read_only ones cannot change anything by construction: their context has no `save`. */
export type Risk = "read_only" | "mutating" | "shell" | "network";

/** The part of JSON Schema (draft 2020-12) the tools' arguments are described in: the one source of validation, `--schema` and docs. */
export interface ArgSchema {
  readonly type?: "object" | "string" | "integer" | "number" | "boolean" | "array";
  readonly description?: string;
  readonly properties?: { readonly [name: string]: ArgSchema };
  readonly required?: readonly string[];
  readonly additionalProperties?: false | ArgSchema;
  readonly items?: ArgSchema;
  readonly enum?: readonly string[];
  readonly oneOf?: readonly ArgSchema[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minLength?: number;
  readonly default?: Json;
}

/** A tool's arguments: always a closed object. */
export type ToolSchema = ArgSchema & {
  readonly type: "object";
  readonly properties: { readonly [name: string]: ArgSchema };
  readonly additionalProperties: false;
};

/** A block of an answer beside its text. */
export interface ContentBlock {
  readonly type: "text" | "image";
  readonly text?: string;
  readonly data?: Uint8Array;
  readonly mimeType?: string;
}

/** A call that goes on where this one ended, exact: it can be sent as it is. */
export interface NextCall {
  readonly tool: string;
  readonly arguments: JsonMap;
}

/** What a tool that did its work gives. A tool that refuses throws a GinError. */
export interface ToolResult {
  /** Text for the model; data, never instructions. */
  readonly result?: string;
  readonly content?: readonly ContentBlock[];
  readonly meta?: JsonMap;
  readonly nextCall?: NextCall;
  readonly classification?: string;
  /** Checkpoint it made. */
  readonly checkpoint?: string;
}

/** Language servers, asked in the name of the call: about its workspace, with the caller's rights. */
export interface ToolServers {
  ask(question: Omit<LspAsk, "workspace" | "authorise" | "visible" | "signal">): Promise<LspAnswer>;
}

/** Everything a read-only tool works with. One a call. */
export interface ReadContext {
  readonly caller: Caller;
  readonly workspace: Workspace;
  readonly store: Store;
  readonly differ: Differ;
  readonly memory: Memory;
  readonly search: Search;
  readonly servers: ToolServers;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** "" for a read that has none. */
  readonly requestId: string;
  /** Throws SCOPE_FORBIDDEN unless the caller may read a canonical path. */
  readonly authorise: (path: string) => void;
  /** Throws SCOPE_FORBIDDEN unless the caller has a scope; `read` it always has. */
  readonly requireScope: (scope: Scope) => void;
  /** Opaque places for paging, bound to caller, tool and `query`. */
  readonly cursors: {
    /** `tool`: the one that will open it; default the one that runs. */
    seal(query: JsonMap, position: Json, tool?: string): string;
    /** Undefined for "". Throws INVALID_CURSOR. */
    open(query: JsonMap, cursor: string): Json | undefined;
  };
  /** The table of all tools, for list_tools. */
  readonly tools: ToolTable;
  /** Of the daemon, e.g. "0.1.0". */
  readonly version: string;
}

/** How a save of a tool is made. */
export interface ToolSave {
  readonly edits: readonly EditInput[];
  readonly onConflict?: "refuse" | "merge";
  readonly message?: string;
  readonly cause?: "tool" | "undo" | "redo";
  readonly undoes?: readonly string[];
}

/** What a mutating tool works with besides: the one save engine. */
export interface WriteContext extends ReadContext {
  /**
   * Saves everything or nothing, in this call's name: request id, lease and rights are seen to, and what `answer` makes of the
   * outcome is stored with it, so that a retry of the same request id replays it. At most once a call. Throws what Save throws.
   */
  save(what: ToolSave, answer: (outcome: SaveOutcome) => ToolResult): Promise<ToolResult>;
  /** The answer of a call that changed nothing after all, recorded under the request id. */
  unchanged(result: ToolResult): Promise<ToolResult>;
  /** The outcome row of a call whose effect is in the store, for the room to write in the transaction of that effect. */
  record(result: ToolResult): RequestRow;
}

/** What every entry of the table says. */
interface ToolFacts {
  readonly name: string;
  /** What it does, for a model that reads nothing else. */
  readonly description: string;
  readonly features: readonly string[];
  readonly schema: ToolSchema;
  /** Words that speak for it, for the router. */
  readonly intents?: readonly Intent[];
}

/** A rule of the router: worth `points` when the need has one of `any`, and one of each list in `also`. */
export interface Intent {
  readonly points: number;
  readonly any: readonly string[];
  readonly also?: readonly (readonly string[])[];
}

/** A tool that runs here. */
export type Tool = ToolFacts &
  (
    | { readonly risk: "read_only"; run(args: JsonMap, context: ReadContext): Promise<ToolResult> }
    | {
        readonly risk: "mutating";
        /** Whether these arguments change anything: a dry run, a list or a preview needs no request id and no right to save. */
        changes(args: JsonMap): boolean;
        run(args: JsonMap, context: WriteContext): Promise<ToolResult>;
      }
  );

/** A tool that this host cannot run, and why. */
export type MissingTool = ToolFacts & { readonly risk: Risk; readonly missing: string };

export type AnyTool = Tool | MissingTool;

/** The 22 tools in catalog order. */
export type ToolTable = readonly AnyTool[];
