import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { root } from "./run.mjs";

/** Rooms whose unit tests are suites of their own. */
const HISTORY = ["history", "annotation", "api"];

/** Every other room's; the tools and the language servers have suites of their own as well. */
function otherRooms() {
  const rooms = readdirSync(join(root, "test/unit"), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return rooms.filter(({ name }) => ![...HISTORY, "tools", "lsp"].includes(name)).map(({ name }) => `test/unit/${name}`);
}

/** Processes, kills and real days of the whole tree, its history and its followers: beginnings of files below test/kernel. */
const LIVING = [
  "workspace/watch",
  "workspace/bursts",
  "workspace/import",
  "listener/watch",
  "store/gc",
  "system/undo",
  "system/replay",
  "daemon/restore",
].map((name) => `test/kernel/${name}*`);

/**
 * Suites of `npm test` in their order: folders, and the seconds each may take on two cores. `only` takes the test files that begin so, `without`
 * leaves them to another suite.
 */
export const SUITES = [
  { name: "repo", folders: ["test/repo"], seconds: 60 },
  { name: "unit", folders: otherRooms(), seconds: 80 },
  { name: "history", folders: HISTORY.map((name) => `test/unit/${name}`), seconds: 90 },
  { name: "kernel", folders: ["test/kernel"], without: LIVING, seconds: 220 },
  { name: "living", folders: ["test/kernel"], only: LIVING, seconds: 120 },
  { name: "lsp", folders: ["test/unit/lsp", "test/lsp"], seconds: 140 },
  { name: "tools", folders: ["test/conformance", "test/unit/tools"], seconds: 140 },
  { name: "mcp", folders: ["test/mcp"], seconds: 60 },
  { name: "docs", folders: ["test/docs"], seconds: 60 },
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
