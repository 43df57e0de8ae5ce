// `npm run build [-- ENTRY…]`: bundles into dist/, declarations of the SDK into dist/types. The same input gives the same bytes.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { entryPoints, isMissing } from "./lib/entries.mjs";
import { root, run } from "./lib/run.mjs";

const started = performance.now();
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const named = process.argv.slice(2);
const wanted = Object.entries(entryPoints).filter(([name]) => named.length === 0 || named.includes(name));
const present = wanted.filter(([, file]) => existsSync(join(root, file)));
const missing = wanted.map(([, file]) => file).filter(isMissing);
if (wanted.length === 0 || missing.length > 0) {
  console.error(
    missing.length > 0 ? `build: missing: ${missing.join(", ")}` : `build: entries: ${Object.keys(entryPoints).join(", ")}`,
  );
  process.exit(1);
}

/** CommonJS dependencies call require; the name is kept free for this in every bundle. */
const banner = 'import{createRequire as __ginRequire}from"node:module";const require=__ginRequire(import.meta.url);';

// Built beside and put in place at once: a daemon that starts meanwhile finds the old bundles or the new ones.
const dist = join(root, "dist");
const fresh = join(root, ".build", `dist-${process.pid}`);

async function bundle() {
  await build({
    absWorkingDir: root,
    entryPoints: Object.fromEntries(present),
    outdir: fresh,
    outExtension: { ".js": ".mjs" },
    // Beside the entries, so that `new URL("./store-worker.mjs", import.meta.url)` holds wherever shared code lands.
    chunkNames: "chunk-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    // Native: they carry binaries of their own and are optional, so they stay packages.
    external: ["better-sqlite3", "better-sqlite3-v12", "koffi"],
    define: { __GIN_VERSION__: JSON.stringify(version) },
    inject: ["scripts/lib/cjs-globals.mjs"],
    banner: { js: banner },
    legalComments: "linked",
    logLevel: "warning",
  });
}

async function declarations() {
  await run("node", ["node_modules/typescript/bin/tsc", "-b", "src/clients/sdk"]);
  for (const folder of ["clients/sdk", "gen", "paths"]) {
    const from = join(root, ".build", "types", "src", folder);
    cpSync(from, join(fresh, "types", "src", folder), { recursive: true });
  }
}

/** Named entries are laid over what is there; a whole build replaces it. */
function putInPlace() {
  if (named.length === 0) {
    rmSync(dist, { recursive: true, force: true });
    renameSync(fresh, dist);
  } else {
    mkdirSync(dist, { recursive: true });
    cpSync(fresh, dist, { recursive: true });
  }
}

try {
  mkdirSync(fresh, { recursive: true });
  await bundle();
  if (named.length === 0) await declarations();
  putInPlace();
  const files = readdirSync(dist).length;
  console.log(
    `build: ${present.map(([name]) => name).join(", ")}: ${files} files in ${Math.round(performance.now() - started)} ms`,
  );
} catch (error) {
  // esbuild and tsc have printed what is wrong.
  console.error(`build: ${error.message.split("\n")[0]}`);
  process.exitCode = 1;
} finally {
  rmSync(fresh, { recursive: true, force: true });
}
