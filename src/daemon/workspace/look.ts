import { type FailPoint, GinError, toGinError } from "../base/index.ts";
import { type HeadTree, makeBase } from "./base.ts";
import type { WorkspaceDeps } from "./deps.ts";
import { Keeper } from "./keeper.ts";
import type { Observed } from "./observe.ts";
import { stepping } from "./slice.ts";
import type { StatCache } from "./stat-cache.ts";
import { Survey, type Tally } from "./survey.ts";
import type { TrackerHost } from "./tracker.ts";
import type { Work } from "./wanted.ts";

/** Times the base is made anew because gc took what it counted on. */
const BASE_ATTEMPTS = 5;
/** Files and bytes an import records as one checkpoint. */
const CHUNK_FILES = 1_000;
const CHUNK_BYTES = 32 * 1024 * 1024;

/**
 * One look at the directory, beside the queue; only what it found takes a turn. A later look's finds land as one checkpoint; the first one's, the
 * import's, in chunks, so that a killed import goes on where it was.
 */
export class Look {
  readonly tally: Tally = { files: 0, bytes: 0, directoriesLeft: 0, unreadable: 0, note: "" };
  /** How long it took, in milliseconds, to read the paths that were read by themselves. */
  readonly slow = new Map<string, number>();
  /** Directories whose rules were found to be others, known as soon as they are found. */
  get moved(): ReadonlySet<string> {
    return this.#survey.moved;
  }
  readonly #deps: WorkspaceDeps;
  readonly #host: TrackerHost;
  readonly #cache: StatCache;
  readonly #end: AbortSignal;
  readonly #importing: boolean;
  readonly #keeper: Keeper;
  readonly #survey: Survey;
  /** Head's counter before anything that is being collected was looked at. */
  #since: number;
  #recording: Promise<void> = Promise.resolve();
  readonly #again: string[] = [];
  #head: HeadTree | undefined;

  constructor(deps: WorkspaceDeps, host: TrackerHost, cache: StatCache, end: AbortSignal, importing: boolean) {
    this.#deps = deps;
    this.#host = host;
    this.#cache = cache;
    this.#end = end;
    this.#importing = importing;
    this.#keeper = new Keeper(deps.store, !importing);
    const { tree, generation } = host.line();
    this.#since = generation;
    this.#survey = new Survey(
      {
        root: deps.root,
        store: deps.store,
        ignore: deps.ignore,
        cache,
        keeper: this.#keeper,
        tree,
        waits: (path) => host.waits(path),
      },
      this.tally,
    );
  }

  /** Looks, and records what was found; gives paths that changed through gin meanwhile and have to be looked at again. */
  async run(work: Work): Promise<readonly string[]> {
    this.#deps.root.check();
    if (this.#importing) {
      this.#hit("import.begin");
      this.#head = await this.#readHead();
    }
    this.#cache.begin(work.whole);
    try {
      await this.#walk(this.#steps(work));
      if (this.#importing) this.#hit("import.walked");
      if (this.#survey.count > 0) await this.#record();
      await this.#recording;
      return this.#again;
    } finally {
      // A chunk under way ends before the next look begins, whatever became of this one.
      await this.#recording.catch(() => {});
      this.#cache.end();
    }
  }

  /** After the import: makes the base and records that the whole tree is known. Gives the commit the base was taken from, "" for none. */
  async endImport(): Promise<string> {
    const { row, store } = this.#deps;
    // Whatever is in the queue before this was planned while first sights were still imports.
    const { line } = await this.#host.record({ since: this.#host.line().generation, seen: [] });
    const make = () => makeBase(this.#deps, line, this.#head, () => this.#check());
    let made = await make();
    for (let attempt = 1; ; attempt++) {
      this.#hit("import.base");
      const done = await store.write("workspace.imported", { workspace: row.rowid, epoch: row.epoch, ...made });
      if (done === "done") break;
      if (done === "stale") throw new GinError("STALE_EPOCH", "another daemon took the workspace over");
      if (attempt === BASE_ATTEMPTS) throw new GinError("BUSY", "what the base holds is removed again and again");
      // A content nothing named yet is gone again: it is brought anew.
      made = await make();
    }
    this.#hit("import.end");
    this.#deps.log.info({ workspace: row.id, files: this.tally.files, bytes: this.tally.bytes }, "imported");
    return made.gitCommit;
  }

  *#steps(work: Work): Generator<"pause" | undefined> {
    if (work.whole) yield* this.#survey.below("");
    else {
      for (const directory of work.below) yield* this.#survey.below(directory);
      for (const path of work.paths) yield* this.#survey.at(path);
    }
    // Git tracks what it has, whatever the rules say.
    const ignored = (path: string): boolean => this.#deps.ignore?.ignored(path, false) === true;
    for (const { path } of this.#head?.entries ?? []) if (ignored(path)) yield* this.#survey.tracked(path);
  }

  #walk(steps: Iterator<"pause" | undefined>): Promise<void> {
    const { root, clock } = this.#deps;
    const { later } = this.#survey;
    return stepping(root, clock, steps, async () => {
      this.#check();
      for (let path = later.pop(); path !== undefined; path = later.pop()) {
        const from = clock.monotonicMs();
        await this.#survey.settle(path);
        this.slow.set(path, clock.monotonicMs() - from);
        this.#check();
        await this.#send();
      }
      await this.#send();
    });
  }

  async #send(): Promise<void> {
    if (this.#keeper.full) {
      if (this.#importing) this.#hit("import.read");
      await this.#keeper.send();
    }
    if (this.#importing && (this.#survey.count >= CHUNK_FILES || this.#survey.foundBytes >= CHUNK_BYTES)) await this.#record();
  }

  /** Hands over what was collected; waits for the one before it, so that one is recorded while the next is read. */
  async #record(): Promise<void> {
    await this.#recording;
    const seen = this.#survey.take();
    const since = this.#since;
    this.#since = this.#host.line().generation;
    this.#recording = this.#hand(since, seen);
    // Whoever waits for it next is told; meanwhile nobody does.
    this.#recording.catch(() => {});
  }

  async #hand(since: number, seen: readonly Observed[]): Promise<void> {
    await this.#keeper.settle();
    if (this.#importing) this.#hit("import.kept");
    // Just before it counts: a root that is gone must not be taken for files that are.
    this.#deps.root.check();
    const { again } = await this.#host.record({ since, seen });
    this.#again.push(...again);
    if (!this.#importing) return;
    this.#hit("import.recorded");
    await this.#cache.flush();
  }

  async #readHead(): Promise<HeadTree | undefined> {
    const { log, row } = this.#deps;
    const git = await this.#deps.git;
    if (git === undefined) return undefined;
    try {
      const { commit } = await git.head(this.#end);
      return { commit: commit ?? "", entries: await git.tree(commit, this.#end) };
    } catch (thrown) {
      const error = toGinError(thrown);
      if (error.reason === "CANCELLED") throw error;
      log.warn(
        { workspace: row.id, reason: error.reason, err: error.cause },
        "HEAD could not be read: the base is what is on disk",
      );
      return undefined;
    }
  }

  #check(): void {
    if (this.#end.aborted) throw new GinError("CANCELLED", "the workspace is being closed");
    this.#deps.root.check();
  }

  #hit(point: FailPoint): void {
    this.#deps.failPoints.hit(point);
  }
}
