import { describe, expect, it } from "vitest";
import { isLong } from "../helpers/scale.ts";
import { loadCases } from "./corpus.ts";
import { differencesOf, overReference, referenceProgram } from "./reference.ts";
import { runCase } from "./run-case.ts";

describe("the reference", () => {
  it("answers each case alike, or otherwise in the fields the corpus says", { timeout: 600_000 }, async (ctx) => {
    if (!isLong) ctx.skip("a process of the reference for each of 692 cases: npm run test:long");
    if (referenceProgram === undefined) return ctx.skip("GIN_REFERENCE names no program of the reference to compare with");
    const found: { [name: string]: readonly string[] } = {};
    const expected: { [name: string]: readonly string[] } = {};
    for (const one of loadCases().flatMap(([, cases]) => cases)) {
      const differences = differencesOf(one, await runCase(overReference(referenceProgram), one));
      if (differences.length > 0) found[one.name] = [...differences].sort();
      if (one.differs !== undefined) expected[one.name] = Object.keys(one.differs).sort();
    }
    expect(found).toEqual(expected);
  });
});
