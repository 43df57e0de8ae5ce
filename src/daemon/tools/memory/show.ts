import type { MemoryRow } from "../../store/index.ts";
import type { JsonMap } from "../types.ts";

/** What a value looks like: "boolean", "number", "array", "json" (an object) or "string". */
export function valueType(value: string): string {
  if (value === "true" || value === "false") return "boolean";
  const text = value.trim();
  if (!/^[-\d[{]/.test(text)) return "string";
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    // Text that only begins like JSON.
    return "string";
  }
  if (typeof parsed === "number") return "number";
  return Array.isArray(parsed) ? "array" : "json";
}

/** What is known of an entry beside its key and value. */
export function factsOf(row: MemoryRow): JsonMap {
  return {
    value_type: valueType(row.value),
    kind: row.kind,
    pinned: row.pinned,
    author: row.principal,
    created_at: time(row.createdMs),
    updated_at: time(row.updatedMs),
    ...(row.expiresMs === 0 ? {} : { expires_at: time(row.expiresMs) }),
  };
}

/** An entry in a list. */
export function entryOf(row: MemoryRow): JsonMap {
  return { key: row.key, value: row.value, ...factsOf(row) };
}

function time(ms: number): string {
  return new Date(ms).toISOString();
}
