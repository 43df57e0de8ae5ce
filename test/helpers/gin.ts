import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Finished, runCommand, type SpawnOptions } from "./process.ts";
import { repo } from "./repo.ts";

/** The CLI as users start it. Needs `npm run build`, which `npm test` does first. */
export const ginBin = join(repo, "bin", "gin");

/** Whether dist/ holds this bundle. */
export const isBuilt = (bundle: string): boolean => existsSync(join(repo, "dist", `${bundle}.mjs`));

/** Variables of the person running the tests that would reach into their own host. */
const clean = Object.fromEntries(
  ["ENDPOINT", "TOKEN_FILE", "DATA", "REPOSITORY", "WORKSPACE", "ROOT", "PRINCIPAL", "CA_FILE", "TIMEOUT", "NO_SPAWN"].map(
    (name) => [`GIN_${name}`, undefined],
  ),
);

/** How to run the CLI: `host` becomes GIN_HOST (else the person's own would be used); another installation's `bin/gin` and Node. */
export interface GinOptions extends SpawnOptions {
  readonly host: string;
  readonly bin?: string;
  readonly node?: string;
}

/** Runs `gin ARGS` to its end. */
export function runGin(args: readonly string[], options: GinOptions): Promise<Finished> {
  const { host, env, bin, node, ...rest } = options;
  return runCommand(node ?? process.execPath, [bin ?? ginBin, ...args], { ...rest, env: { ...clean, GIN_HOST: host, ...env } });
}
