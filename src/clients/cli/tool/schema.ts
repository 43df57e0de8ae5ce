import { isObject, type JsonObject, type JsonValue } from "../../sdk/index.ts";
import { list } from "../output.ts";

/** The tools of a ListTools answer that can run, as OpenAI's function calling describes them: parameters without descriptions. */
export function functionSchema(answer: JsonObject): JsonObject[] {
  return list(answer, "tools")
    .filter((tool) => tool.available === true)
    .map(({ name = "", description = "", schema }) => ({
      type: "function",
      function: { name, description, parameters: isObject(schema) ? lean(schema) : {} },
    }));
}

/** A schema without descriptions, at every depth. An argument that is called "description" stays. */
function lean(schema: JsonObject): JsonObject {
  const { description: _description, ...rest } = schema;
  const out: JsonObject = {};
  for (const [name, value] of Object.entries(rest)) {
    if (name === "properties" && isObject(value)) {
      out[name] = Object.fromEntries(Object.entries(value).map(([argument, one]) => [argument, leanValue(one)]));
    } else {
      out[name] = Array.isArray(value) ? value.map(leanValue) : leanValue(value);
    }
  }
  return out;
}

function leanValue(value: JsonValue): JsonValue {
  return isObject(value) ? lean(value) : value;
}
