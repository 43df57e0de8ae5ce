// The door of tools: the agent tools, each a thin use of the other rooms.
export { codeOf, TOOL_CODES } from "./codes.ts";
export { compressed } from "./compress/compress.ts";
export { type Route, type RouteOptions, route } from "./route/route.ts";
export type { Score } from "./route/score.ts";
export { signatureOf } from "./route/signature.ts";
export { type Template, templateOf } from "./route/template.ts";
export { type AdmittedCall, admit, run, toolNamed } from "./run.ts";
export { TOOLS } from "./table.ts";
export type * from "./types.ts";
export { bounded, conflictFacts, refusal, type Shown, undoneFacts } from "./undo/conflicts.ts";
export { currentPath, type UndoGround } from "./undo/current.ts";
export { isOthers, undoable } from "./undo/rights.ts";
