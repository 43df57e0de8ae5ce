import { GinError } from "../../base/index.ts";
import type { Ground, Handlers } from "../invocation.ts";

/** Being built. */
export function routeHandlers(_ground: Ground): Pick<Handlers, "routeTool"> {
  return {
    routeTool: () => {
      throw new GinError("UNSUPPORTED", "not built yet");
    },
  };
}
