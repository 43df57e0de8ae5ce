import type { GinError } from "../../base/index.ts";
import { ChokidarSource } from "./chokidar.ts";
import { NativeSource } from "./native.ts";
import { POLL_MOST_MS, Polling } from "./polling.ts";
import { Settler } from "./settler.ts";
import { isShared } from "./shared.ts";
import { type Sink, type Source, SourceFailure, type WatcherDeps } from "./source.ts";
import { explainFailure } from "./trouble.ts";
import type { OverflowReason, Watcher, WatcherHooks, WatcherKind, WatchHealth, WatchState } from "./types.ts";

/** Milliseconds between looks at the root's directory, whose own move the system need not tell. */
const ROOT_MS = 2_000;
/** Milliseconds after which watching is tried again where it had failed. */
const RETRY_MS = 300_000;
/** Milliseconds between reports of progress. */
const PROGRESS_MS = 250;

/** Makes a watcher; nothing happens before `start`. */
export function createWatcher(deps: WatcherDeps): Watcher {
  return new RootWatcher(deps, deps.kind === "auto" ? (onLinux(deps) ? "native" : "chokidar") : deps.kind);
}

const onLinux = (deps: WatcherDeps): boolean => (deps.platform ?? process.platform) === "linux";

/**
 * What all kinds share: settling, looking after the root, falling back to polling and coming back, one rescan at a time.
 *
 * ```text
 * starting → watching ⇄ polling      (a failure; RETRY_MS later)
 *     watching, polling ⇄ lost       (the root's directory went; is back)
 *     any → closed
 * ```
 */
class RootWatcher implements Watcher {
  readonly #deps: WatcherDeps;
  readonly #kind: WatcherKind;
  readonly #settler: Settler;
  readonly #polling: Polling;
  #hooks: WatcherHooks | undefined;
  #state: WatchState = "starting";
  #note = "";
  #source: Source | undefined;
  /** Grows with each source: what an older one still says is not heard. */
  #term = 0;
  #timers: (() => void)[] = [];
  #closing: Promise<void> = Promise.resolve();
  #rescanning: Promise<void> | undefined;
  #rescanAgain: OverflowReason | undefined;
  /** Whether a source told of anything since the last look at everything. */
  #heard = false;
  /** Whether other machines may write to the disk unheard. */
  readonly #elsewhere: boolean;

  constructor(deps: WatcherDeps, kind: WatcherKind) {
    this.#deps = deps;
    this.#kind = kind;
    this.#elsewhere = isShared(deps.fs, deps.path);
    this.#settler = new Settler(deps.clock, {
      hint: (paths) => {
        // A root that is another one now makes hints of nothing.
        if (this.#rootStands()) this.#hooks?.hint(paths);
      },
      overflow: (reason) => {
        if (this.#rootStands()) void this.#rescan(reason);
      },
    });
    this.#polling = new Polling(deps.clock, () => this.#poll());
  }

  async start(hooks: WatcherHooks): Promise<void> {
    if (this.#state === "closed" || this.#hooks !== undefined) return;
    this.#hooks = hooks;
    if (this.#kind === "off") {
      this.#become("off", "changes on disk are seen when a path is read or saved");
      return;
    }
    this.#every(ROOT_MS, () => void this.#lookAtRoot());
    if (this.#kind === "polling") {
      this.#polling.start();
      this.#become("polling", "");
      return;
    }
    this.#every(PROGRESS_MS, () => {
      if (this.#state === "starting") hooks.health(this.health());
    });
    await this.#watch();
  }

  async refresh(directory: string): Promise<void> {
    const source = this.#source;
    const term = this.#term;
    try {
      await source?.refresh(directory);
    } catch (thrown) {
      this.#fail(term, thrown);
    }
  }

  flush(): void {
    this.#settler.flush();
  }

