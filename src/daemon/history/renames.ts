import { type Clock, Pace } from "../base/index.ts";
import type { Content, Hash, TreeDifference } from "../store/index.ts";

import { type Fingerprint, fingerprint, PieceIndex } from "./similarity.ts";

/** How alike two contents must be to count as one file renamed, in percent: git's default. */
const ENOUGH = 50;
/** Most files on either side that are compared by content, git's limit; with more only equal contents pair. */
const MAX_FILES = 1_000;
/** Largest content compared, and most bytes of all together. */
const MAX_BYTES = 1024 * 1024;
const MAX_TOTAL_BYTES = 64 * 1024 * 1024;
/** Most comparisons of pieces; a count, so that every machine finds the same pairs. A million take some 20 ms. */
const MAX_STEPS = 30_000_000;

/** A path that differs, and where it was before when it was renamed. */
export interface RenamedDifference extends TreeDifference {
  /** "" when it was not renamed. */
  readonly oldPath: string;
  /** Percent, of a rename; else 0. */
  readonly similarity: number;
}

/** What the search for renames asks for. */
export interface RenameSources {
  /** The bytes of a content; undefined when they are not kept. */
  bytes(sha256: Hash): Uint8Array | undefined;
  /** Where a save said it took this path from; undefined when none did. */
  renamedFrom(path: string): string | undefined;
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Pairs what went with what came: equal contents first, then alike ones, the most alike first; where that leaves a choice, what
 * a save said, then the same file name, then path order. What pairs becomes one difference at the new path. Symlinks pair only
 * with the same target. In path order, the same on every machine.
 */
export async function findRenames(differences: readonly TreeDifference[], sources: RenameSources): Promise<RenamedDifference[]> {
  const pairing = new Pairing(differences, sources);
  if (pairing.possible) {
    await pairing.exact();
    await pairing.alike();
  }
  return pairing.outcome();
}

type Side = { readonly path: string; readonly content: Content };

class Pairing {
  readonly #all: readonly TreeDifference[];
  readonly #sources: RenameSources;
  readonly #pace: Pace;
  /** What is not paired yet, by path. */
  readonly #gone = new Map<string, Side>();
  readonly #came = new Map<string, Side>();
  /** New path to where it was. */
  readonly #pairs = new Map<string, { readonly from: Side; readonly similarity: number }>();

  constructor(differences: readonly TreeDifference[], sources: RenameSources) {
    this.#all = differences;
    this.#sources = sources;
    this.#pace = new Pace(sources.clock, sources.signal);
    for (const { path, before, after } of differences) {
      if (before !== null && after === null) this.#gone.set(path, { path, content: before });
      if (before === null && after !== null) this.#came.set(path, { path, content: after });
    }
  }

  get possible(): boolean {
    return this.#gone.size > 0 && this.#came.size > 0;
  }

