import type { Hash } from "../store/index.ts";
import type { Corpus, NoText } from "./corpus.ts";
import { isExcluded } from "./excluded.ts";
import { compileGlob } from "./glob.ts";
import { ANSWER_CHARACTERS, SEARCHED_BYTES } from "./limits.ts";
import { compileLines, type LineMatcher } from "./line-matcher.ts";
import { type Listing, type Listings, placeBefore } from "./listing.ts";
import type { Counted, SearchJobs, Shown } from "./messages.ts";
import { charactersIn, type SearchText, shownText, textOf } from "./text.ts";
import type { GivenFile, LineHit, LineQuery, Scope, ShownText } from "./types.ts";

/** Paths judged between two looks at other work. */
const SLICE_PATHS = 200;

/** What the jobs of one thread work with. */
export interface Ground {
  readonly listings: Listings;
  readonly corpus: Corpus;
  /** Whether a content is this thread's to search. */
  readonly mine: (hash: Hash) => boolean;
}

/** A job in small steps; `looked` is told of each file. */
export type Steps<T> = Generator<undefined, T>;

/** Counts matching lines, file by file. */
export function* count(ground: Ground, query: LineQuery, looked: () => void): Steps<Counted> {
  const matcher = compileLines(query);
  const skipped = { binary: 0, too_large: 0, not_kept: 0 };
  const places: number[] = [];
  const counts: number[] = [];
  let searched = 0;
  const { where } = query;
  ground.corpus.begin();
  const texts = "bytes" in where ? given(where) : scoped(ground, where);
  for (let next = texts.next(); !next.done; next = texts.next()) {
    if (next.value === undefined) {
      yield;
      continue;
    }
    const { place, text } = next.value;
    looked();
    if (typeof text === "string") {
      skipped[text]++;
      continue;
    }
    searched++;
    let lines = 0;
    yield* matcher.scan(text, () => {
      lines++;
      return true;
    });
    if (lines > 0) {
      places.push(place);
      counts.push(lines);
    }
    yield;
  }
  return { places: Uint32Array.from(places), counts: Uint32Array.from(counts), searched, skipped };
}

interface Placed {
  readonly place: number;
  readonly text: SearchText | NoText | "too_large";
}

/** The one file that was given. */
function* given(where: GivenFile): Generator<Placed> {
  yield { place: 0, text: textOf(where.bytes) };
}

/** This thread's files of a scope; undefined between two steps. */
function* scoped(ground: Ground, where: Scope): Generator<Placed | undefined> {
  const listing = yield* ground.listings.of(where.workspace, where.tree);
  for (const place of select(listing, where, ground.mine)) {
    if (place === undefined) yield undefined;
    else yield { place, text: load(ground, listing, place) };
  }
}

function load({ corpus }: Ground, { hashes, sizes }: Listing, place: number): Placed["text"] {
  return (sizes[place] ?? 0) > SEARCHED_BYTES ? "too_large" : corpus.text(hashes[place] ?? "");
}

/** Places of the files a scope means, in order; undefined between two steps. */
function* select(listing: Listing, where: Scope, mine: (hash: Hash) => boolean): Generator<number | undefined> {
  const { path, include = [], prefixes } = where;
  const { paths, hashes } = listing;
  const globs = include.map(compileGlob);
  const allowed = (whole: string): boolean =>
    prefixes === undefined || prefixes.some((prefix) => whole === prefix || whole.startsWith(`${prefix}/`));
  const top = path === "" ? "" : `${path}/`;
  const own = placeBefore(paths, path);
  if (path !== "" && paths[own] === path) {
    // A file's own name: no pattern and no exclusion stands against what was named. Who may touch only what a directory of that
    // name would hold may not touch the file.
    if (mine(hashes[own] ?? "") && allowed(path)) yield own;
    return;
  }
  for (let place = placeBefore(paths, top), steps = 0; paths[place]?.startsWith(top) === true; place++) {
    if (++steps % SLICE_PATHS === 0) yield undefined;
    const whole = paths[place] ?? "";
    const below = whole.slice(top.length);
    if (!mine(hashes[place] ?? "") || isExcluded(below)) continue;
    if (!globs.every((glob) => glob.matches(below)) || !allowed(whole)) continue;
    yield place;
  }
}

