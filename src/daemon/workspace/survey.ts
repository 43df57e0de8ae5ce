import { type GinError, type Reason, toGinError } from "../base/index.ts";
import { type Hash, type PathState, type Store, sameState } from "../store/index.ts";
import { linkContent, NEW_FILE_MODE } from "./content.ts";
import type { ConfinedRoot, FileStat } from "./files/index.ts";
import type { IgnoreRules } from "./ignore/index.ts";
import type { Keeper } from "./keeper.ts";
import { CAPTURE_BYTES, WHOLE_READ_BYTES } from "./limits.ts";
import { type Observed, observe, observedFile, readSmall } from "./observe.ts";
import type { StatCache } from "./stat-cache.ts";

/** What a look at the disk is made with. */
export interface SurveyView {
  readonly root: ConfinedRoot;
  readonly store: Store;
  readonly ignore: IgnoreRules | undefined;
  readonly cache: StatCache;
  readonly keeper: Keeper;
  /** The tree that is compared with. */
  readonly tree: Hash;
  /** Whether a path is committed and not on disk yet: what is there says nothing. */
  readonly waits: (path: string) => boolean;
}

/** Counts of a look, alive. */
export interface Tally {
  files: number;
  bytes: number;
  directoriesLeft: number;
  unreadable: number;
  note: string;
}

/** Reasons that end a look; any other concerns one path. */
const FATAL: ReadonlySet<Reason> = new Set(["WORKSPACE_MISSING_ROOT", "STORE_CORRUPT", "INTERNAL", "CANCELLED"]);
/** Reasons that say a path is not there as itself (any more). */
const GONE: ReadonlySet<Reason> = new Set(["PATH_NOT_FOUND", "NOT_A_FILE", "NOT_A_DIRECTORY", "PATH_OUTSIDE_WORKSPACE"]);

/**
 * One look at the disk: compares files with a tree, reads what looks changed, and collects what differs. Each method is a generator of small
 * steps (slice.ts), which stops where it may; "pause" says that contents wait to be sent. What cannot be read is counted and named, and
 * stays as recorded.
 */
export class Survey {
  /** Paths that differ from the tree, without their bytes (those are with the keeper). */
  readonly #found = new Map<string, Observed>();
  /** Bytes of the contents found. */
  foundBytes = 0;
  /** Paths that take longer than a step: larger files, and what changed while it was looked at. */
  readonly later: string[] = [];
  /** Directories whose ignore rules are others than those that were gone by, to be looked at and watched anew. */
  readonly moved = new Set<string>();
  readonly #view: SurveyView;
  readonly #tally: Tally;

  constructor(view: SurveyView, tally: Tally) {
    this.#view = view;
    this.#tally = tally;
  }

  /** Everything below a directory ("" is all): new, changed and gone. */
  *below(top: string): Generator<"pause" | undefined> {
    const todo = [top];
    this.#tally.directoriesLeft = 1;
    for (let directory = todo.pop(); directory !== undefined; directory = todo.pop()) {
      yield* this.entries(directory, todo);
      this.#tally.directoriesLeft = todo.length;
    }
  }

