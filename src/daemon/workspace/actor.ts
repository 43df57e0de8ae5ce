import { GinError, toGinError } from "../base/index.ts";
import type { SaveCommit } from "../store/index.ts";
import { endTerm } from "./clean-end.ts";
import type { WorkspaceDeps } from "./deps.ts";
import { Finisher, type Item } from "./finisher.ts";
import { CAPTURE_BYTES, QUEUED_SAVES } from "./limits.ts";
import { type Observed, observe } from "./observe.ts";
import { factsOf } from "./path-facts.ts";
import { type Line, planCommit } from "./plan.ts";
import { type PrepareView, prepareSave } from "./prepare.ts";
import { readHead } from "./read-head.ts";
import type { Recovered } from "./recovery.ts";
import { paced } from "./slice.ts";
import { Touched } from "./touched.ts";
import { Tracker } from "./tracker.ts";
import {
  type AbsorbTurn,
  type Burst,
  type BurstTurn,
  mustBeAlone,
  mustBeFirst,
  type ReadTurn,
  type SaveTurn,
  type Turn,
} from "./turns.ts";
import type { GitFacts, HeadRead, ImportProgress, PathFacts, SaveInput, SaveOutcome, State, Workspace } from "./types.ts";
import type { WatchHealth } from "./watch/index.ts";

