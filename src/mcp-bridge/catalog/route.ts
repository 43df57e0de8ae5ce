import type { JsonObject } from "../../clients/sdk/index.ts";
import { flag, READS, shape, text } from "./parts.ts";
import type { Property, Tool } from "./types.ts";

const WHAT: { readonly [name: string]: Property } = {
  need: text("What is to be done, in words"),
  max_tools: { type: "integer", minimum: 1, description: "Most tools to name, up to 8; default one, or two when they are close" },
  include_schema: flag("The arguments' JSON Schema"),
  include_signature: flag("One line that shows the arguments"),
  include_call: flag("The smallest call, and what is to be filled in"),
};

const WHICH: { readonly [name: string]: Property } = {
  include_mutating: flag("false: only tools that change nothing"),
  include_network: flag("false: no tools that reach the network"),
};

/** gin_route as every profile has it but for what `only` lays down. */
function router(description: string, properties: { readonly [name: string]: Property }, only: JsonObject): Tool {
  return {
    name: "gin_route",
    title: "Find the right tool",
    description,
    inputSchema: shape(properties, ["need"]),
    annotations: READS,
    request: (args) => ({ route_tool: { ...args, ...only } }),
    shows: "route_tool",
  };
}

/** Names the tools that fit a need. */
export const ROUTE_ANY = router(
  "Names the agent tools that fit a need, with a score and why; runs none. They run by gin tool, or in the profiles tools and read-only.",
  { ...WHAT, ...WHICH },
  {},
);

/** Names only tools that change nothing. */
export const ROUTE_READS = router(
  "Names the read-only tools that fit a need, with a score and why. Run one with gin_tool.",
  WHAT,
  { include_mutating: false, include_network: false },
);

/** Profile route: recommends, never runs. */
export const ROUTE: readonly Tool[] = [ROUTE_ANY];
