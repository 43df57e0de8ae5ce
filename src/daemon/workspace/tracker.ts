import { GinError, toGinError } from "../base/index.ts";
import type { Line } from "./commit-builder.ts";
import type { WorkspaceDeps } from "./deps.ts";
import { Look } from "./look.ts";
import { notReady } from "./not-ready.ts";
import { Patience } from "./patience.ts";
import { StatCache } from "./stat-cache.ts";
import type { Tally } from "./survey.ts";
import type { Burst } from "./turns.ts";
import type { GitFacts, ImportProgress, State } from "./types.ts";
import { Wanted } from "./wanted.ts";
import type { WatchHealth } from "./watch/index.ts";

/** First wait after a look that failed, and the longest, in milliseconds. */
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;
/** How old the rules from outside the root may be when the whole tree is looked at, in milliseconds. */
const OUTER_RULES_MS = 60_000;

/** Looks in a row that find a path changed through gin meanwhile, before such paths take turns of their own. */
const LOOKS = 3;

/** What the tracker asks of the actor. */
export interface TrackerHost {
  /** The head in memory. */
  line(): Line;
  state(): State;
  /** Takes a turn that records what a look found; gives the head then, and the paths that changed through gin meanwhile. */
  record(burst: Burst): Promise<{ readonly line: Line; readonly again: readonly string[] }>;
  /** Takes a turn that looks at one path and records what is there: nothing can come between the two. */
  absorb(path: string): Promise<unknown>;
  /** Whether a path is committed and not on disk yet. */
  waits(path: string): boolean;
  /** Whether nothing is written any more. */
  stopped(): boolean;
}

/** A caller of `sync`. */
interface Waiter {
  readonly resolve: (state: State) => void;
  readonly reject: (error: unknown) => void;
  /** Looks it was told nothing after. */
  looks: number;
}

/**
 * Knows the whole tree: imports it once, looks at it again at each start and whenever somebody asks, and at single paths when the watcher hints at
 * them. One look at a time; what is asked for meanwhile is the next one's. States: idle → looking → idle, or → waiting (a look failed: it is tried
 * again with growing waits) → looking; → closed.
 */
export class Tracker {
  readonly #deps: WorkspaceDeps;
  readonly #host: TrackerHost;
  readonly #cache: StatCache;
  readonly #wanted = new Wanted();
  readonly #end = new AbortController();
  readonly #patience: Patience;
  /** Whether first sights are changes: true from just before `#done`, so that the base misses none. */
  #imported: boolean;
  /** Whether there is a base. */
  #done: boolean;
  #baseCommit: string;
  #progress: Tally = { files: 0, bytes: 0, directoriesLeft: 0, unreadable: 0, note: "" };
  /** For the next look. */
  readonly #waiters: Waiter[] = [];
  /** For the one under way, until it has ended. */
  #present: Waiter[] | undefined;
  #running: Promise<void> | undefined;
  #retry: (() => void) | undefined;
  #wait = FIRST_WAIT_MS;
  #problem = "";
  #rulesMs = Number.NEGATIVE_INFINITY;

