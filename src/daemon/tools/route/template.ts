import type { Json } from "../../base/index.ts";
import type { ArgSchema, JsonMap, ToolSchema } from "../types.ts";

/** Stands where the caller must fill something in. */
const REQUIRED = "<required>";

/** The smallest arguments of a call, and JSON pointers of what is to be filled in. */
export interface Template {
  readonly call: JsonMap;
  readonly fill: readonly string[];
}

/** Writes the arguments that must be given: defaults, else the first value of an enum, else a place to fill in. */
export function templateOf(schema: ToolSchema): Template {
  const fill: string[] = [];
  return { call: object(schema, "", fill), fill };
}

function object(schema: ArgSchema, at: string, fill: string[]): JsonMap {
  const { properties = {}, required = [] } = schema;
  const entries = required.map((name) => [name, value(properties[name] ?? {}, `${at}/${name}`, fill)] as const);
  return Object.fromEntries(entries);
}

function value(schema: ArgSchema, at: string, fill: string[]): Json {
  if (schema.default !== undefined) return schema.default;
  const [first] = schema.enum ?? [];
  if (first !== undefined) return first;
  const [form] = schema.oneOf ?? [];
  if (form !== undefined) return value(form, at, fill);
  if (schema.type === "object" && schema.properties !== undefined) return object(schema, at, fill);
  if (schema.type === "array" && schema.items !== undefined) return [value(schema.items, `${at}/0`, fill)];
  fill.push(at);
  return REQUIRED;
}
