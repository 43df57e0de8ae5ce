import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, dirname, join } from "node:path";
import { type Finished, runCommand } from "../helpers/process.ts";

/** npm's own script, so that it can be run by another Node than its shebang's. */
function npmScript(): string {
  const given = process.env.npm_execpath;
  if (given?.endsWith("npm-cli.js")) return given;
  const beside = join(dirname(process.execPath), "..", "lib", "node_modules", "npm", "bin", "npm-cli.js");
  if (existsSync(beside)) return beside;
  return createRequire(join(dirname(process.execPath), "x.cjs")).resolve("npm/bin/npm-cli.js");
}

/** Runs npm under `node` (this one by default), with scripts and children seeing that same Node first on their PATH. */
export function npm(args: readonly string[], options: { readonly cwd: string; readonly node?: string }): Promise<Finished> {
  const node = options.node ?? process.execPath;
  return runCommand(node, [npmScript(), ...args], {
    cwd: options.cwd,
    // What `npm test` sets for its own scripts would reach into the npm started here.
    env: { ...withoutNpm(), PATH: `${dirname(node)}${delimiter}${process.env.PATH ?? ""}`, npm_config_prefer_offline: "true" },
  });
}

function withoutNpm(): Record<string, undefined> {
  const names = Object.keys(process.env).filter((name) =>
    /^npm_(package|lifecycle|command|config_local_prefix|execpath|node_execpath)/.test(name),
  );
  return Object.fromEntries(names.map((name) => [name, undefined]));
}

/** Why a package could not be had, when it is the network that failed; undefined when it is something else, which is a failure. */
export function registryOutage(result: Finished): string | undefined {
  const code = /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|E404|ETARGET)\b/.exec(result.stderr)?.[1];
  return result.code === 0 || code === undefined ? undefined : `the npm registry did not serve it (${code})`;
}
