// `npm run build`: bundles into dist/, declarations of the SDK into dist/types. The same input gives the same bytes.
import { cpSync, existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { entryPoints, MISSING_OK } from "./lib/entries.mjs";
import { root, run } from "./lib/run.mjs";

const started = performance.now();
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const missing = Object.values(entryPoints).filter((file) => !existsSync(join(root, file)));
if (missing.length > 0 && !MISSING_OK) {
  console.error(`build: entry files are missing: ${missing.join(", ")}`);
  process.exit(1);
}

/** CommonJS dependencies call require; the name is kept free for this in every bundle. */
const banner = 'import{createRequire as __ginRequire}from"node:module";const require=__ginRequire(import.meta.url);';

const dist = join(root, "dist");
rmSync(dist, { recursive: true, force: true });
const present = Object.fromEntries(Object.entries(entryPoints).filter(([, file]) => existsSync(join(root, file))));

await build({
  absWorkingDir: root,
  entryPoints: present,
  outdir: "dist",
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

await run("node", ["node_modules/typescript/bin/tsc", "-b", "src/clients/sdk"]);
const types = join(root, ".build", "types", "src");
for (const folder of ["clients/sdk", "gen", "paths"]) {
  const from = join(types, folder);
  if (existsSync(from))
    cpSync(from, join(dist, "types", "src", folder), { recursive: true, filter: (file) => !file.endsWith(".tsbuildinfo") });
}

const outputs = readdirSync(dist, { recursive: true }).length;
console.log(
  `build: ${Object.keys(present).join(", ") || "no entry yet"}: ${outputs} files in ${Math.round(performance.now() - started)} ms`,
);
