import type { Pace } from "../base/index.ts";

/** Longest piece a text is cut into besides at its line ends: long lines and binary contents are compared by such pieces. */
const PIECE_BYTES = 64;
const LF = 10;

/** What a content is made of, for telling how much of it another has: bytes by the hash of their piece. */
export interface Fingerprint {
  readonly size: number;
  /** Bytes in pieces of this hash. */
  readonly pieces: ReadonlyMap<number, number>;
}

/** Cuts a content at LF and every 64 bytes and counts the bytes of equal pieces. A CR before LF does not count, as for git. */
export function fingerprint(bytes: Uint8Array): Fingerprint {
  const pieces = new Map<number, number>();
  const { length } = bytes;
  let hash = 0x811c9dc5;
  let from = 0;
  for (let at = 0; at < length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === 13 && bytes[at + 1] === LF) continue;
    hash = Math.imul(hash ^ byte, 0x01000193);
    if (byte !== LF && at + 1 - from < PIECE_BYTES && at + 1 < length) continue;
    hash ^= hash >>> 15;
    pieces.set(hash, (pieces.get(hash) ?? 0) + at + 1 - from);
    hash = 0x811c9dc5;
    from = at + 1;
  }
  return { size: length, pieces };
}

/** Where pieces are found: sources by the hash of a piece, to score one destination against all of them at once. */
export class PieceIndex {
  readonly #sources: Fingerprint[] = [];
  readonly #holders = new Map<number, number[]>();
  #steps: number;

  /** `steps`: most comparisons of all scores together; what would go beyond them is not scored. */
  constructor(steps: number) {
    this.#steps = steps;
  }

  /** Adds a source; sources are numbered as they come. */
  add(source: Fingerprint): void {
    const number = this.#sources.push(source) - 1;
    for (const hash of source.pieces.keys()) {
      const holders = this.#holders.get(hash);
      if (holders === undefined) this.#holders.set(hash, [number]);
      else holders.push(number);
    }
  }

  /** For each source how much of it and the destination is alike, in percent of the larger; undefined once steps ran out. */
  async scores(destination: Fingerprint, pace: Pace): Promise<Uint8Array | undefined> {
    const common = new Float64Array(this.#sources.length);
    for (const [hash, bytes] of destination.pieces) {
      const holders = this.#holders.get(hash);
      if (holders === undefined) continue;
      this.#steps -= holders.length;
      if (this.#steps < 0) return undefined;
      for (const number of holders) {
        const there = this.#sources[number]?.pieces.get(hash) ?? 0;
        common[number] = (common[number] ?? 0) + Math.min(bytes, there);
      }
      if (pace.due()) await pace.breathe();
    }
    return Uint8Array.from(common, (bytes, number) => {
      const larger = Math.max(destination.size, this.#sources[number]?.size ?? 0);
      return larger === 0 ? 0 : Math.min(100, Math.floor((bytes * 100) / larger));
    });
  }
}
