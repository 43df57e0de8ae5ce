import constants from "node:constants";
import { type DirectoryHandle, errnoOf } from "../../base/index.ts";
import { TEMP_PREFIX } from "../files/index.ts";
import { makesRules, type Sink, type Source, SourceFailure, type WatcherDeps } from "./source.ts";

/** A symlink is not followed: it is no directory of this tree. */
const OPEN_DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
/** Milliseconds of setting watches after which others run. */
const SLICE_MS = 10;
/** Directories held open one in the other while a tree is watched. */
const DEPTH = 64;
/** Milliseconds for which directories that come are waited for, where others never stop to come. */
const SETTLING_MS = 2_000;
/** Names of one directory that are looked at one by one; of more, the directory's list is read. */
const FEW = 16;
/** Errors of a directory that went, or that is not for us: it is left out. */
const LEFT_OUT = new Set(["ENOENT", "ENOTDIR", "ELOOP", "EACCES", "EPERM", "ESTALE", "ENODEV", "ENAMETOOLONG", "EIO"]);

/** A descriptor's number. libuv has one watch an inode, and names its end by the first path it was asked for by: perhaps one let go of since. */
const LABEL = /^\d+$/;

/** A directory that is watched. */
interface Watched {
  readonly identity: Identity;
  readonly handle: DirectoryHandle;
  /** What its own end is called: events that name it may be of the directory itself. */
  readonly label: string;
  readonly below: Set<string>;
  /** It was told that it moved or went: what is at its path now may be another one, and its watch over. */
  doubtful: boolean;
}

/** Which directory it is. The inode alone does not tell: file systems give a freed one to the next directory. */
interface Identity {
  readonly inode: bigint;
  readonly born: bigint;
}

/**
 * One watch a directory, by inotify. Each directory is opened from the root's handle, a component at a time and no symlink followed, so that no
 * rename beside us leads the watches outside. A watch follows its directory, not the path: what moved is let go of at its old path and
 * watched at its new one, told apart by inode.
 */
export class NativeSource implements Source {
  readonly #deps: WatcherDeps;
  readonly #sink: Sink;
  readonly #watched = new Map<string, Watched>();
  /** By directory, names that came or went and have not been looked at yet. */
  readonly #pending = new Map<string, Set<string>>();
  #top: number | undefined;
  #draining = false;
  /** Everything is to be watched anew. */
  #again = false;
  #closed = false;
  #endFlood: (() => void) | undefined;

  constructor(deps: WatcherDeps, sink: Sink) {
    this.#deps = deps;
    this.#sink = sink;
  }

