import { type Clock, type FailPoints, GinError, type Log, type Random, toGinError } from "../base/index.ts";
import type { CommitResult, SaveCommit, Store, WorkspaceRow } from "../store/index.ts";
import { applySteps, type Lingering, type Rescued, type Step, settle } from "./apply.ts";
import { Durable } from "./durable.ts";
import type { ConfinedRoot } from "./files/index.ts";
import { CHANGE_BYTES, QUEUED_SAVES } from "./limits.ts";
import { AppliedMarks } from "./marks.ts";
import { type Observed, observe } from "./observe.ts";
import { type Line, type Planned, planCommit, planRescue } from "./plan.ts";
import { type PrepareView, prepareSave, type ReadySave, type RefusedSave } from "./prepare.ts";
import { readHead } from "./read-head.ts";
import type { Recovered } from "./recovery.ts";
import { Touched } from "./touched.ts";
import { type AbsorbTurn, mustBeAlone, mustBeFirst, type SaveTurn, type Turn } from "./turns.ts";
import type { HeadRead, LeaseJudge, PathMerger, SaveInput, SaveOutcome, State, Workspace } from "./types.ts";
import { Unapplied } from "./unapplied.ts";

/** What a workspace is built from. */
export interface WorkspaceDeps {
  readonly row: WorkspaceRow;
  readonly root: ConfinedRoot;
  readonly store: Store;
  readonly leases: LeaseJudge;
  readonly merger: PathMerger;
  readonly clock: Clock;
  readonly random: Random;
  readonly failPoints: FailPoints;
  readonly log: Log;
  /** Boot id of the machine. */
  readonly boot: string;
  /** "strict" answers a save only when its files and directories are synced. */
  readonly durability: "default" | "strict";
}

/** Most saves in one batch: bounds how long the first of them waits for its answer. */
const BATCH_SAVES = 256;
/** Times a save is judged anew after its batch failed before the caller is told. */
const ATTEMPTS = 5;
/** How long a displaced file somebody may still write to is kept aside, in milliseconds. */
const LINGER_MS = 1_000;

/** An item of a running batch that has something to commit or to answer. */
type Item =
  | { readonly turn: SaveTurn; readonly ready: ReadySave | RefusedSave }
  | { readonly turn: AbsorbTurn; readonly planned: Planned; readonly answer: (state: State) => void };

/** In whose name a save's content is put back over an edit that raced it. */
function authorOf({ planned: { own } }: ReadySave | RefusedSave): Parameters<typeof planRescue>[2] {
  return {
    principal: own?.principal ?? "",
    requestId: own?.requestId ?? "",
    message: own?.message ?? "",
    cause: own?.cause ?? "save",
  };
}

/**
 * The actor that owns one directory. Its queue is the only place where the head moves; reads run beside it. A batch is
 * prepared save by save, committed in one transaction, applied, and only then answered; the next batch starts after that.
 * `#line` (the head in memory) moves when a batch is applied, so a read sees a path's old bytes with the old head or waits.
 */
export class WorkspaceActor implements Workspace {
  readonly rowid: number;
  readonly id: string;
  readonly root: string;
  readonly #deps: WorkspaceDeps;
  readonly #durable: Durable;
  readonly #unapplied: Unapplied;
  readonly #marks: AppliedMarks;
  readonly #queue: Turn[] = [];
  readonly #listeners = new Set<(state: State) => void>();
  /** Inode gin put at a path last, for telling its own fresh files from others'. */
  readonly #ownInodes = new Map<string, bigint>();
  #lingering: Lingering[] = [];
  #lingerTimer: (() => void) | undefined;
  #line: Line;
  #running: Promise<void> | undefined;
  /** Paths between commit and applied, and the end of that: reads of them that see new bytes wait for it. */
  #inflight: { readonly touched: Touched; readonly done: Promise<void> } | undefined;
  #stopped: string | undefined;
  #closing = false;

