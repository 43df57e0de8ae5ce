import { GinError } from "../../base/index.ts";
import type { Ground, Handlers } from "../invocation.ts";

/** Lsp and LspBatch. */
export function lspHandlers(_ground: Ground): Pick<Handlers, "lsp" | "lspBatch"> {
  const none = (): never => {
    throw new GinError("UNSUPPORTED", "language servers are not part of this version");
  };
  return { lsp: none, lspBatch: none };
}
