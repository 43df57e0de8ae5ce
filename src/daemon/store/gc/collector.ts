import { type Clock, GinError, type Log, toGinError } from "../../base/index.ts";
import type { Store } from "../types.ts";
import type { GarbageReport, GarbageStep, Thinning } from "./types.ts";

/** What the collector is made of. */
export interface CollectorDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** Bytes of history the host may keep. */
  readonly quotaBytes: number;
  /** Checkpoints older than this, and beyond this many of a workspace, go. */
  readonly checkpointMs: number;
  readonly checkpointCount: number;
  /**
   * Keeps who wrote a path's lines as of a generation, so that what it was found out from may go. Left out in tests of the store
   * alone. What it throws is logged: the quota holds even where an origin is lost.
   */
  readonly keepOrigin?: (workspace: number, path: string, generation: number, signal: AbortSignal) => Promise<void>;
  /** Whether a first look at a whole tree goes on: its contents are in the store before anything names them. Default never. */
  readonly importing?: () => boolean;
  /** Milliseconds that reads under way get to leave what is going to be removed. Default 2,000. */
  readonly readersMs?: number;
}

/** What one run is asked for. */
export interface CollectInput {
  readonly dryRun: boolean;
  /** Bytes of history to come down to; undefined: the quota. */
  readonly targetBytes?: number;
  /** Ends the run between two slices (CANCELLED). */
  readonly signal?: AbortSignal;
}

/** Drives gc and upkeep from the main thread: slice by slice, so that a save never waits for more than one. */
export interface Collector {
  readonly quotaBytes: number;
  /** One run, after those asked for before. Throws CANCELLED, BUSY when the collector is closed, STORE_CORRUPT, and what the store throws. */
  collect(input: CollectInput): Promise<GarbageReport>;
  /** Everything that can wait, to its end: old rows, compression, and gc when history is over its quota or a day has passed. */
  tend(): Promise<void>;
  /** Ends what runs between two slices. */
  close(): Promise<void>;
}

/** Contents nobody names are left alone for this long when nobody asked for a run. */
const GRACE_MS = 3_600_000;
const DAY_MS = 24 * GRACE_MS;
const READERS_MS = 2_000;
/** Between slices, so that the store thread is never taken whole. */
const PAUSE_MS = 2;
const UPKEEP_PAUSE_MS = 20;
const BACKUP_PAUSE_MS = 250;
/** Touched paths read at once. */
const PATHS = 256;
/** Runs after which history stays where it is. */
const ROUNDS = 4;
/** A run that could not meet the quota is tried again after this share of it was written, or after an hour. */
const GROWN = 0.02;

/** Makes the collector. */
export function createCollector(deps: CollectorDeps): Collector {
  return new SliceDriver(deps);
}

class SliceDriver implements Collector {
  readonly quotaBytes: number;
  readonly #deps: CollectorDeps;
  readonly #closing = new AbortController();
  #turn: Promise<unknown> = Promise.resolve();
  #tending: Promise<void> | undefined;
  /** Of the last run by itself: when, on the monotonic clock, how large the store was then, and whether it got to its end. */
  #last: { readonly atMs: number; readonly bytes: number; readonly failed: boolean } | undefined;

  constructor(deps: CollectorDeps) {
    this.#deps = deps;
    this.quotaBytes = deps.quotaBytes;
  }

  collect(input: CollectInput): Promise<GarbageReport> {
    return this.#inTurn(() => this.#comeDown(input, this.#deps.importing?.() === true ? GRACE_MS : 0));
  }

