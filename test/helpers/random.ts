import { createHash } from "node:crypto";

/** Seeded choices for property tests. */
export interface Chance {
  /** The seed, as GIN_TEST_SEED takes it. */
  readonly seed: string;
  /** Uniform in [0, 1). */
  next(): number;
  /** Uniform whole number in [0, below). */
  int(below: number): number;
  /** One of the items. */
  pick<T>(items: readonly T[]): T;
  /** True with probability `p`. */
  maybe(p: number): boolean;
  /** That many bytes. */
  bytes(count: number): Uint8Array;
}

/**
 * Chance for one test, drawn from GIN_TEST_SEED (else a fresh seed) and `label`, so that tests do not share a stream.
 * The seed is printed: repeat a failure with GIN_TEST_SEED=….
 */
export function chance(label: string): Chance {
  const seed = process.env.GIN_TEST_SEED ?? String(Math.floor(Math.random() * 2 ** 32));
  console.log(`seed of ${label}: GIN_TEST_SEED=${seed}`);
  let state = createHash("sha256").update(`${seed}:${label}`).digest().readUInt32LE(0);
  // mulberry32: small, and the same on every machine.
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const int = (below: number): number => Math.floor(next() * below);
  return {
    seed,
    next,
    int,
    pick: (items) => {
      if (items.length === 0) throw new Error("pick from nothing");
      return items[int(items.length)] as (typeof items)[number];
    },
    maybe: (p) => next() < p,
    bytes: (count) => Uint8Array.from({ length: count }, () => int(256)),
  };
}
