import { GinError, Pace } from "../../base/index.ts";
import type { PathState } from "../../store/index.ts";
import type { Board, Piece } from "./board.ts";
import { checkPaths } from "./limits.ts";
import type { Selected, UndoEdit, UndoLimits, UndonePathPlan, UndoPlan, UndoView } from "./types.ts";

/** Turns what a board has become into the save that does it. */
export async function makePlan(
  view: UndoView,
  board: Board,
  takers: ReadonlyMap<string, ReadonlySet<Piece>>,
  selected: readonly Selected[],
  skipConflicts: boolean,
  limits: UndoLimits,
): Promise<UndoPlan> {
  const asked = new Set([...takers.values()].flatMap((pieces) => [...pieces]));
  stay(board);
  const made = new Set([...board.pieces()].filter((piece) => piece.changed && piece.state !== null).map((piece) => piece.path));
  // What goes where something else comes back is no news of its own.
  const replaced = (piece: Piece) => piece.changed && piece.state === null && made.has(piece.headPath);
  const pieces = [...board.pieces()].filter((piece) => (asked.has(piece) || piece.changed) && !replaced(piece));
  const paths = pieces.map((piece) => described(piece, skipConflicts)).sort((a, b) => (a.path < b.path ? -1 : 1));
  const undone = selected
    .filter(({ checkpoint }) => [...(takers.get(checkpoint.id) ?? [])].some((piece) => piece.changed))
    .map(({ checkpoint }) => checkpoint.id);
  const clean = pieces.every((piece) => piece.conflict === undefined);
  const edits = await editsOf(view, board, limits);
  return { paths, edits, undone, clean };
}

/** A piece that conflicts stays as it is at head; what was to take its place there then conflicts too. */
function stay(board: Board): void {
  const pieces = [...board.pieces()];
  const links = new Set(pieces.filter((piece) => piece.head.state?.kind === "symlink").map((piece) => piece.headPath));
  for (const piece of pieces) {
    // A save of content goes through a link that stands at the path, so none can put a file in its place.
    if (piece.state?.kind === "file" && links.has(piece.path)) piece.refuse({ kind: "kind", hunks: [] });
    if (piece.conflict !== undefined) piece.reset();
  }
  for (let again = true; again; ) {
    again = false;
    const staying = new Set<string>();
    for (const piece of pieces) if (stays(piece)) staying.add(piece.path);
    for (const piece of pieces) {
      if (piece.state === null || stays(piece) || !staying.has(piece.path)) continue;
      piece.refuse({ kind: "occupied", hunks: [] });
      piece.reset();
      again = true;
    }
  }
}

/** Whether a piece that is something at head keeps its name. */
function stays(piece: Piece): boolean {
  return piece.head.state !== null && piece.state !== null && piece.path === piece.headPath;
}

function described(piece: Piece, skipConflicts: boolean): UndonePathPlan {
  const { conflict } = piece;
  const common = { path: piece.headPath, state: piece.state };
  if (conflict !== undefined) {
    const { kind, ...rest } = conflict;
    return { ...common, outcome: skipConflicts ? "skipped" : "conflict", conflict: kind, ...rest };
  }
  if (!piece.changed) return { ...common, outcome: "no_change", hunks: [] };
  const moved = piece.path !== piece.headPath && piece.state !== null;
  if (!moved) return { ...common, outcome: "reversed", hunks: [] };
  // Nothing is at head: it comes back under the name it had.
  if (piece.head.state === null) return { ...common, path: piece.path, outcome: "reversed", hunks: [] };
  return { ...common, outcome: "reversed", renamedTo: piece.path, hunks: [] };
}

/**
 * One edit a path. A rename is said as one, so that the file keeps its history; but where something else comes to the path it
 * leaves, one save has no words for both: then it is a new file, and the path it leaves gets other content.
 */
async function editsOf(view: UndoView, board: Board, limits: UndoLimits): Promise<UndoEdit[]> {
  const pace = new Pace(view.clock, view.signal);
  const changed = [...board.pieces()].filter((piece) => piece.changed && !(piece.state === null && piece.head.state === null));
  const byRename = new Set(changed.filter(canRename));
  /** Pieces that come to a path by being made there. */
  const madeAt = new Map<string, Piece>();
  for (const piece of changed) if (piece.state !== null && !byRename.has(piece)) madeAt.set(piece.path, piece);
  for (let again = true; again; ) {
    again = false;
    for (const piece of byRename) {
      if (!madeAt.has(piece.headPath)) continue;
      byRename.delete(piece);
      madeAt.set(piece.path, piece);
      again = true;
    }
  }
  const edits: UndoEdit[] = [];
  const purse = { bytes: limits.bytes };
  for (const piece of changed) {
    await pace.next();
    const expect = piece.head.state?.sha256 ?? "absent";
    if (byRename.has(piece)) {
      edits.push({ path: piece.headPath, expect, renameTo: piece.path, ...(await difference(board, piece, purse, limits)) });
      continue;
    }
    if (piece.state === null || piece.path !== piece.headPath) {
      if (piece.head.state !== null && !madeAt.has(piece.headPath)) edits.push({ path: piece.headPath, expect, delete: true });
    }
    if (piece.state === null) continue;
    const there = await board.at(piece.path);
    const expected = there.head.state?.sha256 ?? "absent";
    const what = there === piece ? await difference(board, piece, purse, limits) : await whole(board, piece, purse, limits);
    edits.push({ path: piece.path, expect: expected, ...what });
  }
  checkPaths(limits, edits.length);
  return edits;
}

function canRename(piece: Piece): boolean {
  const { head, state } = piece;
  if (head.state === null || state === null || piece.path === piece.headPath) return false;
  // A link that moves is moved as it is.
  return head.state.kind === state.kind && (state.kind === "file" || head.state.sha256 === state.sha256);
}

/** What an edit of the piece at its own place, or beside a rename, must say. */
async function difference(board: Board, piece: Piece, purse: Purse, limits: UndoLimits): Promise<Partial<UndoEdit>> {
  const { head, state } = piece;
  if (state === null) return {};
  const sameBytes = head.state?.sha256 === state.sha256 && head.state.kind === state.kind;
  if (!sameBytes) return whole(board, piece, purse, limits);
  return head.state?.executable === state.executable ? {} : { executable: state.executable };
}

interface Purse {
  bytes: number;
}

async function whole(board: Board, piece: Piece, purse: Purse, limits: UndoLimits): Promise<Partial<UndoEdit>> {
  const { state } = piece;
  if (state === null) return {};
  const bytes = await board.bytes(piece);
  if (bytes === undefined) throw notKept(piece.path, state);
  purse.bytes -= bytes.byteLength;
  if (purse.bytes < 0) {
    throw new GinError("TOO_LARGE", `one undo writes at most ${limits.bytes} bytes`, "take back less at a time", {
      facts: { limit: limits.bytes, unit: "bytes" },
    });
  }
  return state.kind === "symlink"
    ? { link: Buffer.from(bytes).toString("utf8") }
    : { content: bytes, executable: state.executable };
}

function notKept(path: string, state: NonNullable<PathState>): GinError {
  return new GinError("CONTENT_NOT_KEPT", `the bytes ${path} had then are not kept`, undefined, {
    facts: { path, sha256: state.sha256 },
  });
}
