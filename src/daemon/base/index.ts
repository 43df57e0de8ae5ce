// The door of base: words every room shares. Imports nothing of gin.
export { errnoOf, GinError, toGinError, type ErrorMore, type Json } from "./error.ts";
export {
  FAIL_POINTS,
  noFailPoints,
  type Clock,
  type FailPoint,
  type FailPoints,
  type IdPrefix,
  type Log,
  type Random,
} from "./ports.ts";
export { isReason, REASONS, type Reason, type ReasonInfo } from "./reasons.ts";
export { idFrom, systemClock, systemRandom } from "./system.ts";
export type * from "./fs.ts";
export { nodeFs } from "./node-fs.ts";
export { SCOPES, type Caller, type Scope } from "./caller.ts";