  tend(): Promise<void> {
    this.#tending ??= this.#tend().finally(() => {
      this.#tending = undefined;
    });
    return this.#tending;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#tending?.catch(() => undefined);
    await this.#turn;
  }

  async #tend(): Promise<void> {
    const { store, clock } = this.#deps;
    for (let more = true; more && !this.#closing.signal.aborted; ) {
      ({ more } = await store.write("upkeep", { nowMs: clock.wallMs() }));
      if (more) await this.#pause(UPKEEP_PAUSE_MS);
    }
    if (!this.#closing.signal.aborted && this.#isDue()) await this.#inTurn(() => this.#runByItself());
  }

  #isDue(): boolean {
    const { store, clock } = this.#deps;
    const { bytes, neededBytes, collectedMs } = store.read.facts();
    const last = this.#last;
    const longAgo = last === undefined || clock.monotonicMs() - last.atMs > GRACE_MS;
    if (last?.failed === true && !longAgo) return false;
    if (collectedMs === 0 || Math.abs(clock.wallMs() - collectedMs) > DAY_MS) return true;
    if (bytes - neededBytes <= this.quotaBytes) return false;
    return longAgo || Math.abs(bytes - last.bytes) > this.quotaBytes * GROWN;
  }

  async #runByItself(): Promise<void> {
    const { store, clock, log } = this.#deps;
    const ended = (failed: boolean): void => {
      this.#last = { atMs: clock.monotonicMs(), bytes: store.read.facts().bytes, failed };
    };
    const report = await this.#comeDown({ dryRun: false }, GRACE_MS).catch((thrown: unknown) => {
      ended(true);
      throw thrown;
    });
    ended(false);
    if (report.historyAfterBytes > this.quotaBytes) {
      log.warn({ history_bytes: report.historyAfterBytes, quota_bytes: this.quotaBytes }, "the quota of history cannot be met");
    }
  }

  /** Runs until history is where it was asked to be: what a page holds is reckoned, and half-empty pages stay behind where much went. */
  async #comeDown(input: CollectInput, graceMs: number): Promise<GarbageReport> {
    const goal = input.targetBytes ?? this.quotaBytes;
    let report = await this.#run(input, graceMs);
    for (let round = 1; round < ROUNDS && !input.dryRun && report.historyAfterBytes > goal; round++) {
      const next = await this.#run(input, graceMs);
      if (next.thinnedObjects + next.removedCheckpoints + next.unreachableObjects === 0) break;
      report = sum(report, next);
    }
    return report;
  }

  async #run(input: CollectInput, graceMs: number): Promise<GarbageReport> {
    const { store, clock, quotaBytes, checkpointMs, checkpointCount } = this.#deps;
    const { targetBytes, dryRun } = input;
    await store.write("gc.begin", {
      nowMs: clock.wallMs(),
      quotaBytes,
      checkpointMs,
      checkpointCount,
      graceMs,
      dryRun,
      ...(targetBytes === undefined ? {} : { targetBytes }),
    });
    let thinning: readonly Thinning[] = [];
    for (let step: GarbageStep = await this.#step(false, input.signal); ; step = await this.#step(step.durable, input.signal)) {
      if (step.phase === "done") {
        this.#told(step.report, thinning, dryRun);
        return step.report;
      }
      if (step.phase === "lost") throw lost(step.damaged);
      if (step.phase === "decided") {
        thinning = step.thinning;
        await this.#keepOrigins(thinning, input.signal);
      } else if (step.phase === "announced" && thinning.length > 0) await this.#pause(this.#deps.readersMs ?? READERS_MS);
      else await this.#pause(step.phase === "wait" ? BACKUP_PAUSE_MS : PAUSE_MS);
    }
  }

  #step(durable: boolean, signal: AbortSignal | undefined): Promise<GarbageStep> {
    if (signal?.aborted === true) throw new GinError("CANCELLED", "gc was given up between two slices; what it removed is gone");
    if (this.#closing.signal.aborted) throw new GinError("BUSY", "the daemon is closing");
    return this.#deps.store.write("gc.step", { durable });
  }

  /** For every path that a generation now to be thinned touched, as of the first one that stays whole. */
  async #keepOrigins(thinning: readonly Thinning[], given: AbortSignal | undefined): Promise<void> {
    const { keepOrigin, store, log } = this.#deps;
    if (keepOrigin === undefined) return;
    const closing = this.#closing.signal;
    const signal = given === undefined ? closing : AbortSignal.any([given, closing]);
    let lost = 0;
    let why: unknown;
    for (const { workspace, from, to } of thinning) {
      const asked = new Set<string>();
      for (let after = { generation: from + 1, path: "" }; ; ) {
        const touched = store.read.pathsTouched(workspace, after, to, PATHS);
        for (const { path } of touched) {
          if (signal.aborted) return;
          if (asked.has(path)) continue;
          asked.add(path);
          try {
            await keepOrigin(workspace, path, to, signal);
          } catch (thrown) {
            lost++;
            why ??= thrown;
          }
        }
        const last = touched.at(-1);
        if (last === undefined) break;
        after = last;
      }
    }
    if (lost > 0) log.warn({ paths: lost, err: toGinError(why) }, "origins of some paths could not be kept");
  }

  #told(report: GarbageReport, thinning: readonly Thinning[], dryRun: boolean): void {
    const { unreachableObjects, thinnedObjects, removedCheckpoints } = report;
    if (dryRun || unreachableObjects + thinnedObjects + removedCheckpoints === 0) return;
    this.#deps.log.info(
      { ...report, thinning: thinning.map(({ workspace, to }) => ({ workspace, kept_from: to })) },
      "history was collected",
    );
  }

  /** Ends early when the collector closes. Keeps the process: who waits for a run has nothing else that does. */
  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(done, ms);
      const { signal } = this.#closing;
      function done(): void {
        clearTimeout(timer);
        signal.removeEventListener("abort", done);
        resolve();
      }
      signal.addEventListener("abort", done, { once: true });
      if (signal.aborted) done();
    });
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#turn.then(work);
    this.#turn = mine.catch(() => undefined);
    return mine;
  }
}

function sum(one: GarbageReport, next: GarbageReport): GarbageReport {
  return {
    ...next,
    beforeBytes: one.beforeBytes,
    historyBeforeBytes: one.historyBeforeBytes,
    unreachableObjects: one.unreachableObjects + next.unreachableObjects,
    thinnedObjects: one.thinnedObjects + next.thinnedObjects,
    removedCheckpoints: one.removedCheckpoints + next.removedCheckpoints,
  };
}

function lost(damaged: boolean): GinError {
  return damaged
    ? new GinError("STORE_CORRUPT", "the store is damaged; nothing that could not be read was removed", "gin doctor")
    : new GinError("BUSY", "gc was interrupted; nothing is lost, ask again");
}
