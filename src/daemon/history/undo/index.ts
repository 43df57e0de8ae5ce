// The door of undo, within history: what taking work back would do. The save engine does it.
export { planUndo } from "./fold.ts";
export { planRestore, type RestorePlan } from "./restore.ts";
export { TakenBack } from "./taken-back.ts";
export type {
  CurrentPath,
  Selected,
  UndoConflictHunk,
  UndoConflictKind,
  UndoEdit,
  UndoLimits,
  UndonePathPlan,
  UndoPlan,
  UndoView,
} from "./types.ts";
