import { GinError } from "../../base/index.ts";
import type { Ground, Handlers } from "../invocation.ts";

/** Being built. */
export function originHandlers(_ground: Ground): Pick<Handlers, "origin"> {
  return {
    origin: () => unbuilt("origin"),
  };
}

function unbuilt(operation: string): never {
  throw new GinError("UNSUPPORTED", "not built yet", undefined, { facts: { requested: operation } });
}