  async start(): Promise<void> {
    const { fs, path, root, directories } = this.#deps;
    this.#endFlood = directories.onFlood(() => this.#flooded());
    try {
      this.#top = fs.openSync(path, OPEN_DIRECTORY);
      const stat = fs.fstatSync(this.#top);
      if (stat.ino !== root.inode || stat.dev !== root.device) throw new SourceFailure("ENOENT", "open");
    } catch (thrown) {
      throw thrown instanceof SourceFailure ? thrown : new SourceFailure(errnoOf(thrown) ?? "EIO", "open", thrown);
    }
    await this.#watchTree("", false);
  }

  async refresh(directory: string): Promise<void> {
    if (this.#closed) return;
    for (const path of this.#belowOf(directory)) if (this.#deps.ignored(path, true)) this.#forget(path);
    if (directory !== "" && this.#deps.ignored(directory, true)) this.#forget(directory);
    else await this.#watchTree(directory, false);
  }

  async settled(): Promise<boolean> {
    const until = this.#deps.clock.monotonicMs() + SETTLING_MS;
    // The kernel queues an event within the call that causes it, and the loop takes the whole queue in one turn. Two: the first may be this turn's rest.
    await turn();
    await turn();
    while (this.#draining && !this.#closed) {
      if (this.#deps.clock.monotonicMs() > until) return false;
      await turn();
    }
    return !this.#closed;
  }

  count(): number {
    return this.#watched.size;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#endFlood?.();
    for (const { handle } of this.#watched.values()) handle.close();
    this.#watched.clear();
    this.#pending.clear();
    if (this.#top !== undefined) this.#deps.fs.closeSync(this.#top);
    this.#top = undefined;
  }

  /** Watches a directory and every one below it that is not yet. `tell`: each is hinted, for it may hold what was made before its watch. */
  async #watchTree(from: string, tell: boolean): Promise<void> {
    const { clock } = this.#deps;
    const rest = [from];
    let until = clock.monotonicMs() + SLICE_MS;
    for (let path = rest.pop(); path !== undefined; path = rest.pop()) {
      const fd = this.#closed ? undefined : this.#open(path);
      if (fd === undefined) {
        this.#forget(path);
        continue;
      }
      for (const _ of this.#visit(path, fd, tell, rest, 0)) {
        if (this.#closed) break;
        if (clock.monotonicMs() < until) continue;
        await turn();
        until = clock.monotonicMs() + SLICE_MS;
      }
    }
  }

  /** One directory a step, each opened from the one above it; closes `fd`. Those too deep are left to `rest`. */
  *#visit(path: string, fd: number, tell: boolean, rest: string[], depth: number): Generator<void> {
    try {
      const names = this.#watchOne(path, fd, tell);
      const own = this.#watched.get(path);
      yield;
      for (const name of names) {
        // Others ran meanwhile: what `fd` holds moved away, and whoever saw to that has watched all that is at this path now.
        if (this.#watched.get(path) !== own) return;
        const child = join(path, name);
        if (this.#deps.ignored(child, true)) continue;
        if (depth === DEPTH) {
          rest.push(child);
          continue;
        }
        const below = this.#openIn(fd, name);
        if (below === undefined) this.#forget(child);
        else yield* this.#visit(child, below, tell, rest, depth + 1);
      }
    } finally {
      this.#deps.fs.closeSync(fd);
    }
  }

  /** Watches one open directory; gives the names of the directories in it. */
  #watchOne(path: string, fd: number, tell: boolean): string[] {
    // What was let go of meanwhile, since it moved, has its new place to be watched at.
    if (path !== "" && !this.#watched.has(parentOf(path))) return [];
    try {
      const stat = this.#deps.fs.fstatSync(fd);
      // What is mounted below is not of this workspace.
      if (stat.dev !== this.#deps.root.device) return [];
      const identity = identityOf(stat);
      if (!this.#isWatched(path, identity)) {
        this.#forget(path);
        this.#set(path, identity, fd);
      }
      if (tell) this.#sink.directory(path);
      return this.#deps.directories.directoriesIn(procName(fd));
    } catch (thrown) {
      const failure = thrown instanceof SourceFailure ? thrown : failureOf(thrown, "open");
      if (failure === undefined) return [];
      throw failure;
    }
  }

  #isWatched(path: string, { inode, born }: Identity): boolean {
    const known = this.#watched.get(path);
    return known !== undefined && !known.doubtful && known.identity.inode === inode && known.identity.born === born;
  }

  #set(path: string, identity: Identity, fd: number): void {
    const label = String(fd);
    let handle: DirectoryHandle;
    try {
      handle = this.#deps.directories.watch(procName(fd), {
        event: (name, renamed) => this.#event(path, label, name, renamed),
        failed: () => this.#over(path, label),
      });
    } catch (thrown) {
      const failure = failureOf(thrown, "watch");
      if (failure === undefined) return;
      throw failure;
    }
    this.#watched.set(path, { identity, handle, label, below: new Set(), doubtful: false });
    if (path !== "") this.#watched.get(parentOf(path))?.below.add(path);
  }

  /** The directory at a path by its handle; undefined when there is none that may be watched. Throws SourceFailure when descriptors are out. */
  #open(path: string): number | undefined {
    let fd = this.#top;
    for (const name of path === "" ? ["."] : path.split("/")) {
      if (fd === undefined) return undefined;
      const parent: number = fd;
      try {
        fd = this.#openIn(parent, name);
      } finally {
        if (parent !== this.#top) this.#deps.fs.closeSync(parent);
      }
    }
    return fd;
  }

  #openIn(parent: number, name: string): number | undefined {
    try {
      return this.#deps.fs.openSync(`${procName(parent)}/${name}`, OPEN_DIRECTORY);
    } catch (thrown) {
      const failure = failureOf(thrown, "open");
      if (failure !== undefined) throw failure;
      return undefined;
    }
  }

  #event(path: string, label: string, name: string | undefined, renamed: boolean): void {
    const watched = this.#watched.get(path);
    if (this.#closed || watched?.label !== label) return;
    if (name === undefined) {
      this.#sink.directory(path);
      if (renamed) this.#look(path, undefined);
      return;
    }
    if (name === label) {
      // The directory itself moved, went or changed; or it holds an entry of that name.
      if (path === "") this.#sink.root();
      this.#sink.directory(path);
    }
    if (path !== "" && renamed && LABEL.test(name)) watched.doubtful = true;
    if (name.startsWith(TEMP_PREFIX)) return;
    const child = join(path, name);
    if (renamed) this.#look(path, name);
    else if (makesRules(child) || !this.#deps.ignored(child, this.#watched.has(child))) this.#sink.path(child);
  }

  /** A watch ended by itself: its directory is looked at, and watched anew if it is still there. */
  #over(path: string, label: string): void {
    const watched = this.#watched.get(path);
    if (this.#closed || watched?.label !== label) return;
    watched.doubtful = true;
    if (path === "") this.#flooded();
    else this.#look(parentOf(path), path.slice(path.lastIndexOf("/") + 1));
  }

  /** Events were dropped: those of new directories may be among them, so every directory is looked at once more. */
  #flooded(): void {
    this.#sink.everything("flood");
    this.#again = true;
    this.#drainSoon();
  }

  /** Notes a name that came or went (undefined: any) to be looked at when this turn's events are in. */
  #look(directory: string, name: string | undefined): void {
    let names = this.#pending.get(directory);
    if (names === undefined) {
      names = new Set();
      this.#pending.set(directory, names);
    }
    if (name !== undefined) names.add(name);
    this.#drainSoon();
  }

  #drainSoon(): void {
    if (this.#draining) return;
    this.#draining = true;
    setImmediate(() => void this.#drain());
  }

  async #drain(): Promise<void> {
    try {
      while (!this.#closed && (this.#again || this.#pending.size > 0)) {
        if (this.#again) {
          this.#again = false;
          this.#pending.clear();
          this.#forget("");
          await this.#watchTree("", false);
          // What came to a directory before it was watched again is looked at with everything else.
          this.#sink.everything("flood");
        }
        const [next] = this.#pending;
        if (next === undefined) break;
        const [directory, names] = next;
        this.#pending.delete(directory);
        if (names.size === 0 || names.size > FEW) await this.#relist(directory, names);
        else for (const name of names) await this.#lookAt(join(directory, name), name);
      }
    } catch (thrown) {
      if (this.#closed) return;
      this.#sink.failed(thrown instanceof SourceFailure ? thrown : new SourceFailure(errnoOf(thrown) ?? "EIO", "open", thrown));
    } finally {
      this.#draining = false;
    }
  }

  async #lookAt(path: string, name: string): Promise<void> {
    const identity = name === ".git" ? undefined : this.#identityAt(path);
    if (identity === undefined) this.#came(path);
    else await this.#cameDirectory(path, identity);
  }

  /** Many names at once: one list tells which of them are directories. */
  async #relist(directory: string, names: ReadonlySet<string>): Promise<void> {
    const fd = this.#open(directory);
    let found: ReadonlySet<string> = new Set();
    if (fd !== undefined) {
      try {
        found = new Set(this.#deps.directories.directoriesIn(procName(fd)));
      } catch (thrown) {
        const failure = failureOf(thrown, "open");
        if (failure !== undefined) throw failure;
      } finally {
        this.#deps.fs.closeSync(fd);
      }
    }
    for (const child of [...(this.#watched.get(directory)?.below ?? [])])
      if (!found.has(child.slice(child.lastIndexOf("/") + 1))) this.#came(child);
    for (const name of names) if (!found.has(name) && !name.startsWith(TEMP_PREFIX)) this.#came(join(directory, name));
    for (const name of found) {
      const path = join(directory, name);
      if (name === ".git") {
        if (names.has(name)) this.#came(path);
        continue;
      }
      if (names.size > 0 && !names.has(name) && this.#watched.has(path)) continue;
      const identity = this.#identityAt(path);
      if (identity !== undefined) await this.#cameDirectory(path, identity);
    }
    if (names.size === 0) this.#sink.directory(directory);
  }

  /** What is no directory came to a path, or what was there went. */
  #came(path: string): void {
    const was = this.#watched.has(path);
    if (was) this.#forget(path);
    if (was || makesRules(path) || !this.#deps.ignored(path, false)) this.#sink.path(path);
  }

  async #cameDirectory(path: string, identity: Identity): Promise<void> {
    if (this.#deps.ignored(path, true)) {
      if (this.#watched.has(path) || makesRules(path)) this.#came(path);
      return;
    }
    this.#sink.path(path);
    if (this.#isWatched(path, identity)) {
      // It went and is back. Whoever followed a hint below it meanwhile found nothing there, so all of it is hinted again.
      for (const below of [path, ...this.#belowOf(path)]) this.#sink.directory(below);
    } else {
      this.#forget(path);
      await this.#watchTree(path, true);
    }
  }

  #identityAt(path: string): Identity | undefined {
    const fd = this.#open(path);
    if (fd === undefined) return undefined;
    try {
      return identityOf(this.#deps.fs.fstatSync(fd));
    } finally {
      this.#deps.fs.closeSync(fd);
    }
  }

  /** Lets go of a directory and all below it. */
  #forget(path: string): void {
    const gone = this.#watched.get(path);
    if (gone === undefined) return;
    this.#watched.delete(path);
    gone.handle.close();
    if (path !== "") this.#watched.get(parentOf(path))?.below.delete(path);
    for (const child of gone.below) this.#forget(child);
  }

  #belowOf(directory: string): string[] {
    const all: string[] = [];
    const rest = [...(this.#watched.get(directory)?.below ?? [])];
    for (let path = rest.pop(); path !== undefined; path = rest.pop()) {
      all.push(path);
      rest.push(...(this.#watched.get(path)?.below ?? []));
    }
    return all;
  }
}

/** One turn of the event loop. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const identityOf = ({ ino, birthtimeNs }: { ino: bigint; birthtimeNs: bigint }): Identity => ({ inode: ino, born: birthtimeNs });
const procName = (fd: number): string => `/proc/self/fd/${fd}`;
const join = (directory: string, name: string): string => (directory === "" ? name : `${directory}/${name}`);
const parentOf = (path: string): string => path.slice(0, Math.max(path.lastIndexOf("/"), 0));

/** The failure an error stands for; undefined for one of a directory that went or is not for us. */
function failureOf(thrown: unknown, what: "watch" | "open"): SourceFailure | undefined {
  const errno = errnoOf(thrown);
  if (errno !== undefined && LEFT_OUT.has(errno)) return undefined;
  return new SourceFailure(errno ?? "EIO", what, thrown);
}
