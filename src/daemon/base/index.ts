// The door of base: words every room shares. Imports nothing of gin.

export { type Caller, SCOPES, type Scope } from "./caller.ts";
export type * from "./commands.ts";
export { cutText } from "./cut-text.ts";
export type * from "./directory-watch.ts";
export { type ErrorMore, errnoOf, GinError, type Json, toGinError } from "./error.ts";
export type * from "./fs.ts";
export { nodeCommands } from "./node-commands.ts";
export { nodeDirectoryWatch } from "./node-directory-watch.ts";
export { nodeFs, nodePrograms } from "./node-fs.ts";
export { Pace } from "./pace.ts";
export {
  type Clock,
  FAIL_POINTS,
  type FailPoint,
  type FailPoints,
  type IdPrefix,
  type Log,
  noFailPoints,
  type Random,
} from "./ports.ts";
export { isReason, REASONS, type Reason, type ReasonInfo } from "./reasons.ts";
export { type Refused, refused, revive } from "./refused.ts";
export { idFrom, systemClock, systemRandom } from "./system.ts";
export { threadEntry } from "./thread-entry.ts";
