import { GinError, toGinError } from "../base/index.ts";
import type { CommitResult } from "../store/index.ts";
import { applySteps, dropStaged, type Rescued, type Step } from "./apply.ts";
import type { WorkspaceDeps } from "./deps.ts";
import { Durable } from "./durable.ts";
import { LateWriters } from "./late-writers.ts";
import { AppliedMarks } from "./marks.ts";
import type { Observed } from "./observe.ts";
import type { Author, Line, Planned } from "./plan.ts";
import type { ReadySave, RefusedSave } from "./prepare.ts";
import { NOBODY, recordOutside, recordRescued } from "./record.ts";
import type { Recovered } from "./recovery.ts";
import type { AbsorbTurn, SaveTurn, Turn } from "./turns.ts";
import type { SaveOutcome, State } from "./types.ts";
import { Unapplied } from "./unapplied.ts";

/** Times a save is judged anew after its batch failed before the caller is told. */
const ATTEMPTS = 5;
/** Paths whose last inode is remembered. */
const OWN_INODES = 10_000;

/** An item of a running batch that has something to commit or to answer. */
export type Item =
  | { readonly turn: SaveTurn; readonly ready: ReadySave | RefusedSave }
  | { readonly turn: AbsorbTurn; readonly planned: Planned; readonly answer: (state: State) => void };

/** What became of a batch: where the line stands, who is to be judged anew, and the answers, which are given once it stands there. */
export interface Finished {
  readonly line: Line;
  readonly again: readonly Turn[];
  readonly answers: readonly ((state: State) => void)[];
}

/** What the finisher asks of the actor. */
export interface FinisherHost {
  /** Stops the workspace; nothing is written any more until the daemon starts again. */
  stop(note: string, cause: unknown): void;
  /** Asks for a turn in which `repair` runs. */
  repairLater(): void;
}

/**
 * What happens to a batch from its commit on: saves are put in place, what they displaced is kept, marks and syncs follow in the
 * background. After the commit nothing is reported as a failure: what cannot be finished stops the workspace, and recovery
 * finishes it.
 */
export class Finisher {
  readonly marks: AppliedMarks;
  readonly #deps: WorkspaceDeps;
  readonly #host: FinisherHost;
  readonly #durable: Durable;
  readonly #unapplied: Unapplied;
  /** Inode gin put at a path last, for telling its own fresh files from others'. */
  readonly #ownInodes = new Map<string, bigint>();
  readonly #late: LateWriters;

