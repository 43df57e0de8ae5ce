import { isObject, type JsonObject, type JsonValue } from "../../clients/sdk/index.ts";
import { ArgumentError, type Property, type Shape } from "./types.ts";

/**
 * Arguments by their schema, strictly: unknown, missing and wrongly typed ones throw ArgumentError. Two habits of hosts that leave no doubt
 * about what is meant are taken: null for an optional argument that is left out, and an object or array sent as its JSON text.
 */
export function checkArguments(shape: Shape, value: unknown): JsonObject {
  return checkShape(shape, (value ?? {}) as JsonValue, "");
}

function checkShape(shape: Shape, given: JsonValue, at: string): JsonObject {
  const value = unpacked(given, "object");
  if (!isObject(value)) throw wrong(at, "an object", given);
  const known = Object.keys(shape.properties);
  const checked: JsonObject = {};
  for (const [name, item] of Object.entries(value)) {
    const path = at === "" ? name : `${at}.${name}`;
    const property = Object.hasOwn(shape.properties, name) ? shape.properties[name] : undefined;
    if (property === undefined) {
      throw new ArgumentError(`there is no argument ${shown(path)}`, `leave it out; there are: ${known.join(", ") || "none"}`);
    }
    if (item !== null) checked[name] = checkProperty(property, item, path);
  }
  for (const name of shape.required ?? []) {
    if (!Object.hasOwn(checked, name)) {
      const path = at === "" ? name : `${at}.${name}`;
      throw new ArgumentError(`${path} is missing`, `give ${path}: ${shape.properties[name]?.description ?? ""}`);
    }
  }
  return checked;
}

function checkProperty(property: Property, value: JsonValue, at: string): JsonValue {
  switch (property.type) {
    case "string":
      return checkString(property, value, at);
    case "boolean":
      if (typeof value !== "boolean") throw wrong(at, "true or false", value);
      return value;
    case "integer":
      if (typeof value !== "number" || !Number.isInteger(value)) throw wrong(at, "an integer", value);
      if (value < property.minimum || value > 0xffff_ffff) throw wrong(at, `${property.minimum} or more, in 32 bits`, value);
      return value;
    case "array": {
      const list = unpacked(value, "array");
      if (!Array.isArray(list)) throw wrong(at, "an array", value);
      const { items } = property;
      return list.map((item, index) => checkItem(items, item, `${at}[${index}]`));
    }
    case "object":
      return checkItem(property, value, at);
  }
}

function checkItem(property: Property | Shape, value: JsonValue, at: string): JsonValue {
  if (property.type !== "object") return checkProperty(property, value, at);
  if ("properties" in property) return checkShape(property, value, at);
  const object = unpacked(value, "object");
  if (!isObject(object)) throw wrong(at, "an object", value);
  return object;
}

function checkString(property: Property & { readonly type: "string" }, value: JsonValue, at: string): string {
  if (property.counter === true && typeof value === "number") {
    if (!Number.isSafeInteger(value) || value < 0) throw wrong(at, "a whole number, as text beyond 2^53", value);
    return String(value);
  }
  if (typeof value !== "string") throw wrong(at, "text", value);
  if (property.counter === true && !/^\d{1,20}$/.test(value)) throw wrong(at, 'digits, as "42"', value);
  if (property.enum === undefined || property.enum.includes(value)) return value;
  throw wrong(at, `one of ${property.enum.join(", ")}`, value);
}

/** The object or array that a text holds as JSON; anything else as it is. */
function unpacked(value: JsonValue, kind: "object" | "array"): JsonValue {
  if (typeof value !== "string" || !/^\s*[{[]/.test(value)) return value;
  try {
    const parsed = JSON.parse(value) as JsonValue;
    return (kind === "array" ? Array.isArray(parsed) : isObject(parsed)) ? parsed : value;
  } catch {
    // Just a text, which the caller will not take.
    return value;
  }
}

function wrong(at: string, wanted: string, value: JsonValue): ArgumentError {
  const kind =
    value === null ? "null" : Array.isArray(value) ? "an array" : typeof value === "object" ? "an object" : typeof value;
  const name = at === "" ? "arguments" : shown(at);
  return new ArgumentError(`${name} must be ${wanted}, and is ${kind}`, `give ${wanted} for ${name}`);
}

function shown(name: string): string {
  return name.length > 80 ? `${name.slice(0, 80)}…` : name;
}
