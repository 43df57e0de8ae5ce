import { Pace } from "../../base/index.ts";
import type { Checkpoint, Hash, PathState } from "../../store/index.ts";
import { Board, type Piece } from "./board.ts";
import { checkLooked } from "./limits.ts";
import { makePlan } from "./plan.ts";
import type { UndoLimits, UndoPlan, UndoView } from "./types.ts";

/** What bringing a path back to a checkpoint would do, and which later checkpoints go with it. */
export interface RestorePlan extends UndoPlan {
  /** Every later checkpoint that touched one of the paths that differ, newest first, imports left out. */
  readonly later: readonly Checkpoint[];
}

/** Touches read in one go. */
const PAGE = 500;

/**
 * Makes a path, or everything below it, what it was at a checkpoint, by its name alone: everything later on it goes. A file that
 * was not recorded yet at the checkpoint, but imported later, is taken to have been there as it was found; nothing known says
 * otherwise. `head` is the tree to look for differences in.
 */
export async function planRestore(
  view: UndoView,
  path: string,
  at: Checkpoint,
  head: Hash,
  skipConflicts: boolean,
  limits: UndoLimits,
): Promise<RestorePlan> {
  const pace = new Pace(view.clock, view.signal);
  const board = new Board(view);
  const paths = new Set<string>();
  // The path itself may have changed outside, which no tree says.
  if (view.trees.list(head, path) === undefined) paths.add(path);
  for (const found of view.trees.diff(head, at.tree, path)) {
    paths.add(found.path);
    checkLooked(limits, paths.size);
  }
  const later = new Set<number>();
  const pieces = new Set<Piece>();
  for (const each of paths) {
    await pace.next();
    const wanted = wantedAt(view, each, at);
    const piece = await board.at(each);
    if (each === path) pieces.add(piece);
    if (piece.head.blocked === true) {
      // Where a directory stands there is no file; where there was none either, nothing is to be done.
      if (wanted === null) continue;
      pieces.add(piece);
      piece.refuse({ kind: "kind", hunks: [] });
      continue;
    }
    if (piece.state?.kind === "symlink" && wanted?.kind === "file") piece.refuse({ kind: "kind", hunks: [] });
    else if (wanted !== null && wanted.sha256 !== piece.state?.sha256 && !view.reader.hasObject(wanted.sha256))
      piece.refuse({ kind: "base_unavailable", hunks: [], missing: wanted.sha256 });
    else {
      board.lift(piece);
      piece.become(wanted, undefined);
      board.settle(piece);
    }
    if (piece.changed || piece.conflict !== undefined) pieces.add(piece);
    if (piece.changed) await collect(view, pace, each, at.generation, later);
  }
  const generations = [...later].sort((a, b) => b - a);
  const checkpoints: Checkpoint[] = [];
  for (const generation of generations) {
    await pace.next();
    const found = view.reader.checkpointAt(view.workspace, generation);
    if (found !== undefined && found.cause !== "import") checkpoints.push(found);
  }
  const plan = await makePlan(view, board, new Map([[at.id, pieces]]), [], skipConflicts, limits);
  return { ...plan, undone: checkpoints.map((one) => one.id), later: checkpoints };
}

function wantedAt(view: UndoView, path: string, at: Checkpoint): PathState {
  const recorded = view.trees.get(at.tree, path);
  if (recorded !== null) return recorded;
  const [first] = view.reader.touchesAfter(view.workspace, path, at.generation, Number.MAX_SAFE_INTEGER, 1);
  return first !== undefined && first.cause === "import" ? first.after : null;
}

async function collect(view: UndoView, pace: Pace, path: string, after: number, into: Set<number>): Promise<void> {
  let generation = after;
  for (;;) {
    const page = view.reader.touchesAfter(view.workspace, path, generation, Number.MAX_SAFE_INTEGER, PAGE);
    for (const touch of page) into.add(touch.generation);
    generation = page.at(-1)?.generation ?? generation;
    await pace.next();
    if (page.length < PAGE) return;
  }
}
