import { existsSync } from "node:fs";
import { join } from "node:path";

/** Absolute path of a program of this installation ("daemon.mjs", "mcp.mjs"): beside the bundle, or in dist/ when run from source. */
export function programFile(name: "daemon.mjs" | "mcp.mjs"): string {
  const beside = join(import.meta.dirname, name);
  return existsSync(beside) ? beside : join(import.meta.dirname, "..", "..", "..", "dist", name);
}
