import type { Clock } from "../../base/index.ts";
import type { Checkpoint, Hash, PathState, StoreReader, Trees } from "../../store/index.ts";
import type { Differ } from "../types.ts";

/** What is at a path now. Bytes are fetched when they are needed, and undefined where they cannot be had whole. */
export interface CurrentPath {
  readonly state: PathState;
  /** True where the path cannot hold a file: a directory or special file is there, or a link leads elsewhere. */
  readonly blocked?: boolean;
  readonly bytes: () => Promise<Uint8Array | undefined>;
}

/** What undoing stands on. It reads history from the store and the present through `current`; it changes nothing. */
export interface UndoView {
  /** Row id of the workspace. */
  readonly workspace: number;
  readonly reader: StoreReader;
  readonly trees: Trees;
  readonly differ: Differ;
  readonly clock: Clock;
  /** Records an outside edit of the path first, so that it counts as later work. Throws what this caller may not see. */
  readonly current: (path: string) => Promise<CurrentPath>;
  readonly signal?: AbortSignal;
}

/** Most that one undo may take on; past them it is refused with TOO_LARGE. */
export interface UndoLimits {
  /** Paths it would change. */
  readonly paths: number;
  /** Bytes of the contents it would write, together. */
  readonly bytes: number;
}

/**
 * Why a path cannot be taken back. Those of a merge, and: `occupied` (the name it goes back to is taken), `renamed` (later work gave
 * it another name).
 */
export type UndoConflictKind =
  | "content"
  | "delete_modify"
  | "binary"
  | "kind"
  | "base_unavailable"
  | "too_large"
  | "occupied"
  | "renamed";

/** Lines that cannot be taken back. The texts are data. */
export interface UndoConflictHunk {
  /** Lines of the content at head, from 1; end before start is the place before `startLine`. */
  readonly startLine: number;
  readonly endLine: number;
  /** What the undone work had made of them, what stands there now, what undoing would put there. */
  readonly undone: string;
  readonly current: string;
  readonly wanted: string;
  /** The later checkpoint that stands in the way, and whose it is; both "" when unknown. */
  readonly checkpoint: string;
  readonly principal: string;
}

/** What undoing does to one path. */
export interface UndonePathPlan {
  /** Its name at head; the name it gets where nothing is at head. */
  readonly path: string;
  readonly outcome: "reversed" | "no_change" | "conflict" | "skipped";
  /** What it is afterwards (for a conflict: what it stays). */
  readonly state: PathState;
  /** Where it goes back to when a rename is undone. */
  readonly renamedTo?: string;
  readonly conflict?: UndoConflictKind;
  /** For base_unavailable: the content that is not kept. */
  readonly missing?: Hash;
  readonly hunks: readonly UndoConflictHunk[];
  /** Whose later work stands in the way, where there are no hunks to say it. */
  readonly by?: { readonly checkpoint: string; readonly principal: string };
}

/** One change of the save that undoes; the workspace's `EditInput` has the same fields. */
export interface UndoEdit {
  readonly path: string;
  readonly expect: Hash | "absent";
  readonly content?: Uint8Array;
  readonly link?: string;
  readonly delete?: boolean;
  readonly renameTo?: string;
  readonly executable?: boolean;
}

/** Everything an undo would do. */
export interface UndoPlan {
  readonly paths: readonly UndonePathPlan[];
  /** The save that does it; without the paths that conflict. */
  readonly edits: readonly UndoEdit[];
  /** Ids of the checkpoints of which something is taken back, newest first. */
  readonly undone: readonly string[];
  /** True when no path conflicts. */
  readonly clean: boolean;
}

/** A checkpoint to take back. */
export interface Selected {
  readonly checkpoint: Checkpoint;
  /** Paths an undo that stands took back already: left out. */
  readonly except?: ReadonlySet<string>;
}
