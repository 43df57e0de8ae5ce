// The door of lsp: warm language servers whose answers say what they know.
export { TEXT_BYTES, TOUCHED_PATHS } from "./limits.ts";
export { type StartDeps, startLsp } from "./start.ts";
export type * from "./types.ts";
export { LSP_ACTIONS } from "./types.ts";
