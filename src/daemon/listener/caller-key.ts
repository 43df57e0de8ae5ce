import { createContextKey } from "@connectrpc/connect";
import type { Caller } from "../base/index.ts";

const nobody: Caller = {
  principal: "",
  transport: "tcp",
  scopes: new Set(),
  workspaces: [],
  paths: [],
  tokenId: undefined,
  client: "",
};

/** Where handlers find who calls: `context.values.get(callerKey)`. Nobody, with no right at all, unless the gate admitted. */
export const callerKey = createContextKey<Caller>(nobody, { description: "gin caller" });
