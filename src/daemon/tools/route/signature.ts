import type { ArgSchema, ToolSchema } from "../types.ts";

/** Longest list of values, and longest default, that a signature writes out. */
const VALUES_BYTES = 48;
const DEFAULT_BYTES = 32;

/** A tool's arguments on one line: `name(needed:type,other?:type=default,mode?:enum(a|b))`; needed ones first, each part by name. */
export function signatureOf(name: string, schema: ToolSchema): string {
  const required = new Set(schema.required ?? []);
  const sorted = Object.entries(schema.properties).sort(([a], [b]) => {
    return Number(required.has(b)) - Number(required.has(a)) || (a < b ? -1 : 1);
  });
  return `${name}(${sorted.map(([argument, one]) => argument + (required.has(argument) ? "" : "?") + typed(one)).join(",")})`;
}

function typed(schema: ArgSchema): string {
  const standard = schema.default === undefined ? "" : JSON.stringify(schema.default);
  const shown = standard !== "" && Buffer.byteLength(standard) <= DEFAULT_BYTES ? `=${standard}` : "";
  return `:${typeOf(schema)}${shown}`;
}

function typeOf(schema: ArgSchema): string {
  const values = (schema.enum ?? []).join("|");
  if (values !== "" && Buffer.byteLength(values) <= VALUES_BYTES) return `enum(${values})`;
  if (schema.oneOf !== undefined || schema.type === undefined || schema.type === "object") return "json";
  if (schema.type !== "array") return schema.type;
  const item = schema.items?.type;
  return item === undefined || item === "object" || item === "array" ? "json" : `${item}[]`;
}