  async exact(): Promise<void> {
    const byContent = new Map<string, Side[]>();
    let folders: Set<string> | undefined;
    for (const side of this.#gone.values()) {
      if (this.#pace.due()) await this.#pace.breathe();
      // `git apply` forgets that a link goes away with its rename, and makes nothing in the folder that takes its place.
      if (side.content.kind === "symlink") {
        folders ??= foldersOf(this.#came.keys());
        if (folders.has(side.path)) continue;
      }
      const key = `${side.content.kind} ${side.content.sha256}`;
      const group = byContent.get(key);
      if (group === undefined) byContent.set(key, [side]);
      else group.push(side);
    }
    for (const to of [...this.#came.values()]) {
      if (this.#pace.due()) await this.#pace.breathe();
      const group = byContent.get(`${to.content.kind} ${to.content.sha256}`);
      if (group === undefined || group.length === 0) continue;
      const said = group.length === 1 ? undefined : this.#sources.renamedFrom(to.path);
      const at = Math.max(0, choose(group, to.path, said));
      const [from] = group.splice(at, 1);
      if (from !== undefined) this.#pair(from, to, 100);
    }
  }

  async alike(): Promise<void> {
    const gone = comparable(this.#gone);
    const came = comparable(this.#came);
    if (gone.length === 0 || came.length === 0 || gone.length > MAX_FILES || came.length > MAX_FILES) return;
    const pace = this.#pace;
    const purse = { left: MAX_TOTAL_BYTES };
    const index = new PieceIndex(MAX_STEPS);
    const indexed: Side[] = [];
    for (const from of gone) {
      if (pace.due()) await pace.breathe();
      const print = this.#fingerprint(from, purse);
      if (print === undefined) continue;
      index.add(print);
      indexed.push(from);
    }
    const found: { from: Side; to: Side; score: number; said: boolean; sameName: boolean }[] = [];
    for (const to of came) {
      if (pace.due()) await pace.breathe();
      const print = this.#fingerprint(to, purse);
      if (print === undefined) continue;
      const scores = await index.scores(print, pace);
      if (scores === undefined) break;
      const said = this.#sources.renamedFrom(to.path);
      for (const [number, score] of scores.entries()) {
        const from = indexed[number];
        if (from === undefined || score < ENOUGH) continue;
        found.push({ from, to, score, said: from.path === said, sameName: baseName(from.path) === baseName(to.path) });
      }
    }
    found.sort(
      (one, other) =>
        Number(other.said) - Number(one.said) ||
        other.score - one.score ||
        Number(other.sameName) - Number(one.sameName) ||
        compareNames(one.to.path, other.to.path) ||
        compareNames(one.from.path, other.from.path),
    );
    for (const { from, to, score } of found) {
      // Equal hashes were paired before: whatever is left differs, however alike its pieces are.
      if (this.#gone.has(from.path) && this.#came.has(to.path)) this.#pair(from, to, Math.min(99, score));
    }
  }

  outcome(): RenamedDifference[] {
    const renamedAway = new Set([...this.#pairs.values()].map(({ from }) => from.path));
    const out: RenamedDifference[] = [];
    for (const { path, before, after } of this.#all) {
      const pair = this.#pairs.get(path);
      if (pair !== undefined)
        out.push({ path, before: pair.from.content, after, oldPath: pair.from.path, similarity: pair.similarity });
      else if (after !== null || !renamedAway.has(path)) out.push({ path, before, after, oldPath: "", similarity: 0 });
    }
    return out;
  }

  #pair(from: Side, to: Side, similarity: number): void {
    this.#pairs.set(to.path, { from, similarity });
    this.#gone.delete(from.path);
    this.#came.delete(to.path);
  }

  #fingerprint(side: Side, purse: { left: number }): Fingerprint | undefined {
    if (side.content.size > purse.left) return undefined;
    purse.left -= side.content.size;
    const bytes = this.#sources.bytes(side.content.sha256);
    return bytes === undefined ? undefined : fingerprint(bytes);
  }
}

/** Where in a group of equal contents the one to take stands: what a save said, else the same file name; -1 when neither. */
function choose(group: readonly Side[], path: string, said: string | undefined): number {
  const asSaid = said === undefined ? -1 : group.findIndex((side) => side.path === said);
  return asSaid >= 0 ? asSaid : group.findIndex((side) => baseName(side.path) === baseName(path));
}

/** Files worth comparing: nothing is like an empty one, and a link's target is one value. */
function comparable(sides: ReadonlyMap<string, Side>): Side[] {
  return [...sides.values()].filter(({ content }) => content.kind === "file" && content.size > 0 && content.size <= MAX_BYTES);
}

/** Every folder above the paths. */
function foldersOf(paths: Iterable<string>): Set<string> {
  const folders = new Set<string>();
  for (const path of paths) {
    for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1)) {
      const folder = path.slice(0, at);
      if (folders.has(folder)) break;
      folders.add(folder);
    }
  }
  return folders;
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** Order of code units: for ties only, where any fixed order does. */
function compareNames(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
