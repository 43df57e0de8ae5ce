import type { Json } from "../../base/index.ts";
import type { AnyTool, ArgSchema, JsonMap } from "../types.ts";

/** A tool as OpenAI's function calling describes it, without the arguments' descriptions. */
export function functionSchema(tool: AnyTool): JsonMap {
  const { name, description, schema } = tool;
  return { type: "function", function: { name, description, parameters: lean(schema) } };
}

/** A schema without descriptions, at every depth. An argument that is called "description" stays. */
function lean(schema: ArgSchema): JsonMap {
  const { description: _description, properties, items, oneOf, additionalProperties, ...rest } = schema;
  return {
    ...(rest as JsonMap),
    ...(properties === undefined
      ? {}
      : { properties: Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, lean(one)])) }),
    ...(items === undefined ? {} : { items: lean(items) }),
    ...(oneOf === undefined ? {} : { oneOf: oneOf.map(lean) as Json }),
    ...(additionalProperties === undefined
      ? {}
      : { additionalProperties: additionalProperties === false ? false : lean(additionalProperties) }),
  };
}
