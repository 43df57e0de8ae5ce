import { GinError } from "../../base/index.ts";
import { MEMORY_KEY_CHARACTERS, MEMORY_VALUE_BYTES } from "../../memory/index.ts";
import { textArg } from "../args.ts";
import type { JsonMap } from "../types.ts";
import { durationMs } from "./duration.ts";

const KEY = /^[A-Za-z0-9_.-]+$/;

/** An argument that breaks a rule no schema expresses. */
export function refusedArg(name: string, says: string, limit?: number): GinError {
  return new GinError("INVALID_REQUEST", `args/${name}: ${says}`, undefined, {
    facts: { field: `args/${name}`, ...(limit === undefined ? {} : { limit }) },
  });
}

/** The key. Throws INVALID_REQUEST. */
export function keyArg(args: JsonMap): string {
  const key = textArg(args, "key");
  if (key === "") throw refusedArg("key", "is required for this action");
  if (key.length > MEMORY_KEY_CHARACTERS || !KEY.test(key)) {
    throw refusedArg("key", `must be 1 to ${MEMORY_KEY_CHARACTERS} letters, digits, _ . or -`, MEMORY_KEY_CHARACTERS);
  }
  return key;
}

/** The value; "" when it is left out. Throws INVALID_REQUEST. */
export function valueArg(args: JsonMap): string {
  const value = textArg(args, "value");
  const bytes = Buffer.byteLength(value);
  if (bytes > MEMORY_VALUE_BYTES) {
    throw refusedArg("value", `has ${bytes} bytes; the limit is ${MEMORY_VALUE_BYTES}`, MEMORY_VALUE_BYTES);
  }
  return value;
}

/** Milliseconds until it expires; undefined for never. Throws INVALID_REQUEST, also beside a pin. */
export function expiresArg(args: JsonMap, pin: boolean): number | undefined {
  if (args.expires_in === undefined) return undefined;
  if (pin) throw refusedArg("expires_in", "does not go with pin: what is pinned stays");
  const ms = durationMs(textArg(args, "expires_in"));
  if (ms === undefined) throw refusedArg("expires_in", "must be a time above 0, as 90m, 1h30m, 7d or 2w; at most 100 years");
  return ms;
}
