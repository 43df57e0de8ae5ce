import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { repo } from "../../helpers/repo.ts";
import type { Orders } from "./victim.ts";

/** Runs a victim to its end; true when it was killed. Throws when it failed by itself. */
export type RunVictim = (orders: Omit<Orders, "worker">) => boolean;

/** Bundles the victim once: a process a kill would otherwise spend its time on compiling. */
export async function bundleVictim(): Promise<RunVictim> {
  const out = join(repo, ".build", `victim-${process.pid}`);
  mkdirSync(out, { recursive: true });
  await build({
    absWorkingDir: repo,
    entryPoints: {
      victim: "test/kernel/workspace/victim.ts",
      "store-worker": "src/daemon/store/worker.ts",
      "history-worker": "src/daemon/history/worker.ts",
    },
    outdir: out,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    external: ["better-sqlite3", "better-sqlite3-v12", "koffi", "vitest", "esbuild", "tsx", "tsx/esm/api"],
    banner: { js: 'import{createRequire as __r}from"node:module";const require=__r(import.meta.url);' },
    inject: ["scripts/lib/cjs-globals.mjs"],
    logLevel: "error",
  });
  const victim = join(out, "victim.mjs");
  const worker = pathToFileURL(join(out, "store-worker.mjs")).href;
  return (orders) => {
    const ended = spawnSync(process.execPath, [victim, JSON.stringify({ ...orders, worker })], {
      encoding: "utf8",
      env: { ...process.env, NODE_EXTRA_CA_CERTS: "" },
    });
    if (ended.signal !== "SIGKILL" && ended.status !== 0) throw new Error(`the victim failed by itself: ${ended.stderr}`);
    return ended.signal === "SIGKILL";
  };
}
