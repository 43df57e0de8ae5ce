import type { Run } from "../session/types.ts";
import type { Ability } from "./types.ts";

export const DEFINITION = { capability: "definitionProvider", method: "textDocument/definition" } as const satisfies Ability;
export const DOCUMENT_SYMBOL = {
  capability: "documentSymbolProvider",
  method: "textDocument/documentSymbol",
} as const satisfies Ability;
export const WORKSPACE_SYMBOL = { capability: "workspaceSymbolProvider", method: "workspace/symbol" } as const satisfies Ability;

/** Whether a server says that it can: when it was initialised, or since. */
export function hasAbility(run: Run, { capability, method }: Ability): boolean {
  const advertised = run.capabilities[capability];
  return (advertised !== undefined && advertised !== null && advertised !== false) || run.registered(method).length > 0;
}