  constructor(deps: WorkspaceDeps, recovered: Recovered, host: FinisherHost) {
    this.#deps = deps;
    this.#host = host;
    this.#durable = new Durable(deps, (cause) =>
      host.stop("a file could not be synced; what is on the disk is known again after a restart", cause),
    );
    this.marks = new AppliedMarks(deps, (cause) => host.stop("applied saves could not be marked", cause));
    this.#unapplied = new Unapplied({ ...deps, store: deps.store.read }, () => host.repairLater());
    this.#late = new LateWriters(
      deps,
      () => host.repairLater(),
      (save) => this.#durable.add(save.id, save.paths),
    );
    this.#late.add(recovered.lingering);
    for (const { save, failed } of recovered.leftover) this.#unapplied.add(save, failed);
    for (const { id, paths } of recovered.unsynced) this.#durable.add(id, paths);
  }

  /** Committed paths that are not on disk yet. */
  get unapplied(): number {
    return this.#unapplied.size;
  }

  /** Whether no temp of gin's is left in the directory. */
  get tidy(): boolean {
    return this.#late.size === 0 && this.#unapplied.size === 0 && !this.#deps.root.littered();
  }

  /** A committed path that is not on disk yet, as callers see it. */
  unappliedAt(path: string): Observed | undefined {
    return this.#unapplied.at(path);
  }

  /** The transaction failed as a whole: nothing was decided, or nobody knows until the store is opened again. */
  failed(items: readonly Item[], error: GinError): void {
    for (const item of items) {
      if ("ready" in item && "staging" in item.ready) item.ready.staging?.abort();
      item.turn.reject(error);
    }
    if (error.reason !== "DISK_FULL" && error.reason !== "STORE_READ_ONLY")
      this.#host.stop("the store failed in a commit", error);
  }

  /** Puts the committed saves of a batch in place, in their order. */
  async finish(items: readonly Item[], results: readonly CommitResult[], from: Line): Promise<Finished> {
    const answers: ((state: State) => void)[] = [];
    const again: Turn[] = [];
    const raced: { readonly turn: SaveTurn; readonly ready: ReadySave; readonly rescued: readonly Rescued[] }[] = [];
    let line = from;
    for (const [index, item] of items.entries()) {
      const result = results[index] ?? "skipped";
      if (result !== "committed") {
        this.#notCommitted(item, result, again);
        continue;
      }
      if (!("ready" in item)) {
        line = item.planned.line;
        answers.push(item.answer);
        continue;
      }
      const { turn, ready } = item;
      const at = ready.planned.line;
      line = at;
      const rescued = "error" in ready ? [] : await this.#apply(ready);
      if (rescued.length > 0) raced.push({ turn, ready: ready as ReadySave, rescued });
      else answers.push(() => this.answer(turn, ready, at));
    }
    // Only now: the transaction took the head past every save of the batch, and a rescue goes on from there.
    for (const { turn, ready, rescued } of raced) {
      const before = line;
      try {
        const kept = await recordRescued(this.#deps, line, authorOf(ready), rescued, (next) => (line = next));
        const after = line;
        answers.push(() => this.answer(turn, ready, after, kept));
      } catch (thrown) {
        answers.push(() => this.answer(turn, ready, before));
        this.#host.stop("a displaced edit could not be recorded", thrown);
      }
    }
    if (this.#deps.durability === "strict") await this.#durable.flush();
    return { line, again, answers };
  }

  /** Gives a save its answer. */
  answer(turn: SaveTurn, ready: ReadySave | RefusedSave, line: Line, rescued: SaveOutcome["rescued"] = []): void {
    if ("error" in ready) {
      this.#refuse(turn, ready);
      return;
    }
    const own = ready.planned.own?.id;
    const applyPending = own !== undefined && this.#unapplied.holds(own);
    const { state } = ready.outcome;
    const now = rescued.length === 0 ? state : { ...state, generation: line.generation, head: line.head };
    turn.resolve({ ...ready.outcome, state: now, applyPending, rescued });
  }

  /**
   * Looks at displaced files once more, and tries committed paths that are not on disk yet. Gives where the line stands then: what is
   * refused meanwhile is logged and tried again, for a line that is lost would stop the workspace at its next commit.
   */
  async repair(from: Line, all = false): Promise<Line> {
    const { clock, store } = this.#deps;
    let line = from;
    const look = this.#late.look(all);
    const { whole, applied } = await this.#unapplied.retry(clock.wallMs(), async (outside) => {
      line = await recordOutside(this.#deps, line, [outside]);
    });
    try {
      await recordRescued(this.#deps, line, NOBODY, [...look.late, ...applied.rescued], (next) => (line = next));
      await look.settle().catch((thrown: unknown) => this.#repairFailed(thrown));
    } catch (thrown) {
      look.giveUp();
      this.#repairFailed(thrown);
    }
    this.#late.add(
      applied.lingering,
      whole.map((id) => ({ id, paths: touchedBy(store, id) })),
    );
    this.marks.add(whole);
    return line;
  }

  #repairFailed(thrown: unknown): void {
    this.#deps.log.error({ err: thrown, workspace: this.#deps.row.id }, "a repair failed; it is tried again");
  }

  /** Everything looked at, marked and synced. What somebody still has open is left under its temp name, for the next start. */
  async close(from: Line): Promise<void> {
    let line = from;
    // A repair that puts a waiting path in place may displace something once more; what is open was looked at then.
    for (let known = -1, round = 0; this.#late.size > 0 && this.#late.added !== known && round < 3; round++) {
      known = this.#late.added;
      line = await this.repair(line, true);
    }
    this.#late.close();
    await this.marks.flush();
    await this.#durable.flush();
  }

  #notCommitted(item: Item, result: CommitResult, again: Turn[]): void {
    const { turn } = item;
    if ("ready" in item && "staging" in item.ready) item.ready.staging?.abort();
    if (result === "stale") {
      this.#host.stop("another daemon took the workspace over", undefined);
      turn.reject(new GinError("STALE_EPOCH", "another daemon took the workspace over"));
      return;
    }
    if (result === "request_exists") {
      const message = "the same request was committed at this moment";
      turn.reject(new GinError("REQUEST_IN_PROGRESS", message, undefined, { retryAfterMs: 50 }));
      return;
    }
    if (turn.kind === "save" && ++turn.attempts >= ATTEMPTS) {
      turn.reject(
        result === "fence"
          ? new GinError("FENCE_SUPERSEDED", "the lease ended while the save was being committed")
          : new GinError("BUSY", "the save could not get its turn", undefined, { retryAfterMs: 100 }),
      );
      return;
    }
    again.push(turn);
  }

  /** Puts one committed save in place; gives what it displaced that was not the content it had verified. */
  async #apply({ staging, planned }: ReadySave): Promise<readonly Rescued[]> {
    const { own } = planned;
    if (staging === undefined || own === undefined) return [];
    const { root, clock, failPoints } = this.#deps;
    const steps: Step[] = planned.changed.map((one) => ({
      path: one.slot.path,
      before: one.seen.content,
      after: one.after,
      mode: one.mode,
      staged: staging.at(one.slot.path),
      ownInode: this.#ownInodes.get(one.slot.path),
    }));
    try {
      const result = await applySteps(root, steps, clock, failPoints, clock.wallMs());
      failPoints.hit("save.applied");
      for (const step of steps) {
        this.#unapplied.forget(step.path);
        this.#own(step);
      }
      dropStaged(root, result);
      this.#unapplied.add(own.id, result.failed);
      if (result.failed.length === 0) {
        const paths = steps.map((step) => step.path);
        this.marks.add([own.id]);
        this.#late.add(result.lingering, [{ id: own.id, paths }]);
      } else this.#late.add(result.lingering);
      return result.rescued;
    } catch (thrown) {
      // It is committed: whatever fails from here on is for recovery, and no reason to tell the caller otherwise.
      this.#host.stop("a committed save could not be finished", thrown);
      return [];
    }
  }

  #own(step: Step): void {
    this.#ownInodes.delete(step.path);
    if (step.staged === undefined) return;
    this.#ownInodes.set(step.path, step.staged.inode);
    if (this.#ownInodes.size > OWN_INODES) this.#ownInodes.delete(this.#ownInodes.keys().next().value as string);
  }

  #refuse(turn: SaveTurn, { error, detail }: RefusedSave): void {
    if (detail === undefined) {
      turn.reject(error);
      return;
    }
    const { row, clock, store } = this.#deps;
    const kept = {
      id: detail.id,
      workspace: row.rowid,
      principal: turn.input.principal,
      ...detail.detail,
      timeMs: clock.wallMs(),
    };
    store.write("detail", kept).then(
      () => turn.reject(error),
      (thrown: unknown) => turn.reject(toGinError(thrown)),
    );
  }
}

/** In whose name a save's content is put back over an edit that raced it. */
function authorOf({ planned: { own } }: ReadySave): Author {
  return own === undefined
    ? NOBODY
    : {
        principal: own.principal,
        requestId: own.requestId,
        message: own.message,
        cause: own.cause,
        ...(own.undoes === undefined ? {} : { undoes: own.undoes }),
      };
}

function touchedBy(store: WorkspaceDeps["store"], id: string): string[] {
  return store.read.touched(id, 0, Number.MAX_SAFE_INTEGER).paths.map((one) => one.path);
}
