// The door of the bridge: `gin mcp` on standard input and output, and its tools as they are listed.

export { INSTRUCTIONS } from "./catalog/instructions.ts";
export { TOOLS } from "./catalog/tools.ts";
export type { Tool } from "./catalog/types.ts";
export { runBridge } from "./run.ts";
