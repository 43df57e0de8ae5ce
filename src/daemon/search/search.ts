import { availableParallelism } from "node:os";
import { type Clock, GinError } from "../base/index.ts";
import { ANSWER_CHARACTERS, IDLE_MS, KEPT_CHARACTERS, SEARCH_MS } from "./limits.ts";
import type { Counted, Pick, SearchJobName, SearchJobs } from "./messages.ts";
import { SearchThread } from "./thread.ts";
import type { FileAnswer, FileQuery, LineAnswer, LineHit, LineQuery, Search } from "./types.ts";
import { weight } from "./work.ts";

/** A thread has so long to stop a job before it is ended, in milliseconds. The caller was answered before. */
const STOP_MS = 1_000;
/** More threads would hold the same listings once more each. */
const MOST_THREADS = 4;
/** Bytes up to which a given file is copied: what is handed over is lost to whoever gave it. */
const COPY_BYTES = 1024 * 1024;

/** How to make a search room. */
export interface SearchDeps {
  /** The store's data directory: each thread reads it through a connection of its own. */
  readonly directory: string;
  readonly clock: Clock;
  /** Default: the machine's processors, four at most. */
  readonly threads?: number;
  /** Longest search, in milliseconds. Default SEARCH_MS. */
  readonly limitMs?: number;
}

/** Makes the search room. No thread is started before the first search. */
export function createSearch(deps: SearchDeps): Search {
  return new ThreadedSearch(deps);
}

/** A job of one call. */
type Ask = <K extends SearchJobName>(
  thread: number,
  kind: K,
  input: SearchJobs[K]["in"],
  transfer?: ArrayBuffer[],
) => Promise<SearchJobs[K]["out"]>;

/** A file with matches, and the thread that has it. */
interface Found {
  readonly place: number;
  readonly count: number;
  readonly thread: number;
}

class ThreadedSearch implements Search {
  readonly #clock: Clock;
  readonly #limitMs: number;
  readonly #threads: readonly SearchThread[];
  #running = 0;
  #stopIdle: (() => void) | undefined;
  #closed = false;

  constructor({ directory, clock, threads, limitMs = SEARCH_MS }: SearchDeps) {
    const parts = threads ?? Math.max(1, Math.min(MOST_THREADS, availableParallelism()));
    const room = Math.floor(KEPT_CHARACTERS / parts);
    this.#clock = clock;
    this.#limitMs = limitMs;
    this.#threads = Array.from({ length: parts }, (_, part) => new SearchThread({ directory, part, parts, room }));
  }

  lines(query: LineQuery, signal: AbortSignal): Promise<LineAnswer> {
    return this.#call(signal, async (ask) => {
      if ("bytes" in query.where) return givenAnswer(query, await ask(0, "given", ...handOver(query)));
      const counted = await Promise.all(this.#threads.map((_, thread) => ask(thread, "count", query)));
      const found = merge(counted);
      const picks = window(found, query);
      const shown = await Promise.all(
        this.#threads.map((_, thread) => {
          const own = picks.filter((pick) => pick.thread === thread);
          return own.length === 0 ? { files: [] } : ask(thread, "show", { query, picks: own });
        }),
      );
      const next = shown.map(({ files }) => files.values());
      const files = picks.map((pick) => ({ ...pick, shown: next[pick.thread]?.next().value ?? { path: "", hits: [] } }));
      return { ...totals(counted, found), ...page(query, files) };
    });
  }

  files(query: FileQuery, signal: AbortSignal): Promise<FileAnswer> {
    return this.#call(signal, (ask) => ask(0, "files", query));
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#stopIdle?.();
    await Promise.all(this.#threads.map((thread) => thread.close()));
  }

  /** One call: answered at once when it is cancelled or its time is over, whatever its threads are at. */
  async #call<T>(signal: AbortSignal, work: (ask: Ask) => Promise<T>): Promise<T> {
    if (this.#closed || signal.aborted) throw new GinError("CANCELLED", "the search was cancelled");
    const flags = new Int32Array(new SharedArrayBuffer(8));
    const sent: { thread: SearchThread; id: number }[] = [];
    const ask: Ask = (at, kind, input, transfer) => {
      const thread = this.#threads[at];
      if (thread === undefined || Atomics.load(flags, 0) !== 0) throw new GinError("CANCELLED", "the search was cancelled");
      const { id, result } = thread.run(kind, input, flags, transfer);
      sent.push({ thread, id });
      return result;
    };
    const stop = () => {
      Atomics.store(flags, 0, 1);
      this.#clock.after(STOP_MS, () => {
        for (const { thread, id } of sent) if (thread.owes(id)) thread.replace(id);
      });
    };
    this.#begin();
    let over: () => void = () => {};
    try {
      return await new Promise<T>((resolve, reject) => {
        const cancel = () => {
          reject(new GinError("CANCELLED", "the search was cancelled"));
          stop();
        };
        signal.addEventListener("abort", cancel, { once: true });
        const stopTimer = this.#clock.after(this.#limitMs, () => {
          reject(timeout(this.#limitMs, Atomics.load(flags, 1)));
          stop();
        });
        over = () => {
          stopTimer();
          signal.removeEventListener("abort", cancel);
        };
        work(ask).then(resolve, reject);
      });
    } catch (thrown) {
      // One thread refused: the others need not go on.
      if (Atomics.load(flags, 0) === 0) stop();
      throw thrown;
    } finally {
      over();
      this.#end();
    }
  }

  #begin(): void {
    this.#running++;
    this.#stopIdle?.();
    this.#stopIdle = undefined;
  }

  #end(): void {
    if (--this.#running > 0 || this.#closed) return;
    this.#stopIdle = this.#clock.after(IDLE_MS, () => {
      for (const thread of this.#threads) void thread.end();
    });
  }
}

