import { GinError } from "../../base/index.ts";
import { plainTypography, trimEnd } from "../edit/fuzzy.ts";
import type { Binary } from "../edit/text.ts";

/** How loosely lines are compared: each way is tried only where those before it find nothing. */
const WAYS = ["exact", "blanks_at_end", "blanks_around", "typography"] as const;
export type Way = (typeof WAYS)[number];

const LOOSEN: { readonly [W in Way]: (line: Binary) => Binary } = {
  exact: (line) => line,
  blanks_at_end: trimEnd,
  blanks_around: (line) => trimEnd(trimStart(line)),
  typography: (line) => trimEnd(trimStart(plainTypography(line))),
};

function trimStart(line: Binary): Binary {
  return line.replace(/^[ \t]+/, "");
}

/** Steps one call may spend on looking for lines; no patch a person or model writes needs a hundredth of it. */
const STEPS = 50_000_000;

/** What is left of a call's steps. */
export class Steps {
  #left = STEPS;

  /** Throws RESOURCE_LIMIT when they are used up. */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left >= 0) return;
    throw new GinError("RESOURCE_LIMIT", "placing the patch's changes takes too long", "send it in several calls", {
      facts: { limit: STEPS, unit: "steps" },
    });
  }
}

/** Where lines were found: the first place, and the second where it was looked for and there is one. */
export interface Places {
  readonly first: number;
  readonly second: number | undefined;
}

/** The lines of a file, numbered once for each way of comparing, so that looking for a run of them is linear. */
export class SoughtLines {
  /** The ways of comparing that make sense: what is typography in UTF-8 are other characters elsewhere. */
  readonly ways: readonly Way[];
  readonly #lines: readonly Binary[];
  readonly #steps: Steps;
  readonly #known = new Map<Way, { readonly numbers: ReadonlyMap<Binary, number>; readonly ids: Int32Array }>();

  constructor(lines: readonly Binary[], steps: Steps, utf8: boolean) {
    this.ways = WAYS.filter((way) => utf8 || way !== "typography");
    this.#lines = lines;
    this.#steps = steps;
  }

  get length(): number {
    return this.#lines.length;
  }

  /**
   * Finds `wanted` at or behind `from`; exactly: the first place, else both of the first two. `only`: at this place or nowhere. Knuth,
   * Morris and Pratt's search: no run of equal lines makes it slow.
   */
  find(wanted: readonly Binary[], from: number, way: Way, only?: number): Places | undefined {
    const { numbers, ids } = this.#as(way);
    const pattern = new Int32Array(wanted.length);
    for (const [index, line] of wanted.entries()) {
      const id = numbers.get(LOOSEN[way](line));
      if (id === undefined) return undefined;
      pattern[index] = id;
    }
    if (only !== undefined)
      return only >= from && this.#equal(ids, pattern, only) ? { first: only, second: undefined } : undefined;
    const back = fallbacks(pattern);
    this.#steps.spend(2 * pattern.length);
    let first: number | undefined;
    let matched = 0;
    for (let at = from; at < ids.length; at += 1) {
      while (matched > 0 && ids[at] !== pattern[matched]) matched = back[matched - 1] ?? 0;
      if (ids[at] === pattern[matched]) matched += 1;
      if (matched < pattern.length) continue;
      const place = at - pattern.length + 1;
      if (first !== undefined || way === "exact") {
        this.#steps.spend(at - from);
        return first === undefined ? { first: place, second: undefined } : { first, second: place };
      }
      first = place;
      matched = back[matched - 1] ?? 0;
    }
    this.#steps.spend(ids.length - from);
    return first === undefined ? undefined : { first, second: undefined };
  }

  #equal(ids: Int32Array, pattern: Int32Array, at: number): boolean {
    this.#steps.spend(pattern.length);
    return at + pattern.length <= ids.length && pattern.every((id, index) => ids[at + index] === id);
  }

  #as(way: Way): { readonly numbers: ReadonlyMap<Binary, number>; readonly ids: Int32Array } {
    const known = this.#known.get(way);
    if (known !== undefined) return known;
    this.#steps.spend(this.#lines.length);
    const numbers = new Map<Binary, number>();
    const ids = new Int32Array(this.#lines.length);
    for (const [index, line] of this.#lines.entries()) {
      const loose = LOOSEN[way](line);
      const id = numbers.get(loose) ?? numbers.size;
      numbers.set(loose, id);
      ids[index] = id;
    }
    const made = { numbers, ids };
    this.#known.set(way, made);
    return made;
  }
}

/** For each length of a matched start: how long a shorter start also ends there. */
function fallbacks(pattern: Int32Array): Int32Array {
  const back = new Int32Array(pattern.length);
  let length = 0;
  for (let at = 1; at < pattern.length; at += 1) {
    while (length > 0 && pattern[at] !== pattern[length]) length = back[length - 1] ?? 0;
    if (pattern[at] === pattern[length]) length += 1;
    back[at] = length;
  }
  return back;
}
