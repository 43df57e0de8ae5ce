import { type GinError, type Json, toGinError } from "../../base/index.ts";
import { objectsArg } from "../args.ts";
import { codeOf } from "../codes.ts";
import type { JsonMap, ReadContext, Tool } from "../types.ts";
import { askServer } from "./ask.ts";
import { QUERY_MS } from "./query.ts";
import { CODE_WORDS, QUERY } from "./schema.ts";

/** Milliseconds for all of them. */
const BATCH_MS = 3 * QUERY_MS;

/** lsp_batch: several questions at once. */
export const lspBatch: Tool = {
  name: "lsp_batch",
  description:
    "Ask language servers up to 20 questions at once, side by side. Answers come in the order of the questions; one that is refused has an error of its own and spoils no other.",
  features: ["batch", "definition", "references", "diagnostics", "partial_success"],
  risk: "read_only",
  schema: {
    type: "object",
    properties: {
      queries: {
        type: "array",
        minItems: 1,
        maxItems: 20,
        description: "The questions, each as lsp_query takes it",
        items: { type: "object", properties: QUERY, required: ["action", "path"], additionalProperties: false },
      },
    },
    required: ["queries"],
    additionalProperties: false,
  },
  intents: [{ points: 12, any: ["batch", "multiple", "several", "many"], also: [CODE_WORDS] }],
  async run(args, context) {
    context.requireScope("lsp");
    const results = await Promise.all(objectsArg(args, "queries").map((query, index) => one(query, index, context)));
    const failed = results.filter((result) => result.ok === false).length;
    return { result: JSON.stringify({ results, succeeded: results.length - failed, failed }) };
  },
};

async function one(query: JsonMap, index: number, context: ReadContext): Promise<JsonMap> {
  try {
    const { result = "", meta = {} } = await askServer(query, context, BATCH_MS);
    return { index, ok: true, result, meta };
  } catch (thrown) {
    const error = toGinError(thrown);
    if (error.reason === "CANCELLED" && context.signal.aborted) throw error;
    if (error.reason === "INTERNAL")
      context.log.error({ err: error.cause ?? error, index }, "a question of a batch failed inside gin");
    return refused(index, error);
  }
}

function refused(index: number, error: GinError): JsonMap {
  const facts: { readonly [name: string]: Json } = { reason: error.reason, ...error.facts };
  return {
    index,
    ok: false,
    error: error.message,
    error_code: codeOf(error),
    suggestion: error.suggestion,
    facts,
    ...(error.retryAfterMs === 0 ? {} : { retry_after_ms: error.retryAfterMs }),
    ...(error.nextCall === undefined ? {} : { next_call: error.nextCall }),
  };
}
