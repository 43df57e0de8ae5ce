import { gunzipSync } from "node:zlib";
import { type DescMessage, fromJson, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { createContextKey } from "@connectrpc/connect";
import { JSON_OPTIONS } from "./wire.ts";

/**
 * The bytes of a JSON request, kept until it is decoded: a refusal then names the field's whole path, and numbers that
 * JSON.parse would round are seen before they are rounded.
 */
export class JsonBody {
  #chunks: Uint8Array[] = [];
  readonly #gzip: boolean;
  readonly #limit: number;

  constructor(gzip: boolean, limit: number) {
    this.#gzip = gzip;
    this.#limit = limit;
  }

  /** Takes a chunk as it arrives. */
  push(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
  }

  /** Lets go of the bytes. */
  drop(): void {
    this.#chunks = [];
  }

  /** True when some number outside a string is an integer of more than 2^53: it must be sent as a string. */
  hasUnsafeInteger(): boolean {
    const text = this.#text();
    if (text === undefined || !/\d{16}/.test(text)) return false;
    for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|-?\d{16,}(?![\d.eE])/gs)) {
      if (!token.startsWith('"') && !Number.isSafeInteger(Number(token))) return true;
    }
    return false;
  }

  /** Path of the first field that does not decode as `desc`, like "edits[3].expect"; undefined when it cannot be told. */
  badField(desc: DescMessage): string | undefined {
    try {
      const json: JsonValue = JSON.parse(this.#text() ?? "");
      return isObject(json) ? findBadField(desc, json) : undefined;
    } catch {
      // Not JSON at all: then no field is to blame.
      return undefined;
    }
  }

  #text(): string | undefined {
    const bytes = Buffer.concat(this.#chunks);
    try {
      return (this.#gzip ? gunzipSync(bytes, { maxOutputLength: this.#limit }) : bytes).toString("utf8");
    } catch {
      // Not gzip, or a bomb: connect-node refuses it by itself.
      return undefined;
    }
  }
}

/** Where Connect's own path finds a JSON request's bytes until it is decoded. */
export const jsonBodyKey = createContextKey<JsonBody | undefined>(undefined, { description: "gin JSON body" });

/** Decodes field by field, and goes into the one that fails. */
function findBadField(desc: DescMessage, json: JsonObject): string | undefined {
  for (const [key, value] of Object.entries(json)) {
    if (decodes(desc, { [key]: value })) continue;
    const name = /^[A-Za-z0-9_$.-]{1,64}$/.test(key) ? key : "(unprintable)";
    const field = desc.fields.find((one) => one.name === key || one.jsonName === key);
    if (field?.message === undefined) return name;
    const items: [string, JsonValue][] = Array.isArray(value)
      ? value.map((item, at) => [`${name}[${at}]`, item])
      : [[name, value]];
    for (const [path, item] of items) {
      if (!isObject(item)) continue;
      const inner = decodes(field.message, item) ? undefined : findBadField(field.message, item);
      if (inner !== undefined) return `${path}.${inner}`;
    }
    return name;
  }
  return undefined;
}

function decodes(desc: DescMessage, json: JsonObject): boolean {
  try {
    fromJson(desc, json, JSON_OPTIONS);
    return true;
  } catch {
    return false;
  }
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
