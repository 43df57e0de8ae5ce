/** Paths hinted at, over which looking at everything is cheaper: at least so many, and a quarter of all files. */
const MANY = 2_000;
const MANY_OF_ALL = 0.25;

/** What the next look is to look at. */
export interface Work {
  readonly whole: boolean;
  /** Files, or directories by their entries. */
  readonly paths: readonly string[];
  /** Directories with everything below them. */
  readonly below: readonly string[];
}

/** Collects what is to be looked at. */
export class Wanted {
  whole = false;
  /** Files the last look at everything counted. */
  files = 0;
  readonly #paths = new Set<string>();
  readonly #below = new Set<string>();

  /** `rules`: the directory whose ignore rules changed with this path. */
  add(path: string, rules: string | undefined): void {
    if (rules === undefined) this.#paths.add(path);
    else this.#below.add(rules);
    if (this.#paths.size > Math.max(MANY, this.files * MANY_OF_ALL)) {
      this.whole = true;
      this.#paths.clear();
    }
  }

  get empty(): boolean {
    return !this.whole && this.#paths.size === 0 && this.#below.size === 0;
  }

  take(): Work {
    const work: Work = { whole: this.whole, paths: [...this.#paths], below: [...this.#below] };
    this.whole = false;
    this.#paths.clear();
    this.#below.clear();
    return work;
  }
}
