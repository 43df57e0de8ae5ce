import type { PathState } from "../../store/index.ts";
import { sameState } from "./states.ts";
import type { CurrentPath, UndoConflictHunk, UndoConflictKind, UndoView } from "./types.ts";

/** Why a piece cannot be taken back. */
export interface Conflict {
  readonly kind: UndoConflictKind;
  readonly hunks: readonly UndoConflictHunk[];
  readonly missing?: string;
  readonly by?: { readonly checkpoint: string; readonly principal: string };
}

/** What was at one path at head (or nothing), and what undoing makes of it so far. */
export class Piece {
  readonly headPath: string;
  readonly head: CurrentPath;
  path: string;
  state: PathState;
  /** Bytes of `state` where merging made them; else they are in the store, or at head. */
  made: Uint8Array | undefined;
  conflict: Conflict | undefined;
  /** Later texts without what was undone, in order, of generations from `laterFrom` on; the last of all is the state itself. */
  later: readonly Uint8Array[] = [];
  laterFrom = Number.POSITIVE_INFINITY;

  constructor(headPath: string, head: CurrentPath) {
    this.headPath = headPath;
    this.head = head;
    this.path = headPath;
    this.state = head.state;
  }

  get changed(): boolean {
    return this.path !== this.headPath || !sameState(this.state, this.head.state);
  }

  become(state: PathState, bytes: Uint8Array | undefined): void {
    this.state = state;
    this.made = bytes;
  }

  /** Nothing of it is taken back. */
  reset(): void {
    this.path = this.headPath;
    this.become(this.head.state, undefined);
  }

  /** The first conflict counts: what older changes would make of it depends on it. */
  refuse(conflict: Conflict): void {
    this.conflict ??= conflict;
  }
}

/** The pieces an undo has looked at, by the path they have at head and by the one they get. */
export class Board {
  readonly #view: UndoView;
  readonly #pieces = new Map<string, Piece>();
  /** Who is at a path as things stand: pieces that hold something. */
  readonly #holders = new Map<string, Piece>();

  constructor(view: UndoView) {
    this.#view = view;
  }

  get size(): number {
    return this.#pieces.size;
  }

  pieces(): IterableIterator<Piece> {
    return this.#pieces.values();
  }

  /** The piece of a path at head, looked at once. */
  async at(headPath: string): Promise<Piece> {
    const known = this.#pieces.get(headPath);
    if (known !== undefined) return known;
    const piece = new Piece(headPath, await this.#view.current(headPath));
    this.#pieces.set(headPath, piece);
    this.settle(piece);
    return piece;
  }

  /**
   * The piece of a file that a generation took away from a path, or put another in the place of. At head nothing is left of it,
   * whatever else is at the path.
   */
  gone(path: string, generation: number): Piece {
    const key = `${path}\0${generation}`;
    const known = this.#pieces.get(key);
    if (known !== undefined) return known;
    const piece = new Piece(path, { state: null, bytes: async () => undefined });
    this.#pieces.set(key, piece);
    return piece;
  }

  /** Who holds a path now; undefined when it is free. */
  async holder(path: string): Promise<Piece | undefined> {
    await this.at(path);
    return this.#holders.get(path);
  }

  /** Takes a piece off its path; `settle` puts it where it is by then. */
  lift(piece: Piece): void {
    if (this.#holders.get(piece.path) === piece) this.#holders.delete(piece.path);
  }

  /** Enters a piece at its path if it holds something. */
  settle(piece: Piece): void {
    if (piece.state !== null) this.#holders.set(piece.path, piece);
  }

  /** Bytes of what a piece is now; undefined when they are not kept. */
  async bytes(piece: Piece): Promise<Uint8Array | undefined> {
    if (piece.state === null) return undefined;
    if (piece.made !== undefined) return piece.made;
    if (piece.state.sha256 === piece.head.state?.sha256) return piece.head.bytes();
    return this.#view.reader.object(piece.state.sha256);
  }
}