  constructor(deps: WorkspaceDeps, host: TrackerHost) {
    this.#deps = deps;
    this.#host = host;
    this.#cache = new StatCache(deps, deps.row.rowid);
    this.#patience = new Patience(deps.clock, (path) => {
      this.#wanted.add(path, deps.ignore?.changed(path));
      this.#run();
    });
    this.#imported = deps.row.imported;
    this.#done = deps.row.imported;
    this.#baseCommit = deps.row.gitCommit;
  }

  /** Whether a path seen for the first time was made since the whole tree was looked at. */
  get imported(): boolean {
    return this.#imported;
  }

  /** Begins to import or to look again, and to listen to the watcher; does nothing where neither is asked for. */
  start(): void {
    if (this.#deps.import !== true) return;
    this.#wanted.whole = true;
    this.#running = this.#watch()
      .catch((thrown: unknown) => this.#failed(toGinError(thrown), []))
      .finally(() => {
        this.#running = undefined;
        this.#run();
      });
  }

  /** As Workspace.sync. */
  async sync(signal: AbortSignal | undefined): Promise<State> {
    this.#mayLook(signal);
    this.#wanted.whole = true;
    return this.#nextLook(signal);
  }

  /** As Workspace.settle. */
  async settle(signal: AbortSignal | undefined): Promise<State> {
    this.#mayLook(signal);
    if ((await this.#deps.watcher?.settled()) !== true) return this.sync(signal);
    for (const path of this.#patience.take()) this.#wanted.add(path, this.#deps.ignore?.changed(path));
    this.#mayLook(signal);
    if (!this.#wanted.empty) return this.#nextLook(signal);
    // The look under way has taken the hints: what they were of is recorded when it ends.
    return this.#present === undefined ? this.#host.state() : this.#await(this.#present, signal);
  }

  #mayLook(signal: AbortSignal | undefined): void {
    if (this.#end.signal.aborted) throw new GinError("BUSY", "the workspace is being closed");
    if (signal?.aborted === true) throw cancelled();
    if (this.#deps.import === true && !this.#done) throw notReady(this.progress());
  }

  /** The state once what is wanted now was looked at. */
  #nextLook(signal: AbortSignal | undefined): Promise<State> {
    const state = this.#await(this.#waiters, signal);
    this.#retryNow();
    this.#run();
    return state;
  }

  #await(waiters: Waiter[], signal: AbortSignal | undefined): Promise<State> {
    return new Promise((resolve, reject) => {
      signal?.addEventListener("abort", () => reject(cancelled()), { once: true });
      waiters.push({ resolve, reject, looks: 0 });
    });
  }

  progress(): ImportProgress {
    const { files, bytes, directoriesLeft, unreadable, note } = this.#progress;
    return { done: this.#done, files, bytes, directoriesLeft, unreadable, note: this.#problem || note };
  }

  watching(): WatchHealth | undefined {
    return this.#deps.watcher?.health();
  }

  async git(): Promise<GitFacts | undefined> {
    const head = await (await this.#deps.git)?.headNow();
    if (head === undefined) return undefined;
    const headCommit = head.commit ?? "";
    const baseCommit = this.#baseCommit;
    return { baseCommit, headCommit, branch: head.branch ?? "", headMoved: this.#done && headCommit !== baseCommit };
  }

  /** Ends a look under way at its next step; what it had found and not recorded is found again by the next start. */
  async close(): Promise<void> {
    this.#end.abort();
    this.#patience.close();
    this.#retryNow();
    await this.#deps.watcher?.close();
    await this.#running;
    for (const waiter of this.#waiters.splice(0)) waiter.reject(new GinError("BUSY", "the workspace is being closed"));
    await (await this.#deps.git)?.close();
    if (!this.#host.stopped()) await this.#cache.flush().catch((thrown: unknown) => this.#cacheLost(thrown));
  }

  /** Watches before the first look, so that nothing falls between the two. */
  async #watch(): Promise<void> {
    const { watcher, ignore } = this.#deps;
    await this.#readRules();
    await watcher?.start({
      hint: (paths) => {
        for (const path of paths) if (!this.#patience.putsOff(path)) this.#wanted.add(path, ignore?.changed(path));
        this.#run();
      },
      overflow: () =>
        new Promise((resolve) => {
          this.#waiters.push({ resolve: () => resolve(), reject: () => resolve(), looks: 0 });
          this.#wanted.whole = true;
          this.#retryNow();
          this.#run();
        }),
      health: (now) => this.#deps.log.info({ workspace: this.#deps.row.id, ...now }, "watching"),
    });
  }

  #run(): void {
    if (this.#running !== undefined || this.#retry !== undefined || this.#end.signal.aborted || this.#wanted.empty) return;
    this.#running = this.#look().finally(() => {
      this.#running = undefined;
      this.#run();
    });
  }

  /** Never rejects. */
  async #look(): Promise<void> {
    // Whoever asks from now on asks for the next one.
    const waiters = this.#waiters.splice(0);
    this.#present = waiters;
    const work = this.#wanted.take();
    try {
      if (work.whole && (await this.#readRules())) await this.#deps.watcher?.refresh("");
      for (const directory of work.below) await this.#deps.watcher?.refresh(directory);
      const importing = this.#deps.import === true && !this.#imported;
      const look = new Look(this.#deps, this.#host, this.#cache, this.#end.signal, importing);
      if (work.whole) this.#progress = look.tally;
      // Also of a look that fails: the rules are forgotten by then, and the next one finds them as they are.
      const again = await look.run(work).finally(() => {
        for (const directory of look.moved) this.#wanted.add(directory, directory);
      });
      for (const path of again) this.#wanted.add(path, undefined);
      for (const [path, ms] of look.slow) this.#patience.took(path, ms);
      if (work.whole) this.#wanted.files = look.tally.files;
      if (importing) {
        // From here on what is seen for the first time was made after the import.
        this.#imported = true;
        this.#baseCommit = await look.endImport().catch((thrown: unknown) => {
          this.#imported = false;
          throw thrown;
        });
        this.#done = true;
      }
      this.#wait = FIRST_WAIT_MS;
      this.#problem = "";
      this.#present = undefined;
      await this.#answer(waiters, again);
      await this.#cache.flush().catch((thrown: unknown) => this.#cacheLost(thrown));
    } catch (thrown) {
      this.#failed(toGinError(thrown), waiters);
    }
  }

  /** Not before what a save came in between of is recorded as well: those paths are part of what was asked for. */
  async #answer(waiters: readonly Waiter[], again: readonly string[]): Promise<void> {
    const last = waiters.filter((waiter) => again.length === 0 || ++waiter.looks === LOOKS);
    this.#waiters.unshift(...waiters.filter((waiter) => !last.includes(waiter)));
    try {
      if (last.length > 0) for (const path of again) await this.#host.absorb(path);
      for (const waiter of last) waiter.resolve(this.#host.state());
    } catch (thrown) {
      const error = toGinError(thrown);
      // No file any more: the next look goes by what is there now.
      const isGone = error.reason === "NOT_A_FILE" || error.reason === "NOT_A_DIRECTORY";
      const busy = new GinError("BUSY", "files change while they are looked at", undefined, { retryAfterMs: 100 });
      for (const waiter of last) waiter.reject(isGone ? busy : error);
    }
  }

  #failed(error: GinError, waiters: readonly Waiter[]): void {
    this.#present = undefined;
    for (const waiter of waiters) waiter.reject(error);
    if (this.#end.signal.aborted || this.#host.stopped()) return;
    this.#problem = error.message;
    this.#deps.log.warn(
      { workspace: this.#deps.row.id, reason: error.reason, err: error.cause },
      "a look at the directory failed",
    );
    // What it was to look at is not known any more; the next one looks at everything.
    this.#wanted.whole = true;
    this.#retry = this.#deps.clock.after(this.#wait, () => {
      this.#retry = undefined;
      this.#run();
    });
    this.#wait = Math.min(this.#wait * 2, LONGEST_WAIT_MS);
  }

  #retryNow(): void {
    this.#retry?.();
    this.#retry = undefined;
  }

  /** The rules of the user and the repository; without them those in the tree still hold. True when they are others now. */
  async #readRules(): Promise<boolean> {
    const { ignore, clock, log } = this.#deps;
    if (ignore === undefined || clock.monotonicMs() - this.#rulesMs < OUTER_RULES_MS) return false;
    const git = await this.#deps.git;
    if (git === undefined) return false;
    try {
      const moved = ignore.setOuter(await git.outerRules());
      this.#rulesMs = clock.monotonicMs();
      return moved;
    } catch (thrown) {
      log.warn({ reason: toGinError(thrown).reason }, "the repository's ignore rules could not be read");
      return false;
    }
  }

  #cacheLost(thrown: unknown): void {
    this.#deps.log.warn({ reason: toGinError(thrown).reason }, "how files looked could not be kept: the next start reads more");
  }
}

function cancelled(): GinError {
  return new GinError("CANCELLED", "the caller gave up");
}
