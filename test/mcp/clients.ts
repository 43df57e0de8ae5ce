import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "vitest";
import { runCommand } from "../helpers/process.ts";
import { isLong } from "../helpers/scale.ts";

/** One step of an installation: a command and its arguments, run in the client's folder. */
export type Step = readonly [command: string, ...args: string[]];

/** A client nobody here wrote. */
export interface ForeignClient {
  /** Name and version: names its folder too, so that a new version is installed anew. */
  readonly name: string;
  /** Files it is installed from, by name. */
  readonly files?: Readonly<Record<string, string>>;
  readonly steps: readonly Step[];
  /** Steps after those. */
  readonly more?: readonly Step[];
  /** True: takes part in `npm test` too, where an earlier long run has installed it. */
  readonly quick?: true;
}

/** A client that is one package of npm. Scripts of its dependencies are not run. */
export function fromNpm(name: string, spec: string): ForeignClient {
  const quiet = ["--no-audit", "--no-fund", "--ignore-scripts"];
  return { name, steps: [["npm", "install", "--prefix", ".", ...quiet, spec]] };
}

/**
 * Folder of an installed client, kept between runs under the system's temp folder and never part of this project's dependencies. Installing
 * takes minutes and hundreds of megabytes, so only `npm run test:long` does it; else, and where it fails, the test is skipped and says why.
 */
export async function installed(client: ForeignClient, context: TestContext): Promise<string> {
  const folder = join(tmpdir(), `gin-test-clients-${process.getuid?.() ?? 0}`, client.name);
  const mark = join(folder, ".installed");
  if (!isLong && client.quick !== true) context.skip(`${client.name} takes part in npm run test:long -- --only mcp`);
  if (existsSync(mark)) return folder;
  if (!isLong) context.skip(`${client.name} is not installed: npm run test:long -- --only mcp installs it`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const [name, text] of Object.entries(client.files ?? {})) writeFileSync(join(folder, name), text);
  for (const [command, ...args] of [...client.steps, ...(client.more ?? [])]) {
    const done = await runCommand(command, args, { cwd: folder }).catch((error: Error) => ({ code: -1, stderr: error.message }));
    if (done.code !== 0) context.skip(`${client.name} could not be installed: ${command}: ${done.stderr.trim().slice(-300)}`);
  }
  writeFileSync(mark, "");
  return folder;
}
