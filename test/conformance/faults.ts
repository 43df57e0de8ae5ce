import { expect } from "vitest";
import type { Case } from "./corpus.ts";
import { runCase } from "./run-case.ts";
import type { Transport } from "./transports.ts";

/** Runs cases one after another and gives what is otherwise than the corpus says, by name. */
export async function faultsOf(transport: Transport, cases: readonly Case[]): Promise<object> {
  const faults: { [name: string]: object } = {};
  for (const one of cases) {
    const { envelope, after } = await runCase(transport, one);
    const [got, wanted] = [
      { envelope, after: after ?? null },
      { envelope: one.expect, after: one.after ?? null },
    ];
    // Order of fields counts in results, which are texts, and nowhere else.
    try {
      expect(got).toEqual(wanted);
    } catch {
      faults[one.name] = { got, wanted };
    }
  }
  return faults;
}