/** Gives the lines that were picked. */
export function* show(ground: Ground, { query, picks }: SearchJobs["show"]["in"]): Steps<Shown> {
  const matcher = compileLines(query);
  const { where } = query;
  const listing = "bytes" in where ? undefined : yield* ground.listings.of(where.workspace, where.tree);
  const files: { path: string; hits: readonly LineHit[] }[] = [];
  let room = ANSWER_CHARACTERS;
  for (const { place, from, count: lines } of picks) {
    const path = "bytes" in where ? where.path : (listing?.paths[place] ?? "");
    // What follows would be cut off anyway: the room of one thread is that of the whole answer.
    if (room <= 0) break;
    if (lines === 0) {
      files.push({ path, hits: [] });
      room -= path.length + 20;
      continue;
    }
    const text = "bytes" in where ? textOf(where.bytes) : listing === undefined ? "not_kept" : load(ground, listing, place);
    const hits: LineHit[] = [];
    if (typeof text !== "string") {
      const found = yield* spansOf(matcher, text, from, lines);
      const counter = new LineCounter(text.text);
      for (const [start, end] of found) {
        if (room <= 0) break;
        const hit = hitAt(matcher, text.text, { path, line: counter.lineAt(start), start, end }, query.contextLines);
        room -= weight(hit);
        hits.push(hit);
        yield;
      }
    }
    files.push({ path, hits });
  }
  return { files };
}

/** Counts and gives the lines of a file that was given. */
export function* both(ground: Ground, query: LineQuery, looked: () => void): Steps<SearchJobs["given"]["out"]> {
  const counted = yield* count(ground, query, looked);
  const lines = query.by === "files" ? 0 : Math.max(0, Math.min(query.limit, (counted.counts[0] ?? 0) - query.offset));
  return { counted, shown: yield* show(ground, { query, picks: [{ place: 0, from: query.offset, count: lines }] }) };
}

function* spansOf(matcher: LineMatcher, text: SearchText, from: number, lines: number): Steps<[number, number][]> {
  const found: [number, number][] = [];
  let seen = 0;
  yield* matcher.scan(text, (start, end) => {
    if (seen++ >= from) found.push([start, end]);
    return found.length < lines;
  });
  return found;
}

function hitAt(
  matcher: LineMatcher,
  text: string,
  { path, line, start, end }: { path: string; line: number; start: number; end: number },
  contextLines: number,
): LineHit {
  const whole = text.slice(start, end);
  const at = matcher.start(whole);
  const before: ShownText[] = [];
  for (let stop = start - 1; before.length < contextLines && stop >= 0; ) {
    const from = stop === 0 ? 0 : text.lastIndexOf("\n", stop - 1) + 1;
    before.unshift(shownText(text.slice(from, stop)));
    stop = from - 1;
  }
  const after: ShownText[] = [];
  for (let from = end + 1; after.length < contextLines && from < text.length; ) {
    const stop = text.indexOf("\n", from);
    const to = stop === -1 ? text.length : stop;
    after.push(shownText(text.slice(from, to)));
    from = to + 1;
  }
  return { path, line, column: charactersIn(whole, at) + 1, text: shownText(whole, at), before, after };
}

/** Characters a hit takes in an answer, its path and figures included. */
export function weight(hit: LineHit): number {
  let sum = 100 + hit.path.length;
  for (const { text } of [hit.text, ...hit.before, ...hit.after]) sum += text.length + 4;
  return sum;
}

/** Numbers of lines, asked in order. */
class LineCounter {
  readonly #text: string;
  #line = 1;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  lineAt(start: number): number {
    for (;;) {
      const end = this.#text.indexOf("\n", this.#at);
      if (end === -1 || end >= start) return this.#line;
      this.#at = end + 1;
      this.#line++;
    }
  }
}

/** Names of files, with how many there are in all. */
export function* files({ listings }: Ground, query: SearchJobs["files"]["in"]): Steps<SearchJobs["files"]["out"]> {
  const { where, offset, limit } = query;
  const listing = yield* listings.of(where.workspace, where.tree);
  const found: string[] = [];
  let total = 0;
  let room = ANSWER_CHARACTERS;
  for (const place of select(listing, where, () => true)) {
    if (place === undefined) {
      yield;
      continue;
    }
    if (total++ < offset || found.length >= limit || room <= 0) continue;
    const path = listing.paths[place] ?? "";
    found.push(path);
    room -= path.length + 4;
  }
  return { files: found, total };
}