/** Most saves in one batch: bounds how long the first of them waits for its answer. */
const BATCH_SAVES = 256;
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
  readonly #finisher: Finisher;
  readonly #tracker: Tracker;
  readonly #queue: Turn[] = [];
  readonly #listeners = new Set<(state: State) => void>();
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
    this.#finisher = new Finisher(deps, recovered, {
      stop: (note, cause) => this.#stop(note, cause),
      repairLater: () => this.#repairLater(),
    });
    this.#tracker = new Tracker(deps, {
      line: () => this.#line,
      state: () => this.state(),
      record: (burst) => this.#record(burst),
      absorb: (path) => this.#absorb(path),
      waits: (path) => this.#waits(path),
      stopped: () => this.#stopped !== undefined,
    });
    this.#tracker.start();
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
    return this.#finisher.unapplied;
  }

  queued(): number {
    return this.#queue.length;
  }

  onChange(listener: (state: State) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  facts(path: string, options: Parameters<Workspace["facts"]>[1]): Promise<PathFacts> {
    return factsOf(this.#deps.root, path, options);
  }

  canonical(path: string): string {
    return this.#deps.root.locate(path, true).path;
  }

  scope(run: () => void): void {
    this.#deps.root.scope(run);
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
        unapplied: (at) => this.#finisher.unappliedAt(at),
        inflight: (at) => (this.#inflight?.touched.has(at) === true ? this.#inflight.done : undefined),
        untracked: (at) => this.#deps.ignore?.ignored(at, false) === true,
        absorb: (at) => this.#absorb(at),
      },
      path,
      options,
    );
  }

  sync(signal?: AbortSignal): Promise<State> {
    return this.#tracker.sync(signal);
  }

  settle(signal?: AbortSignal): Promise<State> {
    return this.#tracker.settle(signal);
  }

  importProgress(): ImportProgress {
    return this.#tracker.progress();
  }

  watching(): WatchHealth | undefined {
    return this.#tracker.watching();
  }

  git(): Promise<GitFacts | undefined> {
    return this.#tracker.git();
  }

  async close(): Promise<void> {
    this.#closing = true;
    await this.#tracker.close();
    while (this.#running !== undefined) await this.#running;
    await this.#finisher.close(this.#line);
    const inOrder = this.#stopped === undefined && this.#finisher.tidy;
    this.#deps.root.close();
    if (inOrder) await endTerm(this.#deps);
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

  /** Whether a path is committed and not on disk yet: what stands there says nothing. */
  #waits(path: string): boolean {
    return this.#finisher.unapplied > 0 && this.#finisher.unappliedAt(path) !== undefined;
  }

  #record(burst: Burst): Promise<{ readonly line: Line; readonly again: readonly string[] }> {
    return new Promise((resolve, reject) => {
      this.#enqueue({ kind: "burst", burst, resolve, reject, tried: false });
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
      imported: this.#tracker.imported,
      unapplied: (path) => this.#finisher.unappliedAt(path),
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
      if (turn.kind === "burst") return await this.#prepareBurst(view, line, turn);
      if (turn.kind === "absorb") return await this.#prepareAbsorb(view, line, touched, turn);
      const ready = await prepareSave(view, line, touched, turn.input);
      if (ready === "defer") return "defer";
      if (ready.commit === undefined) {
        this.#finisher.answer(turn, ready, ready.planned.line);
        return undefined;
      }
      touched.add(ready.paths);
      return { turn, ready };
    } catch (thrown) {
      turn.reject(toGinError(thrown));
      return undefined;
    }
  }

  async #prepareAbsorb(view: PrepareView, line: Line, touched: Touched, turn: ReadTurn): Promise<Item | "defer" | undefined> {
    if (touched.overlaps([turn.path])) return "defer";
    const seen = view.unapplied(turn.path) ?? (await observe(view.root, turn.path, CAPTURE_BYTES));
    const planned = await planCommit(view, line, [seen], undefined, undefined, undefined);
    if (planned.commit === undefined) {
      turn.resolve({ seen, state: this.state() });
      return undefined;
    }
    touched.add([turn.path]);
    return { turn, planned, answer: (state) => turn.resolve({ seen, state }) };
  }

  #isKept({ content }: Observed): boolean {
    return content === null || content.size > CAPTURE_BYTES || this.#deps.store.read.hasObject(content.sha256);
  }

  /** Everything was looked at beside the queue: here only what the head did meanwhile is taken out. */
  async #prepareBurst(view: PrepareView, line: Line, turn: BurstTurn): Promise<Item | undefined> {
    view.root.check();
    const { since, seen } = turn.burst;
    const changed = new Touched();
    if (line.generation !== since) changed.add(view.store.read.touchedSince(view.workspace, since));
    const kept: Observed[] = [];
    const again: string[] = [];
    await paced(view.clock, seen, (one) => {
      if (this.#waits(one.path)) return;
      if (changed.overlaps([one.path]) || (turn.tried && !this.#isKept(one))) again.push(one.path);
      else kept.push(one);
    });
    // A second try means that contents sent ahead are gone again, which may happen to what no checkpoint names: those paths are read anew.
    turn.tried = true;
    const planned = await planCommit(view, line, kept, undefined, undefined, undefined);
    if (planned.commit === undefined) {
      turn.resolve({ line, again });
      return undefined;
    }
    return { turn, planned, answer: () => turn.resolve({ line: planned.line, again }) };
  }

  async #commit(items: readonly Item[], touched: Touched): Promise<void> {
    const { store, boot, failPoints } = this.#deps;
    const saves: SaveCommit[] = items
      .map((item) => ("ready" in item ? item.ready.commit : item.planned.commit))
      .filter((one) => one !== undefined);
    let release = (): void => {};
    this.#inflight = { touched, done: new Promise((resolve) => (release = resolve)) };
    const applied = this.#finisher.marks.take();
    try {
      const results = await store.write("commit", { saves, boot, applied }).catch((thrown: unknown) => toGinError(thrown));
      if (results instanceof GinError) {
        this.#finisher.marks.giveBack(applied);
        this.#finisher.failed(items, results);
        return;
      }
      failPoints.hit("save.committed");
      const finished = await this.#finisher.finish(items, results, this.#line);
      this.#line = finished.line;
      this.#queue.unshift(...finished.again);
      failPoints.hit("save.answer");
      const state = this.state();
      for (const answer of finished.answers) answer(state);
      for (const listener of this.#listeners) listener(state);
    } finally {
      this.#inflight = undefined;
      release();
    }
  }

  #repairLater(): void {
    if (this.#closing || this.#queue.some((turn) => turn.kind === "repair")) return;
    this.#enqueue({ kind: "repair", resolve: () => {}, reject: () => {} });
  }

  async #repairTurn(): Promise<void> {
    const turn = this.#queue.shift();
    try {
      const before = this.#line;
      this.#line = await this.#finisher.repair(before);
      if (turn?.kind === "repair") turn.resolve();
      // What a repair records moves the head like a save.
      if (this.#line !== before) for (const listener of this.#listeners) listener(this.state());
    } catch (thrown) {
      this.#deps.log.error({ err: thrown }, "a repair failed");
      turn?.reject(thrown);
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
