import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import type { BuildOptions, BuildResult } from "esbuild";

let entry: URL | undefined;

/**
 * The store thread's entry when gin runs from its sources (tests, development): Node 20 reads no TypeScript, and a loader
 * in each thread would take half a second, so it is bundled once a process, in memory. Never reached from a bundle.
 */
export function sourceWorker(): URL {
  entry ??= bundle();
  return entry;
}

function bundle(): URL {
  const require = createRequire(import.meta.url);
  const { buildSync } = require("esbuild") as { buildSync(options: BuildOptions): BuildResult };
  const { outputFiles } = buildSync({
    entryPoints: [fileURLToPath(new URL("./worker.ts", import.meta.url))],
    bundle: true,
    write: false,
    format: "esm",
    platform: "node",
    target: "node20",
    // A data URL has no place from which packages could be found.
    define: { "import.meta.url": JSON.stringify(import.meta.url) },
    logLevel: "silent",
  });
  return new URL(`data:text/javascript,${encodeURIComponent(outputFiles?.[0]?.text ?? "")}`);
}
