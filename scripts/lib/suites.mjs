import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { root } from "./run.mjs";

/** Suites of `npm test` in their order: folders, those in them that are another suite's, and the seconds each may take on two cores. */
export const SUITES = [
  { name: "repo", folders: ["test/repo"], seconds: 60 },
  { name: "unit", folders: ["test/unit"], without: ["test/unit/tools"], seconds: 60 },
  { name: "kernel", folders: ["test/kernel"], seconds: 180 },
  { name: "tools", folders: ["test/conformance", "test/unit/tools"], seconds: 100 },
  { name: "mcp", folders: ["test/mcp"], seconds: 50 },
  { name: "docs", folders: ["test/docs"], seconds: 30 },
];

/** Seconds for checks and the build together. */
export const CHECK_SECONDS = 60;

/** Seconds for all of `npm test`: twelve minutes. Less than the budgets added up, as no suite is meant to use its own to the end. */
export const TOTAL_SECONDS = 720;

function hasTests(folder) {
  const at = join(root, folder);
  return existsSync(at) && readdirSync(at, { recursive: true }).some((file) => String(file).endsWith(".test.ts"));
}

/** Suites that hold at least one test file. */
export const presentSuites = () => SUITES.filter((suite) => suite.folders.some(hasTests));
