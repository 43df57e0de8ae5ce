import { GinError, type Json, toGinError } from "../../base/index.ts";
import { flagArg, objectsArg, textArg } from "../args.ts";
import { codeOf } from "../codes.ts";
import type { JsonMap, NextCall, ReadContext, Tool, ToolResult } from "../types.ts";
import { loadFile } from "./load.ts";
import { binaryFile, readText, WINDOW_SCHEMA } from "./read-text.ts";
import { imageType, isBinary, isPdf } from "./sniff.ts";

/** Bytes of text answered at most, over all files. */
const OUTPUT_BYTES = 512 * 1024;
/** Bytes of files looked into at most, over all files. */
const SOURCE_BYTES = 100 * 1024 * 1024;

/** multi_read: several files in one call. */
export const multiRead: Tool = {
  name: "multi_read",
  description:
    "Read several text files, or windows of them, in one call. A file that cannot be read is told in errors and the others are given all the same. At most 20 files and 512 KiB of text.",
  features: ["batch", "line_numbers", "windowing", "tail", "truncation", "partial_success"],
  risk: "read_only",
  schema: {
    type: "object",
    properties: {
      files: {
        type: "array",
        minItems: 1,
        maxItems: 20,
        description: "Which files, each with a window of its own",
        items: { type: "object", properties: WINDOW_SCHEMA, required: ["path"], additionalProperties: false },
      },
    },
    required: ["files"],
    additionalProperties: false,
  },
  intents: [{ points: 7, any: ["read", "open", "show", "cat", "view", "display"], also: [["file", "content"]] }],
  run: (args, context) => new Batch(context).run(objectsArg(args, "files")),
};

class Batch {
  readonly #context: ReadContext;
  readonly #files = new Map<string, string>();
  readonly #errors = new Map<string, JsonMap>();
  readonly #truncation = new Map<string, JsonMap>();
  readonly #nextCalls: NextCall[] = [];
  #output = 0;
  #source = 0;
  #rest: NextCall | undefined;

  constructor(context: ReadContext) {
    this.#context = context;
  }

  async run(entries: readonly JsonMap[]): Promise<ToolResult> {
    for (const [index, entry] of entries.entries()) {
      const path = textArg(entry, "path");
      // Of a path that is named twice the last one counts.
      this.#forget(path);
      try {
        if (!(await this.#read(path, entry))) {
          this.#rest = { tool: "multi_read", arguments: { files: entries.slice(index) as unknown as Json } };
          break;
        }
      } catch (thrown) {
        const error = toGinError(thrown, path);
        if (error.reason === "CANCELLED") throw error;
        this.#errors.set(path, { error: error.message, error_code: codeOf(error), suggestion: error.suggestion });
      }
    }
    if (this.#files.size === 0) throw this.#nothing();
    const nextCalls = this.#rest === undefined ? this.#nextCalls : [...this.#nextCalls, this.#rest];
    const only = nextCalls.length === 1 ? nextCalls[0] : this.#rest;
    return {
      result: JSON.stringify({
        ...part("errors", this.#errors),
        files: sorted(this.#files),
        ...(nextCalls.length === 0 ? {} : { next_calls: nextCalls }),
        ...(this.#rest === undefined ? {} : { truncated_global: true }),
        ...part("truncation", this.#truncation),
      }),
      ...(only === undefined ? {} : { nextCall: only }),
    };
  }

  /** False when its text would be too much for the answer. */
  async #read(path: string, entry: JsonMap): Promise<boolean> {
    const file = await loadFile(this.#context, path);
    this.#source += file.bytes.length;
    if (this.#source > SOURCE_BYTES) {
      throw new GinError("RESOURCE_LIMIT", `the files together have more than ${SOURCE_BYTES} bytes`, undefined, {
        facts: { limit: SOURCE_BYTES, unit: "bytes" },
      });
    }
    if (isPdf(file.path, file.bytes)) throw binaryFile(file.path, "a PDF", "convert it to text first");
    if (imageType(file.path, file.bytes) !== undefined) throw binaryFile(file.path, "an image", "read it alone with read_file");
    if (isBinary(file.bytes)) throw binaryFile(file.path, "no text");
    const { text, truncation, nextCall, hint } = await readText(entry, file, undefined, this.#context);
    const shown = hint === "" || !flagArg(entry, "line_numbers", true) ? text : `${text}\n${hint}`;
    const size = Buffer.byteLength(shown);
    if (this.#output + size > OUTPUT_BYTES) {
      this.#errors.set(path, {
        error: `the answer would have more than ${OUTPUT_BYTES} bytes with this file`,
        error_code: "global_cap_exceeded",
        suggestion: "make the next call, which has this file and those behind it",
      });
      return false;
    }
    this.#output += size;
    this.#files.set(path, shown);
    if (truncation !== undefined) this.#truncation.set(path, truncation);
    if (nextCall !== undefined) this.#nextCalls.push(nextCall);
    return true;
  }

  #forget(path: string): void {
    this.#output -= Buffer.byteLength(this.#files.get(path) ?? "");
    for (const known of [this.#files, this.#errors, this.#truncation]) known.delete(path);
    const at = this.#nextCalls.findIndex((call) => call.arguments.path === path);
    if (at !== -1) this.#nextCalls.splice(at, 1);
  }

  #nothing(): GinError {
    const each = [...this.#errors.values()].map((told) => String(told.error));
    const said = `no file could be read: ${each.join("; ")}`;
    const [first] = this.#errors.values();
    return new GinError("INVALID_REQUEST", said, String(first?.suggestion ?? ""), { facts: { field: "args/files" } });
  }
}

function sorted<V>(entries: ReadonlyMap<string, V>): { [path: string]: V } {
  return Object.fromEntries([...entries].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function part(name: string, entries: ReadonlyMap<string, Json>): JsonMap {
  return entries.size === 0 ? {} : { [name]: sorted(entries) };
}
