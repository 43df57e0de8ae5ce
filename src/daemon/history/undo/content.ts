import type { Checkpoint, Content, PathState } from "../../store/index.ts";
import { blame } from "./blame.ts";
import type { Board, Conflict, Piece } from "./board.ts";
import type { Lineage } from "./lineage.ts";
import { reverseText } from "./reverse-text.ts";
import { fileOf, sameState } from "./states.ts";
import type { UndoView } from "./types.ts";

/** One change to take back from a piece. */
export interface Reversed {
  readonly checkpoint: Checkpoint;
  readonly before: PathState;
  readonly after: PathState;
  /** What became of it since the checkpoint. */
  readonly lineage: Lineage;
  /** Checkpoints that are being taken back: none of them stands in the way. */
  readonly selected: ReadonlySet<string>;
}

/** Most texts between a change and now that are followed one by one, and their bytes together; past them they are thinned out. */
const STEPS = 64;
const STEP_BYTES = 8 * 1024 * 1024;

/**
 * Takes one change back from a piece: content, kind, mode, presence. What the piece is now decides together with what the change
 * made: equal to it, the piece simply becomes what was before; a text is reversed by hunks; anything else that differs is a conflict.
 */
export async function reverseContent(view: UndoView, board: Board, piece: Piece, change: Reversed): Promise<void> {
  const { before, after } = change;
  const now = piece.state;
  if (sameState(before, after)) return;
  board.lift(piece);
  if (sameState(now, after)) replace(view, piece, change, before);
  else if (!sameState(now, before)) await merge(view, board, piece, change);
  board.settle(piece);
}

function replace(view: UndoView, piece: Piece, change: Reversed, before: PathState): void {
  if (before !== null && before.sha256 !== piece.head.state?.sha256 && !view.reader.hasObject(before.sha256)) {
    piece.refuse({ kind: "base_unavailable", hunks: [], missing: before.sha256 });
    return;
  }
  piece.become(before, before !== null && before.sha256 === piece.state?.sha256 ? piece.made : undefined);
  piece.later = [];
  piece.laterFrom = change.checkpoint.generation;
}

async function merge(view: UndoView, board: Board, piece: Piece, change: Reversed): Promise<void> {
  const { before, after } = change;
  const now = piece.state;
  // A file it had made is gone already.
  if (before === null && now === null) return;
  const stop = (conflict: Conflict): void => piece.refuse({ ...conflict, ...inTheWay(view, change) });
  if (before === null || after === null || now === null) {
    stop({ kind: "delete_modify", hunks: [] });
    return;
  }
  if (before.kind !== "file" || after.kind !== "file" || now.kind !== "file") {
    stop({ kind: before.kind === after.kind && after.kind === now.kind ? "content" : "kind", hunks: [] });
    return;
  }
  // Two values only: what is not as the change made it is as it was before.
  const executable = before.executable === after.executable ? now.executable : before.executable;
  if (before.sha256 === after.sha256 || now.sha256 === before.sha256) {
    piece.become({ ...now, executable }, piece.made);
    return;
  }
  if (now.sha256 === after.sha256) {
    replace(view, piece, change, { ...before, executable });
    return;
  }
  await mergeText(view, board, piece, change, { before, after, executable }, stop);
}

async function mergeText(
  view: UndoView,
  board: Board,
  piece: Piece,
  change: Reversed,
  states: { readonly before: Content; readonly after: Content; readonly executable: boolean },
  stop: (conflict: Conflict) => void,
): Promise<void> {
  const from = view.reader.object(states.before.sha256);
  const made = view.reader.object(states.after.sha256);
  const now = await board.bytes(piece);
  if (from === undefined || made === undefined || now === undefined) {
    const missing = from === undefined ? states.before : made === undefined ? states.after : piece.state;
    piece.refuse({ kind: "base_unavailable", hunks: [], ...(missing === null ? {} : { missing: missing.sha256 }) });
    return;
  }
  const between = texts(view, change, piece);
  const result = await reverseText(view.differ, from, made, [...between.own, ...piece.later, now], view.signal);
  if (!result.clean) {
    if (result.conflict !== "content") stop({ kind: result.conflict, hunks: [] });
    else piece.refuse({ kind: "content", hunks: await blame(view, change, now, result), ...inTheWay(view, change) });
    return;
  }
  piece.become(fileOf(result.bytes, states.executable), result.bytes);
  piece.later = result.later;
  piece.laterFrom = change.checkpoint.generation;
}

/** The texts between the change and what is known of later ones: thinned out evenly where there are too many. */
function texts(view: UndoView, change: Reversed, piece: Piece): { readonly own: Uint8Array[] } {
  const states: Content[] = [];
  let last = change.after?.sha256;
  for (const { generation, state } of change.lineage.versions) {
    if (generation >= piece.laterFrom) break;
    if (state === null || state.kind !== "file" || state.sha256 === last) continue;
    last = state.sha256;
    states.push(state);
  }
  const size = states.reduce((sum, state) => sum + state.size, 0);
  const every = Math.max(1, Math.ceil(states.length / STEPS), Math.ceil(size / STEP_BYTES));
  const own: Uint8Array[] = [];
  for (let at = states.length - 1; at >= 0; at -= every) {
    const state = states[at];
    const bytes = state === undefined ? undefined : view.reader.object(state.sha256);
    if (bytes !== undefined) own.push(bytes);
  }
  return { own: own.reverse() };
}

/** The newest later checkpoint that is not being taken back. */
function inTheWay(view: UndoView, { lineage, selected }: Reversed): Pick<Conflict, "by"> {
  const newest = lineage.versions.findLast((version) => !selected.has(version.checkpoint));
  if (newest === undefined) return {};
  const principal = view.reader.checkpoint(newest.checkpoint)?.principal ?? "";
  return { by: { checkpoint: newest.checkpoint, principal } };
}
