import type { Tool } from "../types.ts";
import { askServer } from "./ask.ts";
import { CODE_WORDS, QUERY } from "./schema.ts";

/** Milliseconds one question may take, a server's start included. */
export const QUERY_MS = 10_000;

/** lsp_query: one question to a language server. */
export const lspQuery: Tool = {
  name: "lsp_query",
  description:
    "Ask a warm language server about one place in the code: definition, references, hover, symbols, diagnostics, calls, rename preview. Say the place by line and character, or by symbol. What the server does not know yet is not_ready, never an empty answer.",
  features: ["definition", "references", "hover", "diagnostics", "calls"],
  risk: "read_only",
  schema: { type: "object", properties: QUERY, required: ["action", "path"], additionalProperties: false },
  intents: [{ points: 10, any: CODE_WORDS }],
  run: (args, context) => askServer(args, context, QUERY_MS),
};
