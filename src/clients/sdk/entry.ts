import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Absolute path of a program of this installation ("daemon.mjs", "mcp.mjs"): beside the bundle, or in dist/ when run from source. */
export function programFile(name: "daemon.mjs" | "mcp.mjs"): string {
  const beside = fileURLToPath(new URL(`./${name}`, import.meta.url));
  return existsSync(beside) ? beside : fileURLToPath(new URL(`../../../dist/${name}`, import.meta.url));
}
