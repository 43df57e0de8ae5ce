import type { JsonObject } from "../../clients/sdk/index.ts";
import type { Property, Shape, Tool, ToolHints } from "./types.ts";

/** Hints of a tool that only reads. */
export const READS: ToolHints = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };

/** `cursor` of every tool whose answer has pages. */
export const CURSOR: Property = { type: "string", description: "next_cursor of the page before" };

/** `snapshot` of the tools that look at one state. */
export const SNAPSHOT: Property = { type: "string", description: "head (default), base, published or a checkpoint id" };

/** `request_id` of every tool that may change something. */
export const REQUEST_ID = {
  type: "string",
  description: "Your own id of this request; else one is made",
} as const satisfies Property;

/** `limit` of a page, in bytes or entries as `of` says. */
export const limit = (of: string): Property => ({ type: "integer", minimum: 0, description: `Most ${of} in a page` });

/** A line number: from 1; 0 is the daemon's default. */
export const line = (description: string): Property => ({ type: "integer", minimum: 0, description });

/** A 64-bit number, which is text on the wire. */
export const counter = (description: string): Property => ({ type: "string", counter: true, description });

/** A text. */
export const text = (description: string): Property => ({ type: "string", description });

/** The fence of a lease, of every tool that may change files. */
export const FENCE: { readonly [name: string]: Property } = {
  lease_incarnation: text("Fence of your lease, with lease_epoch"),
  lease_epoch: counter("Fence of your lease"),
};

/** The fence among some arguments. */
export function fenceOf(args: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(args).filter(([name]) => Object.hasOwn(FENCE, name)));
}

/** A truth value. */
export const flag = (description: string): Property => ({ type: "boolean", description });

/** Arguments of a tool: `properties`, and `request_id`, which every tool takes. */
export function shape(properties: { readonly [name: string]: Property }, required: readonly string[] = []): Shape {
  const all = { ...properties, request_id: REQUEST_ID };
  return { type: "object", properties: all, ...(required.length > 0 && { required }), additionalProperties: false };
}

/** A tool whose arguments are the fields of one operation's request, and which shows that operation's response. */
export function direct(
  name: string,
  operation: string,
  told: { readonly title: string; readonly description: string; readonly hints?: ToolHints },
  inputSchema: Shape,
): Tool {
  return {
    name,
    title: told.title,
    description: told.description,
    inputSchema,
    annotations: told.hints ?? READS,
    request: (args: JsonObject) => ({ [operation]: args }),
    shows: operation,
  };
}
