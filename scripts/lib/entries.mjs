import { existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { root } from "./run.mjs";

/** What dist/ holds, and the source each bundle starts from. Shared and lazily imported code goes to dist/chunk-*.mjs. */
export const entryPoints = {
  gin: "src/clients/cli/main.ts",
  daemon: "src/daemon/main.ts",
  "store-worker": "src/daemon/store/worker.ts",
  "history-worker": "src/daemon/history/worker.ts",
  mcp: "src/mcp-bridge/main.ts",
  sdk: "src/clients/sdk/index.ts",
};

/** Whether an entry is missing although its room has landed: a room without any source is one of a later issue. */
export function isMissing(file) {
  if (existsSync(join(root, file))) return false;
  const room = join(root, dirname(file));
  return existsSync(room) && readdirSync(room).some((name) => name.endsWith(".ts"));
}
