import { GinError, Pace } from "../../base/index.ts";
import type { Checkpoint, PathChange, PathState } from "../../store/index.ts";
import { Board, type Conflict, type Piece } from "./board.ts";
import { inTheWay, reverseContent } from "./content.ts";
import { checkLooked } from "./limits.ts";
import { type Lineage, Lineages } from "./lineage.ts";
import { makePlan } from "./plan.ts";
import { sameState } from "./states.ts";
import type { Selected, UndoLimits, UndoPlan, UndoView } from "./types.ts";

/**
 * Bytes of later texts that one undo follows step by step, over all its changes; past them the first and the last text of a
 * change alone decide. A count, so that every machine comes to the same.
 */
const STEP_BYTES = 64 * 1024 * 1024;
const NONE: ReadonlySet<string> = new Set();
/** Touched paths read in one go. */
const PAGE = 1_000;

/**
 * What undoing some checkpoints of one workspace would do. They are given newest first and folded: each is reversed against what
 * the newer ones leave. Nothing is changed; the plan's edits, saved, do it. Throws TOO_LARGE past the limits, CANCELLED, and what
 * `view.current` throws.
 */
export async function planUndo(
  view: UndoView,
  selected: readonly Selected[],
  skipConflicts: boolean,
  limits: UndoLimits,
): Promise<UndoPlan> {
  const fold = new Fold(view, new Map(selected.map((one) => [one.checkpoint.id, one.except ?? NONE])), limits);
  for (const one of selected) await fold.reverse(one);
  return makePlan(view, fold.board, fold.takers, selected, skipConflicts, limits);
}

/** A change of a checkpoint with the piece it is taken back from. */
interface Reversal {
  readonly change: PathChange;
  readonly piece: Piece;
}

class Fold {
  readonly board: Board;
  /** Which checkpoints have a say in a piece. */
  readonly takers = new Map<string, Set<Piece>>();
  readonly #view: UndoView;
  readonly #selected: ReadonlyMap<string, ReadonlySet<string>>;
  readonly #limits: UndoLimits;
  readonly #pace: Pace;
  readonly #lineages: Lineages;
  readonly #purse = { steps: STEP_BYTES };

