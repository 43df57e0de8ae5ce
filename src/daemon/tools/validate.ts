import { GinError, type Json } from "../base/index.ts";
import type { ArgSchema, JsonMap, ToolSchema } from "./types.ts";

/** Arguments that the reference refuses below zero in words of their own, before anything else. */
const COUNTS: ReadonlySet<string> = new Set([
  "timeout",
  "max_matches",
  "max_entries",
  "limit",
  "max_results",
  "depth",
  "max_depth",
  "context_lines",
  "highlight_sentences",
]);

/** Throws INVALID_REQUEST naming the argument's JSON pointer unless `args` fits the schema. Nothing is coerced. */
export function checkArgs(schema: ToolSchema, args: JsonMap): void {
  const broken = brokenValue(args);
  if (broken !== undefined) throw refused(broken.at, broken.says);
  for (const [name, value] of Object.entries(args)) {
    if (COUNTS.has(name) && typeof value === "number" && value < 0) throw refused(`/${name}`, "must be non-negative");
  }
  const fault = faultOf(schema, args, "");
  if (fault !== undefined) throw refused(fault.at === "" ? "/" : fault.at, fault.says);
}

/** A surrogate without its other half. */
const HALF = /\p{Surrogate}/u;

interface Fault {
  /** JSON pointer. */
  readonly at: string;
  readonly says: string;
}

function refused(at: string, says: string): GinError {
  return new GinError("INVALID_REQUEST", `args${at}: ${says}`, undefined, { facts: { field: `args${at}` } });
}

/** What no JSON in UTF-8 could say, and a message can all the same: half characters, and numbers that are none. */
function brokenValue(args: JsonMap): Fault | undefined {
  const waiting: { readonly at: string; readonly value: Json }[] = [{ at: "", value: args }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { at, value } = next;
    if (typeof value === "string" && HALF.test(value)) return { at, says: "holds half a character, which UTF-8 cannot carry" };
    if (typeof value === "number" && !Number.isFinite(value)) return { at, says: "must be a number" };
    if (typeof value !== "object" || value === null) continue;
    for (const [name, item] of Object.entries(value)) {
      if (HALF.test(name)) return { at, says: "has a name with half a character" };
      waiting.push({ at: `${at}/${pointer(name)}`, value: item });
    }
  }
  return undefined;
}

function faultOf(schema: ArgSchema, value: Json, at: string): Fault | undefined {
  if (schema.oneOf !== undefined) {
    const fits = schema.oneOf.filter((branch) => faultOf(branch, value, at) === undefined);
    if (fits.length !== 1) return { at, says: `must be exactly one of its ${schema.oneOf.length} forms` };
    return undefined;
  }
  const typed = typeFault(schema, value, at);
  if (typed !== undefined) return typed;
  if (schema.enum !== undefined && !(typeof value === "string" && schema.enum.includes(value)))
    return { at, says: `must be one of ${schema.enum.join(", ")}` };
  if (typeof value === "number") return numberFault(schema, value, at);
  if (typeof value === "string" && schema.minLength !== undefined && value.length < schema.minLength)
    return { at, says: `must have at least ${schema.minLength} characters` };
  if (Array.isArray(value)) return arrayFault(schema, value as readonly Json[], at);
  if (typeof value === "object" && value !== null) return objectFault(schema, value as JsonMap, at);
  return undefined;
}

function typeFault({ type }: ArgSchema, value: Json, at: string): Fault | undefined {
  if (type === undefined) return undefined;
  const is = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
  const fits = type === "integer" ? is === "number" && Number.isSafeInteger(value) : is === type;
  return fits ? undefined : { at, says: `must be ${article(type)}, not ${is}` };
}

function article(type: string): string {
  return /^[aio]/.test(type) ? `an ${type}` : `a ${type}`;
}

function numberFault({ minimum, maximum }: ArgSchema, value: number, at: string): Fault | undefined {
  if (minimum !== undefined && value < minimum) return { at, says: `must be at least ${minimum}` };
  if (maximum !== undefined && value > maximum) return { at, says: `must be at most ${maximum}` };
  return undefined;
}

function arrayFault({ items, minItems, maxItems }: ArgSchema, value: readonly Json[], at: string): Fault | undefined {
  if (minItems !== undefined && value.length < minItems) return { at, says: `must have at least ${minItems} entries` };
  if (maxItems !== undefined && value.length > maxItems) return { at, says: `must have at most ${maxItems} entries` };
  if (items === undefined) return undefined;
  for (const [index, item] of value.entries()) {
    const fault = faultOf(items, item, `${at}/${index}`);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function objectFault(schema: ArgSchema, value: JsonMap, at: string): Fault | undefined {
  const { properties = {}, required = [], additionalProperties } = schema;
  for (const name of required) if (!Object.hasOwn(value, name)) return { at: `${at}/${pointer(name)}`, says: "is required" };
  for (const [name, item] of Object.entries(value)) {
    const known = Object.hasOwn(properties, name) ? properties[name] : undefined;
    const judged = known ?? (additionalProperties === false ? undefined : additionalProperties);
    if (known === undefined && additionalProperties === false)
      return { at: `${at}/${pointer(name)}`, says: "is no argument of this tool" };
    const fault = judged === undefined ? undefined : faultOf(judged, item, `${at}/${pointer(name)}`);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** A name as a JSON pointer spells it, cut: it may be anything the caller wrote. */
function pointer(name: string): string {
  return [...name.slice(0, 256)].slice(0, 128).join("").replaceAll("~", "~0").replaceAll("/", "~1");
}
