// The door of tools: the agent tools, each a thin use of the other rooms.
export { codeOf, TOOL_CODES } from "./codes.ts";
export { type AdmittedCall, admit, run, toolNamed } from "./run.ts";
export { TOOLS } from "./table.ts";
export type * from "./types.ts";
