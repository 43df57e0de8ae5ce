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

/** Runs `gin ARGS`. `host` becomes GIN_HOST: always give one, or the person's own host directory is used. */
export function runGin(args: readonly string[], options: SpawnOptions & { readonly host: string }): Promise<Finished> {
  const { host, env, ...rest } = options;
  return runCommand(process.execPath, [ginBin, ...args], { ...rest, env: { ...clean, GIN_HOST: host, ...env } });
}
