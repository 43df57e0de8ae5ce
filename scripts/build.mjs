// `npm run build [-- ENTRY…]`: bundles into dist/, declarations of the SDK into dist/types. The same input gives the same bytes.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { bundleCommandLine, bundleModules } from "./lib/bundles.mjs";
import { commandLine, entryPoints, isMissing, modules } from "./lib/entries.mjs";
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

// Built beside and put in place at once: a daemon that starts meanwhile finds the old bundles or the new ones.
const dist = join(root, "dist");
const fresh = join(root, ".build", `dist-${process.pid}`);

/** Those of a group of entries that are to be built; undefined when there are none. */
function chosen(group) {
  const entries = present.filter(([name]) => Object.hasOwn(group, name));
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

async function bundle() {
  const options = { outdir: fresh, version };
  const [line, esm] = [chosen(commandLine), chosen(modules)];
  await Promise.all([line && bundleCommandLine(line, options), esm && bundleModules(esm, options)]);
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
    // Aside first: a command that starts meanwhile finds no dist for the time of two renames, not of a whole removal.
    const old = join(root, ".build", `old-dist-${process.pid}`);
    if (existsSync(dist)) renameSync(dist, old);
    renameSync(fresh, dist);
    rmSync(old, { recursive: true, force: true });
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
