import { GinError } from "../base/index.ts";
import type { ImportProgress } from "./types.ts";

/** What is answered instead of something that needs the whole tree while it was not looked at yet. */
export function notReady(progress: ImportProgress): GinError {
  const facts = { state: "importing", files: String(progress.files), directories_left: String(progress.directoriesLeft) };
  return new GinError("NOT_READY", "the first look at the whole directory has not ended", undefined, {
    retryAfterMs: 500,
    facts,
  });
}
