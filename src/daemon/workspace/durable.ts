import type { Clock, FailPoints } from "../base/index.ts";
import type { Store } from "../store/index.ts";
import { ancestors } from "./apply.ts";
import type { ConfinedRoot } from "./files/index.ts";

/** Longest time an applied save waits to be synced, in milliseconds. */
const EVERY_MS = 2_000;
/** Saves after which it is done at once. */
const EVERY_SAVES = 64;

/**
 * Syncs the files and directories of applied saves in the background and marks the saves durable; until then the journal keeps
 * their contents. States of a save here: waiting → syncing → gone. A failing sync means nobody knows what is on the disk: it is
 * reported once through `onFailure` and never tried again.
 */
export class Durable {
  readonly #root: ConfinedRoot;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #failPoints: FailPoints;
  readonly #onFailure: (cause: unknown) => void;
  #waiting = new Map<string, readonly string[]>();
  #cancel: (() => void) | undefined;
  #running: Promise<void> = Promise.resolve();
  #broken = false;

  constructor(
    deps: { root: ConfinedRoot; store: Store; clock: Clock; failPoints: FailPoints },
    onFailure: (cause: unknown) => void,
  ) {
    this.#root = deps.root;
    this.#store = deps.store;
    this.#clock = deps.clock;
    this.#failPoints = deps.failPoints;
    this.#onFailure = onFailure;
  }

  /** An applied save and the paths it changed. */
  add(save: string, paths: readonly string[]): void {
    this.#waiting.set(save, paths);
    if (this.#waiting.size >= EVERY_SAVES) void this.flush();
    else this.#cancel ??= this.#clock.after(EVERY_MS, () => void this.flush());
  }

  /** Syncs all that wait; resolves when they are durable, or when that failed. */
  flush(): Promise<void> {
    this.#cancel?.();
    this.#cancel = undefined;
    const batch = this.#waiting;
    this.#waiting = new Map();
    this.#running = this.#running.then(() => this.#sync(batch));
    return this.#running;
  }

  async #sync(batch: ReadonlyMap<string, readonly string[]>): Promise<void> {
    if (batch.size === 0 || this.#broken) return;
    try {
      await syncPaths(this.#root, [...batch.values()].flat(), this.#failPoints);
      this.#failPoints.hit("durable.mark");
      await this.#store.write("durable", { saves: [...batch.keys()] });
    } catch (cause) {
      this.#broken = true;
      this.#onFailure(cause);
      await this.#store.write("unsynced", { saves: [...batch.keys()] }).catch(this.#onFailure);
    }
  }
}

/** Syncs that wait for the disk at the same time: the thread pool has four threads, and others want one of them. */
const AT_ONCE = 3;

/** Syncs the contents at canonical paths, then every directory above them. */
export async function syncPaths(root: ConfinedRoot, paths: readonly string[], failPoints: FailPoints): Promise<void> {
  const files = [...new Set(paths)];
  const directories = [...new Set(files.flatMap((path) => ["", ...ancestors(path)]))];
  await each(files, (path) => root.syncFile(path));
  if (files.length > 0) failPoints.hit("durable.file");
  await each(directories, (path) => root.syncDirectory(path));
  if (directories.length > 0) failPoints.hit("durable.directory");
}

async function each(items: readonly string[], run: (item: string) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let item = items[next++]; item !== undefined; item = items[next++]) await run(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
}
