// The door of ignore: which paths are not tracked.
export { createIgnoreRules, type IgnoreDeps } from "./rules.ts";
export type * from "./types.ts";
