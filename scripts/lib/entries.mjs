import { existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { root } from "./run.mjs";

/** The CLI: dist/gin.cjs, which bin/gin starts, and dist/gin-whole.cjs; CommonJS, because whoever runs a short command waits for it. */
export const commandLine = { gin: "src/clients/cli/main.ts", "gin-whole": "src/clients/cli/whole.ts" };

/** The other bundles of dist/ and the source each starts from, as ES modules. Shared and lazily imported code goes to dist/chunk-*.mjs. */
export const modules = {
  daemon: "src/daemon/main.ts",
  "store-worker": "src/daemon/store/worker.ts",
  "history-worker": "src/daemon/history/worker.ts",
  "search-worker": "src/daemon/search/worker.ts",
  "replace-worker": "src/daemon/tools/replace/worker.ts",
  mcp: "src/mcp-bridge/main.ts",
  sdk: "src/clients/sdk/index.ts",
  // What dist/gin.cjs imports late: see scripts/lib/bundles.mjs.
  "sdk-protobuf": "src/clients/sdk/protobuf.ts",
};

/** Everything that can be named to `npm run build`. */
export const entryPoints = { ...commandLine, ...modules };

/** Whether an entry is missing although its room has landed: a room without any source is one of a later issue. */
export function isMissing(file) {
  if (existsSync(join(root, file))) return false;
  const room = join(root, dirname(file));
  return existsSync(room) && readdirSync(room).some((name) => name.endsWith(".ts"));
}