  /** The entries of one directory; the directories in it are pushed to `into`, where that is given. */
  *entries(directory: string, into: string[] | undefined): Generator<"pause" | undefined> {
    const recorded = this.#recordedIn(directory);
    const listed = this.#list(directory);
    if (listed === undefined) return;
    // Before the first of them is judged: nobody need have hinted at the rules that are here now.
    for (const moved of this.#view.ignore?.listed(directory, new Set(listed.map(({ name }) => name))) ?? [])
      this.moved.add(moved);
    // Another repository begins here: its files are not ours, but for those that were recorded.
    const foreign = directory !== "" && listed.some(({ name }) => name.toLowerCase() === ".git");
    for (const { name, stat, sensitive } of listed) {
      const path = directory === "" ? name : `${directory}/${name}`;
      const known = recorded.get(name);
      recorded.delete(name);
      if (sensitive) continue;
      if (stat.kind === "directory" && stat.device === this.#view.root.device) {
        if (known !== undefined && known !== null) this.#gone(path);
        if (into !== undefined && (known === null || !(foreign || this.#ignored(path, true)))) into.push(path);
        continue;
      }
      if (known === null) yield* this.#allGone(path);
      if (stat.kind !== "file" && stat.kind !== "symlink") {
        if (known !== undefined && known !== null) this.#gone(path);
        continue;
      }
      const before = known ?? null;
      if (before === null && (foreign || this.#ignored(path, false))) continue;
      yield this.#compare(path, stat, before);
    }
    for (const [name, content] of recorded) {
      const path = directory === "" ? name : `${directory}/${name}`;
      if (content === null) yield* this.#allGone(path);
      else yield this.#gone(path);
    }
  }

  /** One path that may have come, changed or gone; a directory there is looked at by its entries. */
  *at(path: string): Generator<"pause" | undefined> {
    let stat: FileStat | undefined;
    try {
      const located = this.#view.root.locate(path, false);
      // A symlink on the way leads elsewhere: nothing is at this path itself.
      if (located.path === path) stat = located.stat;
    } catch (thrown) {
      const error = toGinError(thrown, path);
      if (error.reason === "PATH_SENSITIVE") return;
      if (!GONE.has(error.reason)) return this.#unreadable(path, error);
    }
    if (stat?.kind === "directory") {
      const before = this.#recorded(path);
      if (before !== null) this.#gone(path);
      yield* this.entries(path, undefined);
      return;
    }
    yield* this.#allGone(path);
    const before = this.#recorded(path);
    if (stat?.kind !== "file" && stat?.kind !== "symlink") {
      if (before !== null) this.#gone(path);
      return;
    }
    if (before === null && this.#ignored(path, false)) return;
    yield this.#compare(path, stat, before);
  }

  /** One path that is tracked whatever the rules say. */
  *tracked(path: string): Generator<"pause" | undefined> {
    try {
      const located = this.#view.root.locate(path, false);
      const { stat } = located;
      if (located.path !== path || (stat?.kind !== "file" && stat?.kind !== "symlink")) return;
      yield this.#compare(path, stat, this.#recorded(path));
    } catch (thrown) {
      const error = toGinError(thrown, path);
      if (!GONE.has(error.reason) && error.reason !== "PATH_SENSITIVE" && error.reason !== "PATH_INVALID")
        this.#unreadable(path, error);
    }
  }

  /** Reads one of `later`, in pieces where it is large. */
  async settle(path: string): Promise<void> {
    const looked = this.#view.cache.now();
    try {
      const seen = await observe(this.#view.root, path, CAPTURE_BYTES);
      this.#take(seen, this.#recorded(path), looked);
    } catch (thrown) {
      const error = toGinError(thrown, path);
      if (error.reason === "NOT_A_FILE" || error.reason === "NOT_A_DIRECTORY") {
        const before = this.#recorded(path);
        if (before !== null) this.#gone(path);
      } else this.#unreadable(path, error);
    }
  }

  /** How many paths were found to differ and not taken over yet. */
  get count(): number {
    return this.#found.size;
  }

  /** Takes over what was found so far, each path once. */
  take(): readonly Observed[] {
    const found = [...this.#found.values()];
    this.#found.clear();
    this.foundBytes = 0;
    return found;
  }

  #compare(path: string, stat: FileStat, before: PathState): "pause" | undefined {
    const { root, cache } = this.#view;
    if (this.#view.waits(path)) return undefined;
    if (before !== null && before.kind === stat.kind && before.executable === stat.executable) {
      if (cache.known(path, stat) === before.sha256) {
        this.#count(stat.size);
        return undefined;
      }
    }
    if (stat.kind === "file" && stat.size > WHOLE_READ_BYTES) {
      this.later.push(path);
      return "pause";
    }
    const looked = cache.now();
    try {
      if (stat.kind === "symlink") {
        const link = root.readLink(path);
        const bytes = Buffer.from(link.target);
        this.#take({ path, content: linkContent(bytes), bytes, mode: 0o777, stat: link.stat }, before, looked);
      } else {
        const file = readSmall(root, path);
        // It vanished, grew or became something else meanwhile.
        if (file === undefined || file.path !== path) this.later.push(path);
        else this.#take(observedFile(file), before, looked);
      }
    } catch (thrown) {
      const error = toGinError(thrown, path);
      if (error.reason === "NOT_A_FILE" || error.reason === "PATH_NOT_FOUND") this.later.push(path);
      else this.#unreadable(path, error);
    }
    return this.#view.keeper.full ? "pause" : undefined;
  }

  #take(seen: Observed, before: PathState, looked: number): void {
    const { cache, keeper } = this.#view;
    const { path, content, bytes, stat, mode } = seen;
    if (this.#view.waits(path)) return;
    if (content === null) {
      if (before !== null) this.#gone(path);
      return;
    }
    this.#count(content.size);
    if (stat !== undefined) cache.note(path, stat, content.sha256, looked);
    if (sameState(before, content)) return;
    if (bytes !== undefined && content.size <= CAPTURE_BYTES) {
      keeper.add(content.sha256, bytes);
      this.foundBytes += content.size;
    }
    this.#found.set(path, { path, content, bytes: undefined, mode, stat });
  }

  #gone(path: string): "pause" | undefined {
    if (this.#view.waits(path)) return undefined;
    this.#view.cache.forget(path);
    this.#found.set(path, { path, content: null, bytes: undefined, mode: NEW_FILE_MODE, stat: undefined });
    return undefined;
  }

  *#allGone(directory: string): Generator<"pause" | undefined> {
    const { trees } = this.#view.store;
    if (trees.list(this.#view.tree, directory) === undefined) return;
    for (const { path } of trees.walk(this.#view.tree, directory)) yield this.#gone(path);
  }

  #count(size: number): void {
    this.#tally.files++;
    this.#tally.bytes += size;
  }

  #recorded(path: string): PathState {
    return this.#view.store.trees.get(this.#view.tree, path);
  }

  #recordedIn(directory: string): Map<string, PathState> {
    const entries = this.#view.store.trees.list(this.#view.tree, directory) ?? [];
    return new Map(entries.map(({ name, content }) => [name, content]));
  }

  #ignored(path: string, isDirectory: boolean): boolean {
    return this.#view.ignore?.ignored(path, isDirectory) === true;
  }

  /** Undefined when what is in it cannot be told: then nothing is said of it. */
  #list(directory: string): ReturnType<ConfinedRoot["list"]>["entries"] | undefined {
    try {
      const { path, entries, skipped } = this.#view.root.list(directory);
      if (skipped > 0) this.#miss(skipped, `${skipped} names in ${shown(directory)} are not UTF-8`);
      // A symlink stands there now: the directory is gone, whatever the link leads to.
      return path === directory ? entries : [];
    } catch (thrown) {
      const error = toGinError(thrown, directory);
      if (error.reason === "PATH_SENSITIVE") return undefined;
      if (GONE.has(error.reason)) return [];
      this.#unreadable(directory, error);
      return undefined;
    }
  }

  #unreadable(path: string, error: GinError): void {
    if (FATAL.has(error.reason)) throw error;
    const errno = error.facts.errno;
    this.#miss(1, `${shown(path)} cannot be read (${typeof errno === "string" ? errno : error.reason})`);
  }

  #miss(count: number, note: string): void {
    this.#tally.unreadable += count;
    if (this.#tally.note === "") this.#tally.note = note;
  }
}

/** A path in a note: on one line, and the root by name. */
function shown(path: string): string {
  return path === "" ? "the root" : JSON.stringify(path).slice(1, -1);
}
