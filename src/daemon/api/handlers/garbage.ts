import { GinError } from "../../base/index.ts";
import type { Ground, Handlers } from "../invocation.ts";

/** Being built. */
export function garbageHandlers(_ground: Ground): Pick<Handlers, "collectGarbage"> {
  return {
    collectGarbage: () => unbuilt("collectGarbage"),
  };
}

function unbuilt(operation: string): never {
  throw new GinError("UNSUPPORTED", "not built yet", undefined, { facts: { requested: operation } });
}
