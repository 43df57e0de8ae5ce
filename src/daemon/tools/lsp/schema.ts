import type { LspAction } from "../../lsp/index.ts";
import type { ArgSchema } from "../types.ts";

/** What the tools ask; the rest of the language servers' actions are for Lsp. */
export const TOOL_ACTIONS = [
  "definition",
  "references",
  "hover",
  "symbols",
  "diagnostics",
  "rename",
  "type_definition",
  "implementation",
  "incoming_calls",
  "outgoing_calls",
] as const satisfies readonly LspAction[];

/** Arguments of one question. */
export const QUERY: { readonly [name: string]: ArgSchema } = {
  action: { type: "string", enum: TOOL_ACTIONS, description: "What is asked; rename is a preview" },
  path: { type: "string", minLength: 1, description: "File, relative to the workspace" },
  line: { type: "integer", minimum: 1, description: "Line, from 1" },
  character: { type: "integer", minimum: 1, description: "Character in the line, from 1" },
  symbol: {
    type: "string",
    minLength: 1,
    description: "Name or name path (Class/method) instead of a place, or the word meant on line",
  },
  new_name: { type: "string", minLength: 1, description: "For rename" },
  if_checksum: { type: "string", description: "SHA-256 of the file as you read it: another content is refused" },
};

/** Words that speak for both tools. */
export const CODE_WORDS = [
  "definition",
  "reference",
  "hover",
  "symbol",
  "diagnostic",
  "rename",
  "lsp",
  "caller",
  "usage",
  "declaration",
  "declared",
];
