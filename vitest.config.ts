import { existsSync } from "node:fs";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { SUITES } from "./scripts/lib/suites.mjs";

/** `proof` takes the files that print proof rows and nothing else (scripts/proof.mjs). */
const proof = process.env.GIN_TEST_KIND === "proof";

/** Larger counts need longer bounds: tests state theirs for scale 1. */
const scale = Math.max(1, Number(process.env.GIN_TEST_SCALE ?? "1")) * (proof ? 10 : 1);

/** The test files that a pattern begins. */
const filesOf = (beginning: string): string => `${beginning}${proof ? ".proof" : ""}.test.ts`;

/** Suites whose files leave nothing in their process: one serves many of them, and loads the daemon once. */
const SHARED = ["unit", "history", "kernel", "lsp", "tools"];

/** Files that take longest begin first: the others run beside them. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification): boolean =>
      /\/(lsp\/(freshness|kills)|system\/real-input|workspace\/watch-contract|conformance\/(conformance|fronts)|cli\/cli|system\/history\.proof)\.test\./.test(
        moduleId,
      );
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

export default defineConfig({
  test: {
    // Real processes, sockets and databases: a fork keeps a crash or a leaked handle to itself.
    pool: "forks",
    maxWorkers: 4,
    // What one suite has compiled is there for the next.
    experimental: { fsModuleCache: true },
    sequence: { sequencer: LongestFirst },
    passWithNoTests: true,
    setupFiles: ["test/helpers/each-file.ts"],
    // Hooks start daemons, and the machine may be busy.
    hookTimeout: 30_000 * scale,
    // A project is a suite of `npm test`.
    projects: SUITES.map(({ name, folders, only, without = [] }) => ({
      extends: true as const,
      test: {
        name,
        include: (only ?? folders.filter((folder) => existsSync(folder)).map((folder) => `${folder}/**/*`)).map(filesOf),
        exclude: without.map(filesOf),
        isolate: !SHARED.includes(name),
        testTimeout: (["kernel", "living", "lsp"].includes(name) ? 120_000 : 30_000) * scale,
      },
    })),
  },
});
