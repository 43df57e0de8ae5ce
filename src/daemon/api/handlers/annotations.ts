import { GinError } from "../../base/index.ts";
import type { Ground, Handlers } from "../invocation.ts";

/** Being built. */
export function annotationsHandlers(_ground: Ground): Pick<Handlers, "writeAnnotation" | "listAnnotations"> {
  return {
    writeAnnotation: () => unbuilt("writeAnnotation"),
    listAnnotations: () => unbuilt("listAnnotations"),
  };
}

function unbuilt(operation: string): never {
  throw new GinError("UNSUPPORTED", "not built yet", undefined, { facts: { requested: operation } });
}
