import { GinError } from "../../base/index.ts";
import type { UndoLimits } from "./types.ts";

/** Refuses to look at more: a rename takes two paths, so twice the paths that may be taken back are looked at. */
export function checkLooked(limits: UndoLimits, count: number): void {
  if (count > 2 * limits.paths) throw tooMany(limits);
}

/** Refuses to take back more paths than one save holds. */
export function checkPaths(limits: UndoLimits, count: number): void {
  if (count > limits.paths) throw tooMany(limits);
}

function tooMany(limits: UndoLimits): GinError {
  return new GinError("TOO_LARGE", `one undo takes back at most ${limits.paths} paths`, "take back less at a time", {
    facts: { limit: limits.paths, unit: "entries" },
  });
}
