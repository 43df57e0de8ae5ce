// The door of ignore: which paths are not tracked.
export { createIgnoreRules, type IgnoreDeps, unknownRules } from "./rules.ts";
export type * from "./types.ts";
