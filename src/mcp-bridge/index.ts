// The door of the bridge: `gin mcp` on standard input and output, and its tools as they are listed.

export { CORE as TOOLS } from "./catalog/core.ts";
export { INSTRUCTIONS } from "./catalog/instructions.ts";
export { PROFILES, type Profile, type ProfileName } from "./catalog/profiles.ts";
export { TABLE_TOOLS } from "./catalog/table.ts";
export type { Tool } from "./catalog/types.ts";
export { runBridge } from "./run.ts";
