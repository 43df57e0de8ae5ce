import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { repo } from "../helpers/repo.ts";
import { blocksOf } from "./fences.ts";
import { masked, sameOutput } from "./mask.ts";
import { openSession } from "./session.ts";

/** Every document whose commands are run, by its path in the repository. */
export const documents: readonly string[] = [
  "README.md",
  ...readdirSync(join(repo, "docs"))
    .filter((name) => name.endsWith(".md"))
    .sort()
    .map((name) => `docs/${name}`),
];

/** Tests that a document's commands, pasted one block after the other into one shell, do what it shows. */
export function describeDocument(document: string): void {
  describe(document, () => {
    const blocks = blocksOf(readFileSync(join(repo, document), "utf8"));

    test("a block that is not run says why", () => {
      const silent = blocks.filter((block) => block.kind === "no-test" && block.reason === "");
      expect(silent.map((block) => `line ${block.line}`)).toEqual([]);
    });

    const tried = blocks.filter((block) => block.kind !== "no-test");
    if (tried.length === 0) return;
    test("its commands do what it shows, in order", async () => {
      const session = openSession();
      for (const { line, script, kind, output } of tried) {
        if (kind === "serve") {
          const first = await session.serve(script);
          if (output !== undefined && !sameOutput(output, first)) expect(masked(first), `line ${line}`).toBe(masked(output));
          continue;
        }
        const result = await session.run(script);
        expect(result.code, `line ${line}:\n${script}\n→\n${result.stdout}`).toBe(0);
        if (output !== undefined && !sameOutput(output, result.stdout)) {
          expect(masked(result.stdout), `line ${line}`).toBe(masked(output));
        }
      }
    }, 120_000);
  });
}
