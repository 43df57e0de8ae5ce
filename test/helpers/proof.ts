import { scaled } from "./scale.ts";

/** Rows of `npm run proof`; scripts/lib/proof-rows.mjs says what each needs. */
export type ProofRow = "G1" | "G2" | "G5" | "G6" | "G7" | "G8" | "G9" | "G19" | "U1";

/** How many cases a row runs: `test` in `npm test` (scaled), `proof` in `npm run proof`. */
export function proofCount(_row: ProofRow, counts: { readonly test: number; readonly proof: number }): number {
  return process.env.GIN_TEST_KIND === "proof" ? counts.proof : scaled(counts.test);
}

/** What a proof test says when it is done: cases run, cases that broke the promise, and figures of its own. */
export interface Proof {
  readonly row: ProofRow;
  readonly count: number;
  readonly violations: number;
  readonly seed?: number | string;
  readonly [figure: string]: number | string | boolean | undefined;
}

/** Prints the row's line for scripts/proof.mjs. Call it before the assertion on violations, so that a broken row is printed too. */
export function reportProof(proof: Proof): void {
  console.log(`PROOF ${JSON.stringify(proof)}`);
}
