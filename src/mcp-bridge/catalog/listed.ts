import type { JsonObject } from "../../clients/sdk/index.ts";
import type { Property, Shape, Tool, ToolHints } from "./types.ts";

/** A tool as `tools/list` shows it: no more than JSON Schema and the protocol know. */
export interface Listed {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: JsonObject & { readonly type: "object" };
  readonly annotations: ToolHints & { readonly title: string };
}

/** A tool of the catalog as it is listed. */
export function listed(tool: Tool): Listed {
  return {
    name: tool.name,
    title: tool.title,
    description: tool.description,
    inputSchema: plainShape(tool.inputSchema),
    annotations: { title: tool.title, ...tool.annotations },
  };
}

function plainShape(shape: Shape): JsonObject & { readonly type: "object" } {
  const properties: JsonObject = {};
  for (const [name, property] of Object.entries(shape.properties)) properties[name] = plain(property);
  const { required, ...rest } = shape;
  return { ...rest, properties, ...(required !== undefined && { required: [...required] }) };
}

/** A property in the words of JSON Schema alone. */
export function plain(property: Property | Shape): JsonObject {
  if (property.type === "array") return { ...property, items: plain(property.items) };
  if (property.type === "object" && "properties" in property) return plainShape(property);
  if (property.type !== "string") return { ...property };
  const { counter: _ours, enum: values, ...rest } = property;
  return { ...rest, ...(values !== undefined && { enum: [...values] }) };
}
