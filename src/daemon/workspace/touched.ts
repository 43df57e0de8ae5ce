/** Paths a batch touches: two saves may share a batch when neither has a path that is the other's, or above or below it. */
export class Touched {
  readonly #paths = new Set<string>();
  /** Every directory above one of the paths. */
  readonly #above = new Set<string>();

  overlaps(paths: Iterable<string>): boolean {
    for (const path of paths) {
      if (this.#paths.has(path) || this.#above.has(path)) return true;
      for (let cut = path.indexOf("/"); cut > 0; cut = path.indexOf("/", cut + 1)) {
        if (this.#paths.has(path.slice(0, cut))) return true;
      }
    }
    return false;
  }

  add(paths: Iterable<string>): void {
    for (const path of paths) {
      this.#paths.add(path);
      for (let cut = path.indexOf("/"); cut > 0; cut = path.indexOf("/", cut + 1)) this.#above.add(path.slice(0, cut));
    }
  }

  has(path: string): boolean {
    return this.#paths.has(path);
  }
}
