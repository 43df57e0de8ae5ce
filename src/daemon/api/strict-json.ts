import { type DescEnum, type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { GinError } from "../base/index.ts";
import { toConnectError } from "./errors.ts";
import { invalid } from "./limits.ts";

/** What Connect calls to turn a JSON body into text. */
export interface JsonTextDecoder {
  decode(input?: Uint8Array): string;
}

const UINT32 = 0xffff_ffffn;
const UINT64 = 0xffff_ffff_ffff_ffffn;

/** A lone surrogate, which no UTF-8 text can hold: JSON can write one as an escape. */
const LONE_SURROGATE = /[\ud800-\udfff]/u;

const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/;

/**
 * A decoder for the JSON form of one message: refuses what is not UTF-8 or JSON (MALFORMED), and unknown fields, wrong types,
 * bad enum names and numbers beyond 2^53 (INVALID_REQUEST with the field's path), all with an ErrorDetail. Connect decodes
 * what it gives once more; this look comes first because Connect's own refusals name no path, and because after its parse a
 * number beyond 2^53 is no longer the number that was sent.
 */
export function strictJsonDecoder(schema: DescMessage): JsonTextDecoder {
  const utf8 = new TextDecoder("utf-8", { fatal: true });
  return {
    decode(input) {
      try {
        const text = decodeText(utf8, input ?? new Uint8Array(0));
        checkMessage(schema, parse(text), "");
        return text;
      } catch (error) {
        throw error instanceof GinError ? toConnectError(error) : error;
      }
    },
  };
}

function decodeText(utf8: JsonTextDecoder, input: Uint8Array): string {
  try {
    return utf8.decode(input);
  } catch (error) {
    throw new GinError("MALFORMED", "the message is not UTF-8", undefined, { cause: error });
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    // The parser's own message quotes the input, which may be file content.
    throw new GinError("MALFORMED", "the message is not JSON", undefined, { cause: error });
  }
}

const fieldsOf = new WeakMap<DescMessage, Map<string, DescField>>();

function fieldsByName(schema: DescMessage): Map<string, DescField> {
  let fields = fieldsOf.get(schema);
  if (fields === undefined) {
    fields = new Map(schema.fields.flatMap((field) => [[field.name, field] as const, [field.jsonName, field] as const]));
    fieldsOf.set(schema, fields);
  }
  return fields;
}

function checkMessage(schema: DescMessage, value: unknown, path: string): void {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw invalid(path === "" ? "request" : path, "must be an object");
  }
  // Well-known types have forms of their own; no request holds one where this matters.
  if (schema.typeName.startsWith("google.protobuf.")) return;
  const fields = fieldsByName(schema);
  const seen = new Set<string>();
  for (const [key, item] of Object.entries(value)) {
    const field = fields.get(key);
    const at = path === "" ? shown(key) : `${path}.${shown(key)}`;
    if (field === undefined) throw invalid(at, "no such field");
    const slot = field.oneof === undefined ? `field ${field.number}` : `oneof ${field.oneof.name}`;
    if (seen.has(slot)) throw invalid(at, field.oneof === undefined ? "given twice" : "only one of its group may be given");
    seen.add(slot);
    if (item !== null) checkField(field, item, at);
  }
}

/** A key as a message may show it: short, and without control characters. */
function shown(key: string): string {
  const short = key.length > 64 ? `${key.slice(0, 64)}…` : key;
  return short.replace(/[^\x20-\x7e…]/g, "?");
}

function checkField(field: DescField, value: unknown, path: string): void {
  if (field.fieldKind === "scalar") checkScalar(field.scalar, value, path);
  else if (field.fieldKind === "enum") checkEnum(field.enum, value, path);
  else if (field.fieldKind === "message") checkMessage(field.message, value, path);
  else if (field.fieldKind === "map") throw invalid(path, "maps are not part of any request");
  else if (!Array.isArray(value)) throw invalid(path, "must be a list");
  else for (let index = 0; index < value.length; index += 1) checkItem(field, value[index], `${path}[${index}]`);
}

function checkItem(field: DescField & { fieldKind: "list" }, value: unknown, path: string): void {
  if (field.listKind === "message") checkMessage(field.message, value, path);
  else if (field.listKind === "enum") checkEnum(field.enum, value, path);
  else checkScalar(field.scalar, value, path);
}

function checkEnum(schema: DescEnum, value: unknown, path: string): void {
  const known = schema.values.some((entry) => entry.name === value || entry.number === value);
  if (!known) throw invalid(path, `must be one of ${schema.values.map((entry) => entry.name).join(", ")}`);
}

/** The largest value of each integer type a request uses. */
const MOST: { readonly [type in ScalarType]?: bigint } = {
  [ScalarType.UINT32]: UINT32,
  [ScalarType.UINT64]: UINT64,
};

function checkScalar(type: ScalarType, value: unknown, path: string): void {
  const most = MOST[type];
  if (most !== undefined) {
    checkInteger(value, most, path);
  } else if (type === ScalarType.STRING) {
    if (typeof value !== "string") throw invalid(path, "must be a string");
    if (LONE_SURROGATE.test(value)) throw invalid(path, "holds half a character, which UTF-8 cannot carry");
  } else if (type === ScalarType.BOOL) {
    if (typeof value !== "boolean") throw invalid(path, "must be true or false");
  } else if (type === ScalarType.BYTES) {
    if (typeof value !== "string" || !BASE64.test(value)) throw invalid(path, "must be base64");
  } else {
    throw invalid(path, "has a type no request uses");
  }
}

function checkInteger(value: unknown, most: bigint, path: string): void {
  if (typeof value === "number") {
    if (!Number.isInteger(value) || value < 0) throw invalid(path, "must be a whole number from 0");
    if (!Number.isSafeInteger(value)) throw invalid(path, "is beyond 2^53: send it as a string");
    if (BigInt(value) > most) throw invalid(path, `must be at most ${most}`);
    return;
  }
  if (typeof value !== "string" || !/^\d{1,20}$/.test(value)) throw invalid(path, "must be a whole number from 0");
  if (BigInt(value) > most) throw invalid(path, `must be at most ${most}`);
}
