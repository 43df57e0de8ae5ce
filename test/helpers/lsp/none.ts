import { GinError } from "../../../src/daemon/base/index.ts";
import type { Lsp } from "../../../src/daemon/lsp/index.ts";

/** A host without language servers: it says so to whoever asks. */
export function noServers(): Lsp {
  return {
    async ask() {
      throw new GinError("UNSUPPORTED", "language servers are not part of this version");
    },
    servers: () => [],
    onServer: () => () => {},
    detach: async () => {},
    close: async () => {},
  };
}
