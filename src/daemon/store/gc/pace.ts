/** Row-sized pieces of work in one slice: some 10 ms, which is how long a save that comes meanwhile may wait. */
const SLICE = 2_000;

/** Counts work, and says when a slice is full. */
export class Pace {
  readonly #slice: number;
  #left: number;

  constructor(slice: number = SLICE) {
    this.#slice = slice;
    this.#left = slice;
  }

  /** True when the slice is over: the next piece belongs to the next one. */
  spend(pieces: number): boolean {
    this.#left -= pieces;
    if (this.#left > 0) return false;
    this.#left = this.#slice;
    return true;
  }
}
