import { join } from "node:path";
import { build } from "esbuild";
import { root } from "./run.mjs";

/** CommonJS dependencies call require; the name is kept free for this in every ES module. */
const requireBanner = 'import{createRequire as __ginRequire}from"node:module";const require=__ginRequire(import.meta.url);';

/** Options of every bundle. `outdir` is where it goes, `version` what __GIN_VERSION__ becomes. */
const common = ({ outdir, version }) => ({
  absWorkingDir: root,
  outdir,
  bundle: true,
  platform: "node",
  target: "node20",
  define: { __GIN_VERSION__: JSON.stringify(version) },
  legalComments: "linked",
  logLevel: "warning",
});

/** The daemon, its workers, the bridge and the SDK: ES modules that share chunks. */
export async function bundleModules(entries, options) {
  const shared = common(options);
  await build({
    ...shared,
    entryPoints: entries,
    outExtension: { ".js": ".mjs" },
    // Beside the entries, so that `new URL("./store-worker.mjs", import.meta.url)` holds wherever shared code lands.
    chunkNames: "chunk-[hash]",
    splitting: true,
    format: "esm",
    // Native: they carry binaries of their own and are optional, so they stay packages.
    external: ["better-sqlite3", "better-sqlite3-v12", "koffi"],
    inject: ["scripts/lib/cjs-globals.mjs"],
    banner: { js: requireBanner },
  });
}

/**
 * What needs protobuf stays out of the CLI's bundle, which would be five times as large for an error that hardly ever comes: it is imported
 * from its own module. That module has its own copy of the SDK's classes, so nothing of it may reach an instanceof of the CLI.
 */
const protobufLate = {
  name: "protobuf-late",
  setup(building) {
    building.onResolve({ filter: /\/protobuf\.ts$/ }, () => ({ path: "./sdk-protobuf.mjs", external: true }));
  },
};

/** Commands that scripts and agents call over and over: the start-up of these is what bench cli measures. */
const QUICK = ["read", "save", "rm", "call", "tool", "context", "outcome", "version"];

/**
 * Leaves every other command out of dist/gin.cjs: compiling what is not run costs a short command more than anything else it does. In their
 * place stands src/clients/cli/rare.ts, which hands over to the bundle of all commands.
 */
const quickAlone = {
  name: "quick-alone",
  setup(building) {
    const commands = new Set(QUICK.map((name) => `./commands/${name}.ts`));
    building.onResolve({ filter: /^\.\/commands\/.*\.ts$/ }, ({ path }) =>
      commands.has(path) ? undefined : { path: join(root, "src/clients/cli/rare.ts") },
    );
    building.onResolve({ filter: /^\.\/whole\.ts$/ }, ({ kind }) =>
      kind === "dynamic-import" ? { path: "whole", namespace: "late" } : undefined,
    );
    // By require: a dynamic import would start Node's loader of ES modules.
    building.onLoad({ filter: /./, namespace: "late" }, () => ({ contents: 'module.exports = require("./gin-whole.cjs");' }));
    building.onResolve({ filter: /^\.\/gin-whole\.cjs$/ }, ({ path }) => ({ path, external: true }));
  },
};

/**
 * The command line, minified CommonJS, as Node's loader of ES modules alone costs a short command a third of its time: dist/gin.cjs, which
 * bin/gin starts, with the quick commands, and dist/gin-whole.cjs with all of them.
 */
export async function bundleCommandLine(entries, options) {
  const shared = common(options);
  const bundles = Object.entries(entries).map(([name, file]) =>
    build({
      ...shared,
      entryPoints: { [name]: file },
      outExtension: { ".js": ".cjs" },
      format: "cjs",
      minify: true,
      define: {
        ...shared.define,
        "import.meta.dirname": "__dirname",
        "import.meta.filename": "__filename",
        "import.meta.url": "__ginUrl",
      },
      inject: ["scripts/lib/cjs-url.mjs"],
      plugins: [protobufLate, ...(name === "gin" ? [quickAlone] : [])],
    }),
  );
  await Promise.all(bundles);
}
