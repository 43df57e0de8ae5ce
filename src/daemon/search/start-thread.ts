import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import type { BuildOptions, BuildResult } from "esbuild";
import type { SearchThreadData } from "./messages.ts";

/** Megabytes of heap a thread may take: what it keeps, and one large file more. */
const HEAP_MB = 1024;

let bundled: URL | undefined;

/**
 * Starts a search thread: `search-worker.mjs` beside the bundle. When gin runs from its sources (tests, development) the entry is bundled once a
 * process, in memory: a loader in each thread would take half a second.
 */
export function startThread(workerData: SearchThreadData): Worker {
  const source = import.meta.url.endsWith(".ts");
  bundled ??= source ? bundle() : new URL("./search-worker.mjs", import.meta.url);
  return new Worker(bundled, { execArgv: [], resourceLimits: { maxOldGenerationSizeMb: HEAP_MB }, workerData });
}

function bundle(): URL {
  const { buildSync } = createRequire(import.meta.url)("esbuild") as { buildSync(options: BuildOptions): BuildResult };
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
