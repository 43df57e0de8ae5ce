import type { Json } from "../base/index.ts";
import type { JsonMap } from "./types.ts";

/** An argument's text; "" when it was not given. The schema has already seen to its type. */
export function textArg(args: JsonMap, name: string): string {
  const value = args[name];
  return typeof value === "string" ? value : "";
}

/** An argument's number; `standard` when it was not given. */
export function numberArg(args: JsonMap, name: string, standard: number): number {
  const value = args[name];
  return typeof value === "number" ? value : standard;
}

/** An argument's truth; `standard` when it was not given. */
export function flagArg(args: JsonMap, name: string, standard = false): boolean {
  const value = args[name];
  return typeof value === "boolean" ? value : standard;
}

/** An argument's entries that are objects; none when it was not given. */
export function objectsArg(args: JsonMap, name: string): readonly JsonMap[] {
  const value = args[name];
  return Array.isArray(value) ? (value as readonly Json[]).filter(isMap) : [];
}

/** Whether a value of JSON is an object, and not an array. */
export function isMap(value: unknown): value is JsonMap {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
