/** Names of SymbolKind, from 1. */
const SYMBOL_KINDS = [
  "file",
  "module",
  "namespace",
  "package",
  "class",
  "method",
  "property",
  "field",
  "constructor",
  "enum",
  "interface",
  "function",
  "variable",
  "constant",
  "string",
  "number",
  "boolean",
  "array",
  "object",
  "key",
  "null",
  "enum_member",
  "struct",
  "event",
  "operator",
  "type_parameter",
];

/** Names of CompletionItemKind, from 1. */
const COMPLETION_KINDS = [
  "text",
  "method",
  "function",
  "constructor",
  "field",
  "variable",
  "class",
  "interface",
  "module",
  "property",
  "unit",
  "value",
  "enum",
  "keyword",
  "snippet",
  "color",
  "file",
  "reference",
  "folder",
  "enum_member",
  "constant",
  "struct",
  "event",
  "operator",
  "type_parameter",
];

/** "class", "method", "enum_member" …; "symbol" for what the protocol does not name. */
export function symbolKind(kind: unknown): string {
  return (typeof kind === "number" ? SYMBOL_KINDS[kind - 1] : undefined) ?? "symbol";
}

/** "function", "keyword" …; "text" for what the protocol does not name. */
export function completionKind(kind: unknown): string {
  return (typeof kind === "number" ? COMPLETION_KINDS[kind - 1] : undefined) ?? "text";
}
