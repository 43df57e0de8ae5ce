import type { FSWatcher } from "chokidar";
import { errnoOf } from "../../base/index.ts";
import { TEMP_PREFIX } from "../files/index.ts";
import { makesRules, type Sink, type Source, SourceFailure, type WatcherDeps } from "./source.ts";

/** Errors that mean no more can be watched; others are of one path, which is looked at again. */
const FATAL = new Set(["ENOSPC", "EMFILE", "ENFILE"]);

/** Milliseconds without a directory going after which the watches are made anew, and the most to wait for that. */
const RENEW_QUIET_MS = 1_000;
const RENEW_MOST_MS = 10_000;

/**
 * By the chokidar package, for systems whose watches are not one a directory. Loaded when first used. It drops a change that comes within 50 ms of
 * the last one of the same path; that a batch waits for 200 ms of quiet makes it good. It loses directories for good when they are moved and replaced in quick succession, so
 * whenever one went its watches are made anew and everything is looked at; and the watcher looks at everything once a minute besides.
 */
export class ChokidarSource implements Source {
  readonly #deps: WatcherDeps;
  readonly #sink: Sink;
  #watcher: FSWatcher | undefined;
  #closed = false;
  /** Since when directories have been going; undefined when none has since the watches were made. */
  #goingSince: number | undefined;
  #cancelRenewal: (() => void) | undefined;
  /** Ends the wait of a start whose watches are let go of before they were all set. */
  #release: (() => void) | undefined;
  /** One renewal after the other. */
  #renewing: Promise<void> = Promise.resolve();

  constructor(deps: WatcherDeps, sink: Sink) {
    this.#deps = deps;
    this.#sink = sink;
  }

  async start(): Promise<void> {
    const { watch } = await import("chokidar");
    if (this.#closed) return;
    await new Promise<void>((resolve, reject) => {
      const watcher = watch(this.#deps.path, {
        ignored: (path, stats) => this.#ignored(path, stats?.isDirectory()),
        ignoreInitial: true,
        followSymlinks: false,
        ignorePermissionErrors: true,
        atomic: false,
        persistent: true,
      });
      this.#watcher = watcher;
      this.#release = resolve;
      watcher.on("ready", resolve);
      watcher.on("error", (thrown) => {
        const failure = new SourceFailure(errnoOf(thrown) ?? "EIO", "watch", thrown);
        if (FATAL.has(failure.errno)) {
          reject(failure);
          this.#sink.failed(failure);
        } else this.#sink.everything("fault");
      });
      watcher.on("all", (event, path) => this.#heard(event, path));
    });
  }

  /** It keeps what it decided of a path: only fresh watches ask again. */
  refresh(): Promise<void> {
    const renewed = this.#renewing.then(async () => {
      await this.#end();
      if (!this.#closed) await this.start();
    });
    this.#renewing = renewed.catch(() => undefined);
    return renewed;
  }

  /** It looks at what it hears of before it tells, and for how long is not known. */
  async settled(): Promise<boolean> {
    return false;
  }

  count(): number {
    return Object.keys(this.#watcher?.getWatched() ?? {}).length;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelRenewal?.();
    await this.#end();
  }

  async #end(): Promise<void> {
    const watcher = this.#watcher;
    this.#watcher = undefined;
    this.#release?.();
    await watcher?.close();
  }

  #heard(event: string, absolute: string): void {
    const path = this.#relative(absolute);
    if (path === undefined) return;
    if (path === "" && event === "unlinkDir") this.#sink.root();
    // A name that is not UTF-8 came with replacement characters: its directory stands for it.
    if (path.includes("\uFFFD")) this.#sink.directory(path.slice(0, Math.max(path.lastIndexOf("/"), 0)));
    else this.#sink.path(path);
    if (event === "addDir") this.#sink.directory(path);
    if (event === "unlinkDir") this.#renewSoon();
  }

  #renewSoon(): void {
    const now = this.#deps.clock.monotonicMs();
    this.#goingSince ??= now;
    this.#cancelRenewal?.();
    const wait = Math.min(RENEW_QUIET_MS, this.#goingSince + RENEW_MOST_MS - now);
    this.#cancelRenewal = this.#deps.clock.after(Math.max(wait, 0), () => void this.#renew());
  }

  async #renew(): Promise<void> {
    this.#goingSince = undefined;
    try {
      await this.refresh();
    } catch (thrown) {
      this.#sink.failed(thrown instanceof SourceFailure ? thrown : new SourceFailure("EIO", "watch", thrown));
    }
    if (!this.#closed) this.#sink.everything("fault");
  }

  #ignored(absolute: string, isDirectory: boolean | undefined): boolean {
    const path = this.#relative(absolute);
    if (path === undefined || path === "") return false;
    const name = path.slice(path.lastIndexOf("/") + 1);
    if (name.startsWith(TEMP_PREFIX) || path === ".git") return true;
    if (makesRules(path)) return false;
    // It asks once more when it knows what is there; without that a rule for directories could not be judged.
    return isDirectory !== undefined && this.#deps.ignored(path, isDirectory);
  }

  #relative(absolute: string): string | undefined {
    const { path } = this.#deps;
    const plain = process.platform === "win32" ? absolute.replaceAll("\\", "/") : absolute;
    if (plain === path) return "";
    return plain.startsWith(`${path}/`) ? plain.slice(path.length + 1) : undefined;
  }
}
