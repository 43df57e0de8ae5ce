import { GinError } from "../../base/index.ts";
import type { Ground, Handlers } from "../invocation.ts";

/** Being built. */
export function undoHandlers(_ground: Ground): Pick<Handlers, "undo" | "redo"> {
  return {
    undo: () => unbuilt("undo"),
    redo: () => unbuilt("redo"),
  };
}

function unbuilt(operation: string): never {
  throw new GinError("UNSUPPORTED", "not built yet", undefined, { facts: { requested: operation } });
}
