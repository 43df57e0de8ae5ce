import { existsSync } from "node:fs";
import { defineConfig } from "vitest/config";

/** One project a suite of `npm test`; its budget stands in scripts/lib/suites.mjs. */
const folders: Record<string, string[]> = {
  unit: ["test/unit", "test/repo"],
  kernel: ["test/kernel"],
  mcp: ["test/mcp"],
  docs: ["test/docs"],
};

/** Kinds of runs: `proof` takes the files that print proof rows and nothing else. */
const pattern = process.env.GIN_TEST_KIND === "proof" ? "**/*.proof.test.ts" : "**/*.test.ts";

export default defineConfig({
  test: {
    // Real processes, sockets and databases: forks keep a crash or a leaked handle inside one file.
    pool: "forks",
    maxWorkers: 2,
    passWithNoTests: true,
    // A test says its own bound where it needs more; hooks start daemons on a loaded machine.
    testTimeout: 30_000,
    hookTimeout: 30_000,
    projects: Object.entries(folders).map(([name, roots]) => ({
      extends: true as const,
      test: {
        name,
        include: roots.filter((root) => existsSync(root)).map((root) => `${root}/${pattern}`),
        ...(name === "kernel" ? { testTimeout: 120_000 } : {}),
      },
    })),
  },
});
