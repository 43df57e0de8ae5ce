// The door of lsp: warm language servers whose answers say what they know.
export type * from "./types.ts";
export { LSP_ACTIONS } from "./types.ts";
