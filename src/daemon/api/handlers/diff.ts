import { GinError } from "../../base/index.ts";
import type { Ground, Handlers } from "../invocation.ts";

/** Being built. */
export function diffHandlers(_ground: Ground): Pick<Handlers, "diff"> {
  return {
    diff: () => unbuilt("diff"),
  };
}

function unbuilt(operation: string): never {
  throw new GinError("UNSUPPORTED", "not built yet", undefined, { facts: { requested: operation } });
}