  async settled(): Promise<boolean> {
    const source = this.#source;
    const term = this.#term;
    if (source === undefined || this.#elsewhere || !this.#sound(term) || !this.#rootStands()) return false;
    if (!(await source.settled()) || !this.#sound(term)) return false;
    this.#settler.flush();
    return this.#sound(term);
  }

  /** Whether it watches, as it did in a term, and nothing that was lost is still to be made good. */
  #sound(term: number): boolean {
    return this.#state === "watching" && term === this.#term && this.#rescanning === undefined;
  }

  health(): WatchHealth {
    return { kind: this.#kind, state: this.#state, directories: this.#source?.count() ?? 0, note: this.#note };
  }

  close(): Promise<void> {
    if (this.#state !== "closed") {
      this.#state = "closed";
      this.#hooks = undefined;
      for (const cancel of this.#timers) cancel();
      this.#timers = [];
      this.#settler.stop();
      this.#polling.stop();
      this.#letGo();
    }
    return this.#closing;
  }

  /** Sets up the source; resolves when it watches or has been given up. True when it watches. */
  async #watch(): Promise<boolean> {
    const term = ++this.#term;
    const source = this.#make(this.#sinkOf(term));
    this.#source = source;
    try {
      await source.start();
    } catch (thrown) {
      this.#fail(term, thrown);
      return false;
    }
    if (term !== this.#term) return false;
    this.#polling.stop();
    // Neither system promises that it tells of everything, however fast directories come and go.
    this.#polling.start(POLL_MOST_MS);
    this.#become("watching", "");
    return true;
  }

  /** Beside a native source, only when that told of something: where nothing happens, nothing was lost. */
  #poll(): Promise<void> {
    const heard = this.#heard || this.#kind !== "native" || this.#state !== "watching";
    this.#heard = false;
    return heard ? this.#rescan("poll") : Promise.resolve();
  }

  #make(sink: Sink): Source {
    return this.#kind === "native" ? new NativeSource(this.#deps, sink) : new ChokidarSource(this.#deps, sink);
  }

  #sinkOf(term: number): Sink {
    const now = (act: () => void) => {
      if (term === this.#term) act();
    };
    const heard = (act: () => void) =>
      now(() => {
        this.#heard = true;
        act();
      });
    return {
      path: (path) => heard(() => this.#settler.path(path)),
      directory: (path) => heard(() => this.#settler.directory(path)),
      everything: (reason) => now(() => this.#settler.everything(reason)),
      failed: (failure) => this.#fail(term, failure),
      root: () => now(() => void this.#lookAtRoot()),
    };
  }

  /** Gives the source up and polls. */
  #fail(term: number, thrown: unknown): void {
    if (term !== this.#term || this.#state === "closed") return;
    const failure = thrown instanceof SourceFailure ? thrown : new SourceFailure("EIO", "watch", thrown);
    this.#letGo();
    if (!this.#rootStands()) return;
    const note = explainFailure(this.#deps.fs, failure);
    this.#deps.log.warn({ errno: failure.errno, what: failure.what, err: thrown }, "watching failed: the disk is polled");
    this.#settler.everything("fault");
    this.#polling.stop();
    this.#polling.start();
    this.#become("polling", note);
    this.#after(RETRY_MS, () => void this.#retry());
  }

  async #retry(): Promise<void> {
    if (this.#state === "polling" && (await this.#watch())) this.#settler.everything("fault");
  }

  /** Whether the root's directory is still the one; when not, everything stops until it is back. */
  #rootStands(): boolean {
    if (this.#state === "closed" || this.#state === "lost") return false;
    const gone = this.#rootFault();
    if (gone === undefined) return true;
    this.#letGo();
    this.#polling.stop();
    this.#settler.stop();
    this.#become("lost", gone.message);
    void this.#rescan("root");
    return false;
  }

  async #lookAtRoot(): Promise<void> {
    if (this.#state !== "lost") {
      this.#rootStands();
      return;
    }
    if (this.#rootFault() !== undefined) return;
    if (this.#kind === "polling") {
      this.#polling.start();
      this.#become("polling", "");
    } else {
      this.#become("starting", "");
      await this.#watch();
    }
    this.#settler.everything("root");
  }

  #rootFault(): GinError | undefined {
    try {
      this.#deps.root.check();
      return undefined;
    } catch (thrown) {
      return thrown as GinError;
    }
  }

  /** One rescan at a time; those asked for meanwhile become one more. */
  async #rescan(reason: OverflowReason): Promise<void> {
    if (this.#rescanning !== undefined) {
      this.#rescanAgain = reason;
      return this.#rescanning;
    }
    this.#rescanning = (async () => {
      for (let next: OverflowReason | undefined = reason; next !== undefined; next = this.#rescanAgain) {
        this.#rescanAgain = undefined;
        try {
          await this.#hooks?.overflow(next);
        } catch (thrown) {
          this.#deps.log.error({ err: thrown }, "a rescan failed");
        }
      }
      this.#rescanning = undefined;
    })();
    return this.#rescanning;
  }

  #letGo(): void {
    this.#term++;
    const source = this.#source;
    this.#source = undefined;
    if (source === undefined) return;
    this.#closing = Promise.all([this.#closing, source.close()]).then(
      () => undefined,
      (thrown: unknown) => this.#deps.log.error({ err: thrown }, "a watcher did not close"),
    );
  }

  #become(state: WatchState, note: string): void {
    if (this.#state === "closed" || (this.#state === state && this.#note === note)) return;
    this.#state = state;
    this.#note = note;
    this.#hooks?.health(this.health());
  }

  #every(ms: number, act: () => void): void {
    this.#after(ms, () => {
      act();
      if (this.#state !== "closed") this.#every(ms, act);
    });
  }

  #after(ms: number, act: () => void): void {
    const cancel = this.#deps.clock.after(ms, () => {
      this.#timers = this.#timers.filter((one) => one !== cancel);
      act();
    });
    this.#timers.push(cancel);
  }
}
