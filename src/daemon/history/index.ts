// The door of history: the diff core, the line map, three-way merge.

export { type AnchorsParts, createAnchors } from "./anchor.ts";
export type * from "./anchor-types.ts";
export { diffLines, type Edit } from "./diff.ts";
export { createDiffer, type DifferOptions } from "./differ.ts";
export { type ContentSources, diffFile, type FileDifference, type NoPatch } from "./file-diff.ts";
export type { Hunks } from "./hunks.ts";
export { type LineMap, lineMap } from "./line-map.ts";
export { isText, type Lines, splitLines } from "./lines.ts";
export { type Merge3, merge3 } from "./merge3.ts";
export { createMerger, type MergerOptions } from "./merger.ts";
export { createOrigins, type OriginsParts } from "./origin.ts";
export type * from "./origin-types.ts";
export type { RenamedDifference } from "./renames.ts";
export { diffTrees, type RenameHelp, type TreePair } from "./tree-diff.ts";
export type * from "./types.ts";
export {
  type CurrentPath,
  planRestore,
  planUndo,
  type RestorePlan,
  type Selected,
  TakenBack,
  type UndoConflictHunk,
  type UndoConflictKind,
  type UndoEdit,
  type UndoLimits,
  type UndonePathPlan,
  type UndoPlan,
  type UndoView,
} from "./undo/index.ts";
