import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { root } from "./run.mjs";

/** Suites of `npm test` in their order: folders, and the seconds each may take on two cores. */
export const SUITES = [
  { name: "unit", folders: ["test/unit", "test/repo"], seconds: 60 },
  { name: "kernel", folders: ["test/kernel"], seconds: 180 },
  { name: "mcp", folders: ["test/mcp"], seconds: 50 },
  { name: "docs", folders: ["test/docs"], seconds: 30 },
];

/** Seconds for checks and the build together. */
export const CHECK_SECONDS = 60;

function hasTests(folder) {
  const at = join(root, folder);
  return existsSync(at) && readdirSync(at, { recursive: true }).some((file) => String(file).endsWith(".test.ts"));
}

/** Suites that hold at least one test file. */
export const presentSuites = () => SUITES.filter((suite) => suite.folders.some(hasTests));
