import { mkdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { repo } from "./repo.ts";

/** A program of a test that is to be killed, as bundles: a process a kill would otherwise spend its time on compiling. */
export interface VictimProgram {
  /** Path of the program. */
  readonly victim: string;
  /** URL of the store's thread, as text. */
  readonly worker: string;
}

/** Bundles a victim by its path in the repository; `alias` replaces packages it must not load. */
export async function bundleProgram(entry: string, alias: Readonly<Record<string, string>> = {}): Promise<VictimProgram> {
  const name = `${basename(dirname(entry))}-${basename(entry, ".ts")}-${process.pid}`;
  const out = join(repo, ".build", name);
  mkdirSync(out, { recursive: true });
  await build({
    absWorkingDir: repo,
    entryPoints: {
      victim: entry,
      "store-worker": "src/daemon/store/worker.ts",
      "history-worker": "src/daemon/history/worker.ts",
    },
    outdir: out,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    alias,
    external: ["better-sqlite3", "better-sqlite3-v12", "koffi", "vitest", "esbuild", "tsx", "tsx/esm/api"].filter(
      (one) => alias[one] === undefined,
    ),
    banner: { js: 'import{createRequire as __r}from"node:module";const require=__r(import.meta.url);' },
    inject: ["scripts/lib/cjs-globals.mjs"],
    logLevel: "error",
  });
  return { victim: join(out, "victim.mjs"), worker: pathToFileURL(join(out, "store-worker.mjs")).href };
}
