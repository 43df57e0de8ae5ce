/** Row-sized pieces of work in one slice: some 10 ms, which is how long a save that comes meanwhile may wait. */
const PIECES = 2_000;

/** One slice after another, told by the work in it: what a run looks at and removes must not depend on the clock. */
export class Slice {
  readonly #pieces: number;
  #left: number;

  constructor(pieces: number = PIECES) {
    this.#pieces = pieces;
    this.#left = pieces;
  }

  /** True when the slice is over: the next piece belongs to the next one. */
  spend(pieces: number): boolean {
    this.#left -= pieces;
    if (this.#left > 0) return false;
    this.#left = this.#pieces;
    return true;
  }
}
