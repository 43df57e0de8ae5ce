import type { Pace } from "../../base/index.ts";
import type { Checkpoint, Content, PathState } from "../../store/index.ts";
import { MAX_TEXT_BYTES } from "../merge-path.ts";
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
  readonly selected: { has(checkpoint: string): boolean };
  /** What is left for following texts step by step. */
  readonly purse: { steps: number };
  readonly pace: Pace;
}

/** Most texts between a change and now that are followed one by one; past them they are thinned out evenly. */
const STEPS = 32;

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
  const sizes = [states.before.size, states.after.size, piece.state?.size ?? 0];
  if (sizes.some((size) => size > MAX_TEXT_BYTES)) {
    stop({ kind: "too_large", hunks: [] });
    return;
  }
  const from = view.reader.object(states.before.sha256);
  const made = view.reader.object(states.after.sha256);
  const now = await board.bytes(piece);
  if (from === undefined || made === undefined || now === undefined) {
    const missing = from === undefined ? states.before : made === undefined ? states.after : piece.state;
    piece.refuse({ kind: "base_unavailable", hunks: [], ...(missing === null ? {} : { missing: missing.sha256 }) });
    return;
  }
  const later = await laterTexts(view, change, piece, now);
  const result = await reverseText(view.differ, from, made, later, { pace: change.pace, signal: view.signal });
  if (!result.clean) {
    if (result.conflict !== "content") stop({ kind: result.conflict, hunks: [] });
    else piece.refuse({ kind: "content", hunks: await blame(view, change, now, result), ...inTheWay(view, change) });
    return;
  }
  piece.become(fileOf(result.bytes, states.executable), result.bytes);
  piece.later = result.later;
  piece.laterFrom = change.checkpoint.generation;
}

/** The texts since the change, without what was undone of them, as many as are followed; the last is what the piece is now. */
async function laterTexts(view: UndoView, change: Reversed, piece: Piece, now: Uint8Array): Promise<Uint8Array[]> {
  const states: Content[] = [];
  let last = change.after?.sha256;
  for (let at = change.lineage.versions.length - 1; at >= 0; at -= 1) {
    const version = change.lineage.versions[at];
    if (version === undefined || version.generation >= piece.laterFrom) break;
    const { state } = version;
    if (state === null || state.kind !== "file" || state.size > MAX_TEXT_BYTES || state.sha256 === last) continue;
    last = state.sha256;
    states.push(state);
  }
  const count = states.length + piece.later.length;
  const every = Math.max(1, Math.ceil(count / STEPS));
  const size =
    (states.reduce((sum, state) => sum + state.size, 0) + piece.later.reduce((sum, text) => sum + text.length, 0)) / every;
  if (size > change.purse.steps) return [now];
  change.purse.steps -= size;
  const texts: Uint8Array[] = [];
  for (let at = count - 1; at >= 0; at -= every) {
    const state = states[at];
    const text = state === undefined ? piece.later[at - states.length] : view.reader.object(state.sha256);
    if (text !== undefined) texts.push(text);
    await change.pace.next();
  }
  return [...texts.reverse(), now];
}

/** The newest later checkpoint that is not being taken back. */
export function inTheWay(view: UndoView, { lineage, selected }: Pick<Reversed, "lineage" | "selected">): Pick<Conflict, "by"> {
  const newest = lineage.versions.find((version) => !selected.has(version.checkpoint));
  if (newest === undefined) return {};
  const principal = view.reader.checkpoint(newest.checkpoint)?.principal ?? "";
  return { by: { checkpoint: newest.checkpoint, principal } };
}
