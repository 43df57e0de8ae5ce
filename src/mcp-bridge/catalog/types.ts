import type { JsonObject } from "../../clients/sdk/index.ts";

/** A property of a tool's arguments, in the part of JSON Schema that every host takes: typed, no $ref, no oneOf, arrays with items. */
export type Property =
  | {
      readonly type: "string";
      readonly description: string;
      readonly enum?: readonly string[];
      /** True: a 64-bit number, written as text; a plain number is taken too. Not part of the schema that is listed. */
      readonly counter?: true;
    }
  | { readonly type: "boolean"; readonly description: string }
  | { readonly type: "integer"; readonly description: string; readonly minimum: number }
  | { readonly type: "array"; readonly description: string; readonly items: Property | Shape }
  | (Shape & { readonly description: string })
  /** Any object: its fields are judged by the daemon. */
  | { readonly type: "object"; readonly description: string; readonly additionalProperties: true };

/** An object of known properties. */
export interface Shape {
  readonly type: "object";
  readonly properties: { readonly [name: string]: Property };
  readonly required?: readonly string[];
  readonly additionalProperties: false;
}

/** Hints to hosts about what a tool may do. openWorldHint: it speaks to the world outside of the workspace. */
export interface ToolHints {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
  readonly openWorldHint: boolean;
}

/** What is known of a tool to call it: which `gin.v1.Request` its arguments make, and what of the response is shown. */
export interface Callable {
  readonly name: string;
  /** Undefined: the arguments are any object, and the daemon's to judge. */
  readonly inputSchema: Shape | undefined;
  /** The request for checked arguments. Throws ArgumentError for what no schema expresses. */
  readonly request: (args: JsonObject) => JsonObject;
  /** The field of the response that is shown; undefined shows the whole Response, "call_tool" the tool envelope. */
  readonly shows: string | undefined;
  /** True: of what is shown, empty texts, empty lists and false are left out. */
  readonly lean?: true;
  /** True: the envelope goes out as `gin tool` prints it, with the pages of the table however large. Left out: within PAGE_BYTES. */
  readonly whole?: true;
  /**
   * How `next_call` of an envelope is made with the tools of this profile; undefined when it cannot be. It is a call of the table,
   * `{tool, arguments}`, or of a refusal a whole Request. `given` are the arguments of the call that was answered.
   */
  readonly nextCall?: (next: JsonObject, given: JsonObject) => JsonObject | undefined;
}

/** One tool of the catalog, and how it is listed. */
export interface Tool extends Callable {
  readonly title: string;
  readonly description: string;
  readonly inputSchema: Shape;
  readonly annotations: ToolHints;
}

/** Arguments that cannot form a request. `message` names the argument, `fix` says what to give instead. */
export class ArgumentError extends Error {
  readonly fix: string;

  constructor(message: string, fix: string) {
    super(message);
    this.name = "ArgumentError";
    this.fix = fix;
  }
}
