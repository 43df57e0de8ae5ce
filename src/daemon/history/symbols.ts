import { asBuffer, type Lines, startOf } from "./lines.ts";

/** A side reduced to the lines that occur on both: symbols, and where each stood, counted from the first line looked at. */
export interface Reduced {
  readonly symbols: Int32Array;
  readonly places: Int32Array;
}

/** Lines [from, to) of a text. */
export interface Stretch {
  readonly lines: Lines;
  readonly from: number;
  readonly to: number;
}

/** Most steps to the place of one line in the table of hashes. Chance never needs so many; lines made to collide do. */
const MAX_STEPS = 64;

/** Turns lines into numbers: equal numbers are equal lines, bytes and ends. Lines that occur on one side only are left out. */
export function reduce(a: Stretch, b: Stretch): [Reduced, Reduced] {
  const all = new Int32Array(a.to - a.from);
  const found = internByHash(a, b, all) ?? internByText(a, b, all);
  const { shared, symbolsB, placesB } = found;
  const symbolsA = new Int32Array(all.length);
  const placesA = new Int32Array(all.length);
  let count = 0;
  for (let at = 0; at < all.length; at += 1) {
    const id = all[at] ?? 0;
    if (shared[id] !== 1) continue;
    symbolsA[count] = id;
    placesA[count++] = at;
  }
  return [
    { symbols: symbolsA.subarray(0, count), places: placesA },
    { symbols: symbolsB, places: placesB },
  ];
}

/** What interning finds beside the numbers of `a`, which it writes into an array of its own. */
interface Interned {
  /** 1 for each number that occurs in `b`. */
  readonly shared: Uint8Array;
  readonly symbolsB: Int32Array;
  readonly placesB: Int32Array;
}

/** The usual way: an open table of hashes, lines compared where they are. Undefined when lines collide too much for it. */
function internByHash(a: Stretch, b: Stretch, all: Int32Array): Interned | undefined {
  const size = 2 ** Math.ceil(Math.log2(Math.max(16, all.length * 2)));
  const table = new Int32Array(size);
  const hashes = new Int32Array(all.length);
  const representatives = new Int32Array(all.length);
  let ids = 0;
  /** The number of a line, one more than `ids` for a new one at `slot`, -1 past the most steps. */
  let slot = 0;
  const find = (lines: Lines, line: number, hash: number): number => {
    slot = hash & (size - 1);
    for (let step = 0; step < MAX_STEPS; step += 1) {
      const id = (table[slot] ?? 0) - 1;
      if (id < 0) return ids;
      if (hashes[id] === hash && equal(a.lines, representatives[id] ?? 0, lines, line)) return id;
      slot = (slot + 1) & (size - 1);
    }
    return -1;
  };
  for (let line = a.from; line < a.to; line += 1) {
    const hash = hashOf(a.lines, line);
    const id = find(a.lines, line, hash);
    if (id < 0) return undefined;
    if (id === ids) {
      table[slot] = id + 1;
      hashes[id] = hash;
      representatives[id] = line;
      ids += 1;
    }
    all[line - a.from] = id;
  }
  const into = new Gathered(ids, b);
  for (let line = b.from; line < b.to; line += 1) {
    const id = find(b.lines, line, hashOf(b.lines, line));
    if (id < 0) return undefined;
    if (id < ids) into.add(id, line - b.from);
  }
  return into.done();
}

/** The way that no choice of lines makes slow: a map of texts, one character a byte, whose hashes are salted. */
function internByText(a: Stretch, b: Stretch, all: Int32Array): Interned {
  const ids = new Map<string, number>();
  textsOf(a).forEach((text, at) => {
    const known = ids.get(text);
    const id = known ?? ids.size;
    if (known === undefined) ids.set(text, id);
    all[at] = id;
  });
  const into = new Gathered(ids.size, b);
  textsOf(b).forEach((text, at) => {
    const id = ids.get(text);
    if (id !== undefined) into.add(id, at);
  });
  return into.done();
}

/** Collects the lines of `b` that `a` has too. */
class Gathered {
  readonly #shared: Uint8Array;
  readonly #symbols: Int32Array;
  readonly #places: Int32Array;
  #count = 0;

  constructor(ids: number, b: Stretch) {
    this.#shared = new Uint8Array(ids);
    this.#symbols = new Int32Array(b.to - b.from);
    this.#places = new Int32Array(b.to - b.from);
  }

  add(id: number, at: number): void {
    this.#shared[id] = 1;
    this.#symbols[this.#count] = id;
    this.#places[this.#count++] = at;
  }

  done(): Interned {
    return { shared: this.#shared, symbolsB: this.#symbols.subarray(0, this.#count), placesB: this.#places };
  }
}

/** FNV-1a over a line's bytes, folded so that the low bits, which choose the slot, depend on all of it. */
export function hashOf(lines: Lines, line: number): number {
  const { bytes, starts } = lines;
  const end = starts[line + 1] ?? bytes.length;
  let hash = 0x811c9dc5;
  for (let at = starts[line] ?? 0; at < end; at += 1) hash = Math.imul(hash ^ (bytes[at] ?? 0), 0x01000193);
  return hash ^ (hash >>> 15);
}

function equal(a: Lines, i: number, b: Lines, j: number): boolean {
  let p = a.starts[i] ?? 0;
  let q = b.starts[j] ?? 0;
  const end = a.starts[i + 1] ?? 0;
  if (end - p !== (b.starts[j + 1] ?? 0) - q) return false;
  while (p < end && a.bytes[p] === b.bytes[q]) {
    p += 1;
    q += 1;
  }
  return p === end;
}

function textsOf({ lines, from, to }: Stretch): string[] {
  const first = startOf(lines, from);
  const text = asBuffer(lines.bytes).toString("latin1", first, startOf(lines, to));
  return Array.from({ length: to - from }, (_, n) => {
    const line = from + n;
    return text.slice(startOf(lines, line) - first, startOf(lines, line + 1) - first);
  });
}
