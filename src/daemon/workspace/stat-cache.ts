import type { Clock } from "../base/index.ts";
import type { Hash, LookedRow, Store } from "../store/index.ts";
import type { FileStat } from "./files/index.ts";

/**
 * How much older than the look a file's times must be, in milliseconds, for the look to be trusted later: a write after the look could carry
 * the same times where a clock is coarse (2 s on FAT).
 */
const RACY_MS = 2_000;

/** How far the wall clock may fall behind the monotonic one between two looks before it counts as set back, in milliseconds. */
const SET_BACK_MS = 1_000;

/** Rows sent to the store at once. */
const PAGE = 2_000;

/**
 * What files looked like when their content was last read, so that a later look at the whole tree reads only what changed. Nothing but scans
 * believes it. Lost or forgotten entries cost a reading; a wrong one would hide a change, so what is doubtful is not kept: a file as new as the
 * look, and everything once the wall clock was set back.
 */
export class StatCache {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #workspace: number;
  readonly #put = new Map<string, LookedRow>();
  readonly #forget = new Set<string>();
  #clear = false;
  /** Every entry of the store, during a look at the whole tree. */
  #all: Map<string, LookedRow> | undefined;
  #last: { readonly wall: number; readonly monotonic: number } | undefined;

  constructor(deps: { readonly store: Store; readonly clock: Clock }, workspace: number) {
    this.#store = deps.store;
    this.#clock = deps.clock;
    this.#workspace = workspace;
  }

  /** Begins a look; `whole` holds all entries in memory until `end`. */
  begin(whole: boolean): void {
    this.#noticeClock();
    if (!whole) return;
    this.#all = new Map();
    const now = this.#clock.wallMs();
    if (this.#clear) return;
    for (let after = ""; ; ) {
      const rows = this.#store.read.lookedAfter(this.#workspace, after, PAGE);
      for (const row of rows) {
        // It was at least two seconds old when it was looked at: the clock was set back while nobody looked.
        if (row.newestMs > now - RACY_MS) {
          this.#drop();
          return;
        }
        this.#all.set(row.path, row);
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length < PAGE) return;
      after = last.path;
    }
  }

  end(): void {
    this.#all = undefined;
  }

  /** The moment from which a look may be trusted; to be taken before the file's facts are. */
  now(): number {
    return this.#clock.wallMs();
  }

  /** Hash of what a file that looks like this holds; undefined when it has to be read. */
  known(path: string, stat: FileStat): Hash | undefined {
    const row = this.#row(path);
    return row !== undefined && row.stamp === stampOf(stat) ? row.sha256 : undefined;
  }

  /** Remembers the facts under which a content was read; `lookedMs` is from before they were taken. */
  note(path: string, stat: FileStat, sha256: Hash, lookedMs: number): void {
    const newestMs = Math.max(Number(stat.mtimeNs / 1_000_000n), Number(stat.ctimeNs / 1_000_000n));
    if (newestMs > lookedMs - RACY_MS) {
      this.forget(path);
      return;
    }
    this.#forget.delete(path);
    this.#put.set(path, { path, stamp: stampOf(stat), newestMs, sha256 });
  }

  /** A path that is gone, or whose facts say nothing. */
  forget(path: string): void {
    this.#put.delete(path);
    if (this.#row(path) !== undefined) this.#forget.add(path);
  }

  /** Hands what was learnt to the store. */
  async flush(): Promise<void> {
    while (this.#clear || this.#put.size > 0 || this.#forget.size > 0) {
      const clear = this.#clear;
      const put = take(this.#put.values(), PAGE);
      const forget = take(this.#forget, PAGE);
      this.#clear = false;
      for (const { path } of put) this.#put.delete(path);
      for (const path of forget) this.#forget.delete(path);
      try {
        await this.#store.write("looked", { workspace: this.#workspace, clear, put, forget });
      } catch (thrown) {
        // What was learnt may be lost, but not that something is not to be believed.
        this.#clear ||= clear;
        for (const path of forget) if (!this.#put.has(path)) this.#forget.add(path);
        throw thrown;
      }
    }
  }

  #row(path: string): LookedRow | undefined {
    const fresh = this.#put.get(path);
    if (fresh !== undefined) return fresh;
    if (this.#clear || this.#forget.has(path)) return undefined;
    return this.#all === undefined ? this.#store.read.looked(this.#workspace, path) : this.#all.get(path);
  }

  #drop(): void {
    this.#clear = true;
    if (this.#all !== undefined) this.#all = new Map();
    this.#put.clear();
    this.#forget.clear();
  }

  #noticeClock(): void {
    const now = { wall: this.#clock.wallMs(), monotonic: this.#clock.monotonicMs() };
    const last = this.#last;
    this.#last = now;
    if (last !== undefined && now.wall - last.wall < now.monotonic - last.monotonic - SET_BACK_MS) this.#drop();
  }
}

function stampOf({ kind, size, mtimeNs, ctimeNs, inode, mode }: FileStat): string {
  return `${kind[0]}${size}.${mtimeNs}.${ctimeNs}.${inode}.${mode}`;
}

function take<T>(from: Iterable<T>, most: number): T[] {
  const taken: T[] = [];
  for (const one of from) {
    taken.push(one);
    if (taken.length === most) break;
  }
  return taken;
}