  constructor(deps: WorkspaceDeps, recovered: Recovered) {
    this.#deps = deps;
    this.rowid = deps.row.rowid;
    this.id = deps.row.id;
    this.root = deps.row.root;
    this.#line = recovered.line;
    this.#durable = new Durable(deps, (cause) =>
      this.#stop("a file could not be synced; what is on the disk is known again after a restart", cause),
    );
    this.#marks = new AppliedMarks(deps, (cause) => this.#stop("applied saves could not be marked", cause));
    this.#unapplied = new Unapplied({ ...deps, store: deps.store.read }, () => this.#repairLater());
    for (const { save, failed } of recovered.leftover) this.#unapplied.add(save, failed);
    for (const { id, paths } of recovered.unsynced) this.#durable.add(id, paths);
  }

  state(): State {
    const { row } = this.#deps;
    return { incarnation: row.incarnation, generation: this.#line.generation, epoch: row.epoch, head: this.#line.head };
  }

  status(): { readonly status: "active" | "missing" | "stopped"; readonly note: string } {
    if (this.#stopped !== undefined) return { status: "stopped", note: this.#stopped };
    try {
      this.#deps.root.check();
      return { status: "active", note: "" };
    } catch (thrown) {
      return { status: "missing", note: toGinError(thrown).message };
    }
  }

  tree(): string {
    return this.#line.tree;
  }

  applyPending(): number {
    return this.#unapplied.size;
  }

  queued(): number {
    return this.#queue.length;
  }

  onChange(listener: (state: State) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  canonical(path: string): string {
    return this.#deps.root.locate(path, true).path;
  }

  save(input: SaveInput): Promise<SaveOutcome> {
    return new Promise((resolve, reject) => {
      if (this.#queue.length >= QUEUED_SAVES) {
        reject(new GinError("BUSY", "too many saves are waiting for this workspace", undefined, { retryAfterMs: 500 }));
        return;
      }
      const turn: SaveTurn = { kind: "save", input, resolve, reject, attempts: 0 };
      if (this.#enqueue(turn)) input.signal?.addEventListener("abort", () => this.#cancel(turn), { once: true });
    });
  }

  readHead(
    path: string,
    options: { readonly authorise: (path: string) => void; readonly content: boolean; readonly signal?: AbortSignal },
  ): Promise<HeadRead> {
    return readHead(
      {
        root: this.#deps.root,
        store: this.#deps.store,
        tree: () => this.#line.tree,
        state: () => this.state(),
        unapplied: (at) => this.#unapplied.at(at),
        inflight: (at) => (this.#inflight?.touched.has(at) === true ? this.#inflight.done : undefined),
        absorb: (at) => this.#absorb(at),
      },
      path,
      options,
    );
  }

  async close(): Promise<void> {
    this.#closing = true;
    while (this.#running !== undefined) await this.#running;
    if (this.#lingering.length > 0) await this.#repair();
    await this.#marks.flush();
    await this.#durable.flush();
    this.#lingerTimer?.();
    this.#deps.root.close();
  }

  /** False when the turn was refused at once. */
  #enqueue(turn: Turn): boolean {
    const refusal = this.#refusal(turn);
    if (refusal !== undefined) {
      turn.reject(refusal);
      return false;
    }
    this.#queue.push(turn);
    this.#run();
    return true;
  }

  #refusal(turn: Turn): GinError | undefined {
    if (this.#closing && turn.kind === "save") return new GinError("BUSY", "the workspace is being closed");
    if (this.#stopped !== undefined)
      return new GinError("IO_FAILED", `the workspace is stopped: ${this.#stopped}`, "restart the daemon");
    if (turn.kind === "save" && turn.input.signal?.aborted === true)
      return new GinError("CANCELLED", "cancelled before it started");
    return undefined;
  }

  #cancel(turn: SaveTurn): void {
    const at = this.#queue.indexOf(turn);
    if (at < 0) return;
    this.#queue.splice(at, 1);
    turn.reject(new GinError("CANCELLED", "cancelled before it started"));
  }

  #absorb(path: string): Promise<{ readonly seen: Observed; readonly state: State }> {
    return new Promise((resolve, reject) => {
      this.#enqueue({ kind: "absorb", path, resolve, reject });
    });
  }

  #run(): void {
    if (this.#running !== undefined) return;
    this.#running = this.#drain().finally(() => {
      this.#running = undefined;
      if (this.#queue.length > 0) this.#run();
    });
  }

  async #drain(): Promise<void> {
    // Let saves that arrive in this same turn of the event loop form one batch.
    await Promise.resolve();
    while (this.#queue.length > 0) {
      try {
        await this.#batch();
      } catch (thrown) {
        this.#stop("a batch failed after it was decided", thrown);
      }
    }
  }

  #next(): Turn | undefined {
    return this.#queue[0];
  }

  #view(): PrepareView {
    const { row, store, clock, random, root, leases, merger, failPoints } = this.#deps;
    return {
      workspace: row.rowid,
      incarnation: row.incarnation,
      epoch: row.epoch,
      store,
      clock,
      random,
      root,
      leases,
      merger,
      failPoints,
      startTree: this.#line.tree,
      pending: new Map(),
      unapplied: (path) => this.#unapplied.at(path),
    };
  }

  async #batch(): Promise<void> {
    if (this.#next()?.kind === "repair") return this.#repairTurn();
    const view = this.#view();
    const touched = new Touched();
    const items: Item[] = [];
    let line = this.#line;
    while (items.length < BATCH_SAVES) {
      const turn = this.#next();
      if (turn === undefined || turn.kind === "repair" || (items.length > 0 && mustBeFirst(turn))) break;
      this.#queue.shift();
      const item = await this.#prepare(view, line, touched, turn);
      if (item === "defer") {
        this.#queue.unshift(turn);
        break;
      }
      if (item === undefined) continue;
      line = ("ready" in item ? item.ready.planned : item.planned).line;
      items.push(item);
      if (mustBeAlone(turn)) break;
    }
    if (items.length > 0) await this.#commit(items, touched);
  }

  /** Undefined when the turn has had its answer already. */
  async #prepare(
    view: PrepareView,
    line: Line,
    touched: Touched,
    turn: SaveTurn | AbsorbTurn,
  ): Promise<Item | "defer" | undefined> {
    const refusal = this.#refusal(turn);
    if (refusal !== undefined) {
      turn.reject(refusal);
      return undefined;
    }
    try {
      if (turn.kind === "absorb") return await this.#prepareAbsorb(view, line, touched, turn);
      const ready = await prepareSave(view, line, touched, turn.input);
      if (ready === "defer") return "defer";
      if (ready.commit === undefined) {
        this.#answer(turn, ready, ready.planned.line);
        return undefined;
      }
      touched.add(ready.paths);
      return { turn, ready };
    } catch (thrown) {
      turn.reject(toGinError(thrown));
      return undefined;
    }
  }

  async #prepareAbsorb(view: PrepareView, line: Line, touched: Touched, turn: AbsorbTurn): Promise<Item | "defer" | undefined> {
    if (touched.overlaps([turn.path])) return "defer";
    const seen = view.unapplied(turn.path) ?? (await observe(view.root, turn.path, CHANGE_BYTES));
    const planned = await planCommit(view, line, [seen], undefined, undefined, undefined);
    if (planned.commit === undefined) {
      turn.resolve({ seen, state: this.state() });
      return undefined;
    }
    touched.add([turn.path]);
    return { turn, planned, answer: (state) => turn.resolve({ seen, state }) };
  }

  async #commit(items: readonly Item[], touched: Touched): Promise<void> {
    const { store, boot, failPoints } = this.#deps;
    const saves: SaveCommit[] = items
      .map((item) => ("ready" in item ? item.ready.commit : item.planned.commit))
      .filter((one) => one !== undefined);
    let release = (): void => {};
    this.#inflight = { touched, done: new Promise((resolve) => (release = resolve)) };
    try {
      let results: CommitResult[];
      const applied = this.#marks.take();
      try {
        results = await store.write("commit", { saves, boot, applied });
      } catch (thrown) {
        this.#marks.giveBack(applied);
        this.#failBatch(items, toGinError(thrown));
        return;
      }
      failPoints.hit("save.committed");
      await this.#finish(items, results);
    } finally {
      this.#inflight = undefined;
      release();
    }
  }

  /** The transaction failed as a whole: nothing was decided, or nobody knows until the store is opened again. */
  #failBatch(items: readonly Item[], error: GinError): void {
    for (const item of items) {
      if ("ready" in item && "staging" in item.ready) item.ready.staging?.abort();
      item.turn.reject(error);
    }
    if (error.reason !== "DISK_FULL" && error.reason !== "STORE_READ_ONLY") this.#stop("the store failed in a commit", error);
  }

  async #finish(items: readonly Item[], results: readonly CommitResult[]): Promise<void> {
    const answers: (() => void)[] = [];
    const again: Turn[] = [];
    const applied: string[] = [];
    const raced: { readonly turn: SaveTurn; readonly ready: ReadySave | RefusedSave; readonly rescued: readonly Rescued[] }[] =
      [];
    let line = this.#line;
    for (const [index, item] of items.entries()) {
      const result = results[index] ?? "skipped";
      if (result !== "committed") {
        this.#notCommitted(item, result, again);
        continue;
      }
      const planned = "ready" in item ? item.ready.planned : item.planned;
      line = planned.line;
      if (!("ready" in item)) {
        answers.push(() => item.answer(this.state()));
        continue;
      }
      const { turn, ready } = item;
      const at = line;
      try {
        const rescued = await this.#apply(ready, applied);
        if (rescued.length > 0) raced.push({ turn, ready, rescued });
        else answers.push(() => this.#answer(turn, ready, at));
      } catch (thrown) {
        // It is committed: whatever fails from here on is for recovery, and no reason to tell the caller otherwise.
        answers.push(() => this.#answer(turn, ready, at));
        this.#stop("a committed save could not be finished", thrown);
      }
    }
    // Only now: the transaction took the head past every save of the batch, and a rescue goes on from there.
    for (const { turn, ready, rescued } of raced) {
      const before = line;
      try {
        const kept = await this.#rescue(line, authorOf(ready), rescued);
        line = kept.line;
        answers.push(() => this.#answer(turn, ready, kept.line, kept.rescued));
      } catch (thrown) {
        answers.push(() => this.#answer(turn, ready, before));
        this.#stop("a displaced edit could not be recorded", thrown);
      }
    }
    this.#marks.add(applied);
    if (this.#deps.durability === "strict") await this.#durable.flush();
    this.#line = line;
    this.#queue.unshift(...again);
    this.#deps.failPoints.hit("save.answer");
    for (const answer of answers) answer();
    const state = this.state();
    for (const listener of this.#listeners) listener(state);
  }

  #notCommitted(item: Item, result: CommitResult, again: Turn[]): void {
    if ("ready" in item && "staging" in item.ready) item.ready.staging?.abort();
    if (result === "stale") {
      this.#stop("another daemon took the workspace over", undefined);
      item.turn.reject(new GinError("STALE_EPOCH", "another daemon took the workspace over"));
      return;
    }
    if (result === "request_exists") {
      item.turn.reject(
        new GinError("REQUEST_IN_PROGRESS", "the same request was committed at this moment", undefined, { retryAfterMs: 50 }),
      );
      return;
    }
    if (item.turn.kind === "save" && ++item.turn.attempts >= ATTEMPTS) {
      item.turn.reject(
        result === "fence"
          ? new GinError("FENCE_SUPERSEDED", "the lease ended while the save was being committed")
          : new GinError("BUSY", "the save could not get its turn", undefined, { retryAfterMs: 100 }),
      );
      return;
    }
    again.push(item.turn);
  }

  /** Puts one committed save in place; gives what it displaced that was not the content it had verified. */
  async #apply(ready: ReadySave | RefusedSave, applied: string[]): Promise<readonly Rescued[]> {
    if (!("staging" in ready) || ready.staging === undefined || ready.planned.own === undefined) return [];
    const { root, clock, failPoints } = this.#deps;
    const { staging, planned } = ready;
    const steps: Step[] = planned.changed.map((one) => ({
      path: one.slot.path,
      before: one.seen.content,
      after: one.after,
      mode: one.mode,
      staged: staging.at(one.slot.path),
      ownInode: this.#ownInodes.get(one.slot.path),
    }));
    const result = await applySteps(root, steps, clock, failPoints, clock.wallMs());
    failPoints.hit("save.applied");
    const id = ready.planned.own?.id as string;
    for (const step of steps) {
      this.#unapplied.forget(step.path);
      this.#own(step);
    }
    for (const { step } of result.failed) if (step.staged !== undefined) root.discard(step.staged.temp);
    this.#unapplied.add(id, result.failed);
    this.#linger(result.lingering);
    if (result.failed.length === 0) {
      applied.push(id);
      this.#durable.add(
        id,
        steps.map((step) => step.path),
      );
    }
    return result.rescued;
  }

  #own(step: Step): void {
    this.#ownInodes.delete(step.path);
    if (step.staged === undefined) return;
    this.#ownInodes.set(step.path, step.staged.inode);
    if (this.#ownInodes.size > 10_000) this.#ownInodes.delete(this.#ownInodes.keys().next().value as string);
  }

  async #rescue(
    line: Line,
    author: Parameters<typeof planRescue>[2],
    rescued: readonly Rescued[],
  ): Promise<{ line: Line; rescued: SaveOutcome["rescued"] }> {
    if (rescued.length === 0) return { line, rescued: [] };
    const { store, boot, log } = this.#deps;
    const view = { ...this.#view(), startTree: line.tree };
    const withOurs = rescued.map((one) => ({ ...one, ours: store.trees.get(line.tree, one.path) }));
    const plan = await planRescue(view, line, author, withOurs);
    const [result] = await store.write("commit", { saves: [plan.commit], boot });
    if (result !== "committed") throw new GinError("INTERNAL", "a displaced edit could not be recorded");
    log.info({ paths: rescued.map((one) => one.path), checkpoint: plan.checkpoint }, "an outside edit raced a save and was kept");
    return {
      line: plan.line,
      rescued: rescued.map((one) => ({ path: one.path, sha256: one.content.sha256, checkpoint: plan.checkpoint })),
    };
  }

  #answer(turn: SaveTurn, ready: ReadySave | RefusedSave, line: Line, rescued: SaveOutcome["rescued"] = []): void {
    if ("error" in ready) {
      if (ready.detail !== undefined) {
        const { id, detail } = ready.detail;
        const row = {
          id,
          workspace: this.rowid,
          principal: turn.input.principal,
          kind: detail.kind,
          body: detail.body,
          timeMs: this.#deps.clock.wallMs(),
        };
        this.#deps.store.write("detail", row).then(
          () => turn.reject(ready.error),
          (thrown: unknown) => turn.reject(toGinError(thrown)),
        );
        return;
      }
      turn.reject(ready.error);
      return;
    }
    const own = ready.planned.own?.id;
    const applyPending = own !== undefined && this.#unapplied.holds(own);
    const state =
      rescued.length === 0 ? ready.outcome.state : { ...ready.outcome.state, generation: line.generation, head: line.head };
    turn.resolve({ ...ready.outcome, state, applyPending, rescued });
  }

  #linger(lingering: readonly Lingering[]): void {
    this.#lingering.push(...lingering);
    if (this.#lingering.length > 0) this.#lingerTimer ??= this.#deps.clock.after(LINGER_MS, () => this.#repairLater());
  }

  #repairLater(): void {
    if (this.#closing || this.#queue.some((turn) => turn.kind === "repair")) return;
    this.#enqueue({ kind: "repair", resolve: () => {}, reject: () => {} });
  }

  async #repairTurn(): Promise<void> {
    const turn = this.#queue.shift();
    try {
      await this.#repair();
      if (turn?.kind === "repair") turn.resolve();
    } catch (thrown) {
      this.#deps.log.error({ err: thrown }, "a repair failed");
      turn?.reject(thrown);
    }
  }

  /** Looks at displaced files once more, and tries committed paths that are not on disk yet. */
  async #repair(): Promise<void> {
    const { root, clock, log, store } = this.#deps;
    this.#lingerTimer = undefined;
    const lingering = this.#lingering;
    this.#lingering = [];
    const late = settle(root, lingering, log);
    const { whole, applied } = await this.#unapplied.retry(clock.wallMs());
    this.#linger(applied.lingering);
    const author = {
      principal: "",
      requestId: "",
      message: "put back after an outside edit raced a save",
      cause: "save" as const,
    };
    const { line } = await this.#rescue(this.#line, author, [...late, ...applied.rescued]);
    this.#line = line;
    if (whole.length > 0) {
      this.#marks.add(whole);
      for (const id of whole)
        this.#durable.add(
          id,
          store.read.touched(id, 0, Number.MAX_SAFE_INTEGER).paths.map((one) => one.path),
        );
    }
  }

  #stop(note: string, cause: unknown): void {
    if (this.#stopped !== undefined) return;
    this.#stopped = note;
    this.#deps.log.error({ err: cause, workspace: this.id }, `workspace stopped: ${note}`);
    const waiting = this.#queue.splice(0);
    for (const turn of waiting) turn.reject(new GinError("IO_FAILED", `the workspace is stopped: ${note}`, "restart the daemon"));
  }
}
