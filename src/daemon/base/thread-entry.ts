import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import type { BuildOptions, BuildResult } from "esbuild";

const bundled = new Map<string, URL>();

/**
 * Where a thread starts: the bundle of that name beside the asking one, or, when gin runs from its sources (tests, development), `worker.ts`
 * beside the asking file. Node 20 reads no TypeScript, and a loader in each thread would take half a second, so a source is bundled once a
 * process, in memory. `here` is the asking file's import.meta.url.
 */
export function threadEntry(here: string, bundle: string): URL {
  if (!here.endsWith(".ts")) return new URL(`./${bundle}`, here);
  const { href } = new URL("./worker.ts", here);
  const entry = bundled.get(href) ?? bundleOf(href);
  bundled.set(href, entry);
  return entry;
}

function bundleOf(source: string): URL {
  const { buildSync } = createRequire(import.meta.url)("esbuild") as { buildSync(options: BuildOptions): BuildResult };
  const { outputFiles } = buildSync({
    entryPoints: [fileURLToPath(source)],
    bundle: true,
    write: false,
    format: "esm",
    platform: "node",
    target: "node20",
    // A data URL has no place from which packages could be found.
    define: { "import.meta.url": JSON.stringify(source) },
    logLevel: "silent",
  });
  return new URL(`data:text/javascript,${encodeURIComponent(outputFiles?.[0]?.text ?? "")}`);
}
