import type { Clock } from "../../base/index.ts";
import type { OverflowReason } from "./types.ts";

/** Milliseconds without an event after which a batch is settled. */
export const QUIET_MS = 200;
/** Milliseconds after its first event at which a batch is handed out in any case. */
export const MOST_MS = 2_000;
/** Names in one directory beyond which the directory stands for them. */
export const NAMES_A_DIRECTORY = 256;
/** Paths a batch may hold; more, and everything is to be looked at. */
export const PATHS_A_BATCH = 50_000;

/** Where settled batches go. */
export interface Settled {
  hint(paths: readonly string[]): void;
  overflow(reason: OverflowReason): void;
}

/** Gathers events into batches: handed out 200 ms after the last event, at most 2 s after the first. */
export class Settler {
  readonly #clock: Clock;
  readonly #to: Settled;
  /** By directory, the names in it that were heard of; undefined stands for the directory. */
  #names = new Map<string, Set<string> | undefined>();
  #count = 0;
  #everything: OverflowReason | undefined;
  #first: number | undefined;
  #last = 0;
  #cancel: (() => void) | undefined;

  constructor(clock: Clock, to: Settled) {
    this.#clock = clock;
    this.#to = to;
  }

  path(path: string): void {
    this.#heard();
    if (this.#everything !== undefined) return;
    if (path === "") this.#whole("");
    else this.#one(path);
  }

  directory(path: string): void {
    this.#heard();
    if (this.#everything === undefined) this.#whole(path);
  }

  everything(reason: OverflowReason): void {
    this.#heard();
    this.#everything ??= reason;
    this.#names.clear();
    this.#count = 0;
  }

  /** Hands out what there is. */
  flush(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    if (this.#first === undefined) return;
    this.#first = undefined;
    const everything = this.#everything;
    const names = this.#names;
    this.#names = new Map();
    this.#count = 0;
    this.#everything = undefined;
    if (everything !== undefined) this.#to.overflow(everything);
    else this.#to.hint(flat(names));
  }

  /** Forgets what waits. */
  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#first = undefined;
    this.#names.clear();
    this.#count = 0;
    this.#everything = undefined;
  }

  #one(path: string): void {
    const cut = path.lastIndexOf("/");
    const directory = cut < 0 ? "" : path.slice(0, cut);
    let names = this.#names.get(directory);
    if (names === undefined) {
      // The directory stands for what is in it.
      if (this.#names.has(directory)) return;
      names = new Set();
      this.#names.set(directory, names);
    }
    const before = names.size;
    names.add(path.slice(cut + 1));
    if (names.size === before) return;
    this.#count++;
    if (names.size > NAMES_A_DIRECTORY) this.#whole(directory);
    else this.#bound();
  }

  #whole(directory: string): void {
    const had = this.#names.get(directory);
    if (had === undefined && this.#names.has(directory)) return;
    this.#count += 1 - (had?.size ?? 0);
    this.#names.set(directory, undefined);
    this.#bound();
  }

  #bound(): void {
    if (this.#count > PATHS_A_BATCH) this.everything("flood");
  }

  #heard(): void {
    const now = this.#clock.monotonicMs();
    this.#last = now;
    if (this.#first !== undefined) return;
    this.#first = now;
    this.#wait(QUIET_MS);
  }

  /** One timer at a time, set anew when it comes too early: setting one an event would cost more than the events. */
  #wait(ms: number): void {
    this.#cancel = this.#clock.after(ms, () => {
      if (this.#first === undefined) return;
      const now = this.#clock.monotonicMs();
      const left = Math.min(this.#last + QUIET_MS, this.#first + MOST_MS) - now;
      if (left > 0) this.#wait(left);
      else this.flush();
    });
  }
}

function flat(names: ReadonlyMap<string, ReadonlySet<string> | undefined>): string[] {
  const paths = new Set<string>();
  for (const [directory, inside] of names) {
    if (inside === undefined) paths.add(directory);
    else for (const name of inside) paths.add(directory === "" ? name : `${directory}/${name}`);
  }
  return [...paths];
}