function timeout(limitMs: number, looked: number): GinError {
  return new GinError(
    "DEADLINE_EXCEEDED",
    `the search took longer than ${limitMs / 1000} seconds; ${looked} files were searched until then`,
    "narrow it by path, include or a plainer pattern",
  );
}

/** A given file with its bytes handed over; small ones are copied, since who gave them may keep them. */
function handOver(query: LineQuery): [LineQuery, ArrayBuffer[]] {
  const { where } = query;
  if (!("bytes" in where)) return [query, []];
  const { bytes } = where;
  const own = bytes.buffer instanceof ArrayBuffer && bytes.byteLength === bytes.buffer.byteLength;
  const handed = own && bytes.byteLength > COPY_BYTES ? bytes : new Uint8Array(bytes);
  return [{ ...query, where: { ...where, bytes: handed } }, [handed.buffer as ArrayBuffer]];
}

function merge(counted: readonly Counted[]): Found[] {
  const found: Found[] = [];
  for (const [thread, { places, counts }] of counted.entries())
    for (let at = 0; at < places.length; at++) found.push({ place: places[at] ?? 0, count: counts[at] ?? 0, thread });
  return found.sort((one, other) => one.place - other.place);
}

/** Which lines of which files the page wants. For pages of files a pick gives the path alone. */
function window(found: readonly Found[], { by, offset, limit }: LineQuery): (Pick & { thread: number; lines: number })[] {
  if (by === "files")
    return found
      .slice(offset, offset + limit)
      .map(({ place, thread, count }) => ({ place, thread, from: 0, count: 0, lines: count }));
  const picks: (Pick & { thread: number; lines: number })[] = [];
  let before = 0;
  for (const { place, count, thread } of found) {
    const from = Math.max(0, offset - before);
    const to = Math.min(count, offset + limit - before);
    if (to > from) picks.push({ place, thread, from, count: to - from, lines: count });
    before += count;
    if (before >= offset + limit) break;
  }
  return picks;
}

function totals(
  counted: readonly Counted[],
  found: readonly { readonly count: number }[],
): Part<LineAnswer, "total" | "totalFiles" | "searched" | "skipped"> {
  const sum = (what: (one: Counted) => number) => counted.reduce((all, one) => all + what(one), 0);
  return {
    total: found.reduce((all, { count }) => all + count, 0),
    totalFiles: found.length,
    searched: sum((one) => one.searched),
    skipped: {
      binary: sum((one) => one.skipped.binary),
      too_large: sum((one) => one.skipped.too_large),
      not_kept: sum((one) => one.skipped.not_kept),
    },
  };
}

type Part<T, K extends keyof T> = { readonly [P in K]: T[P] };

interface ShownPick {
  readonly count: number;
  readonly lines: number;
  readonly shown: { readonly path: string; readonly hits: readonly LineHit[] };
}

/** The page, cut where the answer would be too long: never in between, always after at least one. */
function page({ by }: LineQuery, picks: readonly ShownPick[]): Part<LineAnswer, "hits" | "files"> {
  let room = ANSWER_CHARACTERS;
  const hits: LineHit[] = [];
  const files: { path: string; lines: number }[] = [];
  for (const { count, lines, shown } of picks) {
    if (room <= 0) break;
    if (by === "files") {
      files.push({ path: shown.path, lines });
      room -= shown.path.length + 20;
      continue;
    }
    for (const hit of shown.hits) {
      if (room <= 0) break;
      hits.push(hit);
      room -= weight(hit);
    }
    if (shown.hits.length < count) break;
  }
  return { hits, files };
}

function givenAnswer(query: LineQuery, { counted, shown }: SearchJobs["given"]["out"]): LineAnswer {
  const [count = 0] = counted.counts;
  const found = count === 0 ? [] : [{ count }];
  const inPage = query.offset === 0 && query.limit > 0 ? found : [];
  const [file = { path: "", hits: [] }] = shown.files;
  const picks =
    query.by === "files"
      ? inPage.map(() => ({ count: 0, lines: count, shown: file }))
      : [{ count: file.hits.length, lines: count, shown: file }];
  return { ...totals([counted], found), ...page(query, picks) };
}