  constructor(view: UndoView, selected: ReadonlyMap<string, ReadonlySet<string>>, limits: UndoLimits) {
    this.#view = view;
    this.#selected = selected;
    this.#limits = limits;
    this.#pace = new Pace(view.clock, view.signal);
    this.#lineages = new Lineages(view, (checkpoint, path) => {
      const except = selected.get(checkpoint);
      return except !== undefined && !except.has(path);
    });
    this.board = new Board(view);
  }

  async reverse({ checkpoint, except }: Selected): Promise<void> {
    const changes = await this.#changesOf(checkpoint, except);
    const vacated = new Set(changes.flatMap((change) => (change.renamedFrom === undefined ? [] : [change.renamedFrom])));
    const arrivals: Reversal[] = [];
    for (const change of changes) {
      if (change.renamedFrom !== undefined) arrivals.push(await this.#find(checkpoint, change));
      // The other end of a rename has nothing of its own.
      else if (!(change.after === null && vacated.has(change.path))) await this.#reverseOne(checkpoint, change);
    }
    if (arrivals.length > 0) await this.#reverseRenames(checkpoint, arrivals, changes, vacated);
  }

  async #changesOf(checkpoint: Checkpoint, except: ReadonlySet<string> | undefined): Promise<PathChange[]> {
    const changes: PathChange[] = [];
    for (;;) {
      const { paths, count } = this.#view.reader.touched(checkpoint.id, changes.length, PAGE);
      checkLooked(this.#limits, count);
      changes.push(...paths);
      await this.#pace.next();
      if (changes.length >= count) break;
      if (paths.length === 0) throw trimmed(checkpoint);
    }
    return except === undefined ? changes : changes.filter((change) => !except.has(change.path));
  }

  async #find(checkpoint: Checkpoint, change: PathChange): Promise<Reversal & { readonly lineage: Lineage }> {
    await this.#pace.next();
    const lineage = this.#lineages.of(change.path, checkpoint.generation);
    const piece = lineage.gone === undefined ? await this.board.at(lineage.path) : this.board.gone(lineage.path, lineage.gone);
    this.#takes(checkpoint, piece);
    return { change, piece, lineage };
  }

  #takes(checkpoint: Checkpoint, piece: Piece): void {
    checkLooked(this.#limits, this.board.size);
    const pieces = this.takers.get(checkpoint.id) ?? new Set();
    this.takers.set(checkpoint.id, pieces.add(piece));
  }

  async #reverseOne(checkpoint: Checkpoint, change: PathChange): Promise<void> {
    const { path, before, after } = change;
    if (after === null) {
      if (before !== null) await this.#restore(checkpoint, path, before);
      return;
    }
    const { piece, lineage } = await this.#find(checkpoint, change);
    if (piece.conflict !== undefined) return;
    if (piece.head.blocked === true) piece.refuse({ kind: "kind", hunks: [] });
    else await this.#content(checkpoint, piece, before, after, lineage);
  }

  /** What a checkpoint took away comes back where it was, if nothing is there. */
  async #restore(checkpoint: Checkpoint, path: string, before: PathState): Promise<void> {
    await this.#pace.next();
    const { generation } = checkpoint;
    const piece = this.board.gone(path, generation);
    this.#takes(checkpoint, piece);
    const there = await this.board.at(path);
    const holder = await this.board.holder(path);
    // Brought back already; or the place is no file's.
    if (holder !== undefined && sameState(holder.state, before)) return;
    if (there.head.blocked === true) piece.refuse({ kind: "kind", hunks: [] });
    else if (holder !== undefined) {
      const lineage = this.#lineages.of(path, generation);
      piece.refuse({ kind: "delete_modify", hunks: [], ...inTheWay(this.#view, { lineage, selected: this.#selected }) });
    } else await this.#content(checkpoint, piece, before, null, { path, names: NONE, versions: [] });
  }

  /** Who touched a path last. */
  #lastAt(path: string): Pick<Conflict, "by"> {
    const last = this.#view.reader.lastTouch(this.#view.workspace, path);
    return last === undefined ? {} : { by: { checkpoint: last.id, principal: last.principal } };
  }

  #content(checkpoint: Checkpoint, piece: Piece, before: PathState, after: PathState, lineage: Lineage): Promise<void> {
    const change = { checkpoint, before, after, lineage, selected: this.#selected, purse: this.#purse, pace: this.#pace };
    return reverseContent(this.#view, this.board, piece, change);
  }

  /** Contents first, then all names at once: what a checkpoint swapped is swapped back. */
  async #reverseRenames(
    checkpoint: Checkpoint,
    arrivals: readonly Reversal[],
    changes: readonly PathChange[],
    vacated: ReadonlySet<string>,
  ): Promise<void> {
    const byPath = new Map(changes.map((change) => [change.path, change]));
    const moving: (Reversal & { readonly from: string })[] = [];
    for (const arrival of arrivals) {
      const { piece, change } = arrival;
      const from = change.renamedFrom ?? change.path;
      if (piece.conflict !== undefined) continue;
      const lineage = this.#lineages.of(change.path, checkpoint.generation);
      const by = inTheWay(this.#view, { lineage, selected: this.#selected });
      if (piece.head.blocked === true) piece.refuse({ kind: "kind", hunks: [] });
      else if (piece.state === null) piece.refuse({ kind: "delete_modify", hunks: [], ...by });
      // A name it got later is not this rename's to take away, unless it is the one to go back to.
      else if (piece.path !== change.path && piece.path !== from) piece.refuse({ kind: "renamed", hunks: [], ...by });
      else {
        const before = byPath.get(from)?.before ?? change.after;
        await this.#content(checkpoint, piece, before, change.after, lineage);
        if (piece.conflict === undefined && piece.path !== from) moving.push({ ...arrival, from });
      }
    }
    for (const { piece } of moving) this.board.lift(piece);
    for (const { piece, from } of moving) {
      const holder = await this.board.holder(from);
      const target = await this.board.at(from);
      if (holder === undefined && target.head.blocked !== true) piece.path = from;
      else piece.refuse({ kind: "occupied", hunks: [], ...this.#lastAt(from) });
      this.board.settle(piece);
    }
    // A file that made room for an arrival, and went nowhere itself, comes back.
    for (const { change } of moving) {
      if (change.before === null || vacated.has(change.path)) continue;
      await this.#restore(checkpoint, change.path, change.before);
    }
  }
}

function trimmed(checkpoint: Checkpoint): GinError {
  return new GinError("HISTORY_TRIMMED", "what that checkpoint changed is not kept any more", undefined, {
    facts: { checkpoint: checkpoint.id },
  });
}
