// The door of files: the confined root, and what others must know of names.

export { openRoot, type RootDeps } from "./root.ts";
export { guardOf, isSensitive, TEMP_PREFIX } from "./sensitive.ts";
export { checkPath } from "./syntax.ts";
export { holdsTakenAway } from "./temps.ts";
export type {
  ConfinedRoot,
  DiskEntry,
  Displaced,
  FileStat,
  FilesFeatures,
  Located,
  OpenFile,
  ReadFile,
  RootOptions,
  Staged,
} from "./types.ts";
export type { Writers } from "./writers.ts";
