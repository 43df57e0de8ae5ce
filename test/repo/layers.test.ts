import { cpSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { runCommand } from "../helpers/process.ts";
import { repo } from "../helpers/repo.ts";
import { tempDir } from "../helpers/temp.ts";

/** A copy of what lint and types look at, small enough to break on purpose: the doors exist, the rest is as it is. */
let scratch: string;

beforeAll(async () => {
  scratch = tempDir("layers");
  for (const name of ["biome.json", "tsconfig.base.json", "package.json", ".gitignore", "src", "scripts"]) {
    cpSync(join(repo, name), join(scratch, name), { recursive: true });
  }
  symlinkSync(join(repo, "node_modules"), join(scratch, "node_modules"));
  // Rooms that have not landed yet get an empty door, so that every arrow can be tried.
  for (const room of readdirSync(join(scratch, "src/daemon"))) {
    if (!room.includes(".")) ensureDoor(`src/daemon/${room}/index.ts`);
  }
  for (const door of ["src/clients/sdk", "src/clients/cli", "src/mcp-bridge", "src/paths"]) ensureDoor(`${door}/index.ts`);
  // biome reads .gitignore only inside a repository.
  await runCommand("git", ["init", "-q", scratch]);
}, 60_000);

function ensureDoor(path: string): void {
  if (!readdirSync(join(scratch, dirname(path))).includes("index.ts")) writeFileSync(join(scratch, path), "export {};\n");
}

/** What lint refuses: the folder a file stands in, its text, and words of the message. */
const lintCases: readonly [kind: string, folder: string, text: string, says: string][] = [
  ["a room past another's door", "src/daemon/store", 'export type * from "../lease/types.ts";', "index.ts only"],
  ["a nested folder past another's door", "src/daemon/store/deep", 'export type * from "../../lease/types.ts";', "index.ts only"],
  ["past the door of a room in a room", "src/daemon/lease", 'export type * from "../workspace/files/index.ts";', "index.ts only"],
  ["past the door of workspace's own files", "src/daemon/workspace", 'export type * from "./files/types.ts";', "index.ts only"],
  ["past the door of its watcher", "src/daemon/workspace", 'export type * from "./watch/types.ts";', "index.ts only"],
  [
    "the watcher past the door of ignore",
    "src/daemon/workspace/watch",
    'export type * from "../ignore/types.ts";',
    "index.ts only",
  ],
  ["another room to the Git reader", "src/daemon/lease", 'export type * from "../workspace/git/index.ts";', "index.ts only"],
  ["node:fs in the watcher", "src/daemon/workspace/watch", 'import { watch } from "node:fs";\nwatch("x");', "Fs port"],
  ["a room to api", "src/daemon/history", 'export type * from "../api/index.ts";', "never import api"],
  ["a room to the listener", "src/daemon/policy", 'export type * from "../listener/index.ts";', "never import api"],
  ["the host to api", "src/daemon/host", 'export type * from "../api/index.ts";', "never import api"],
  ["api to the listener", "src/daemon/api", 'export type * from "../listener/index.ts";', "main.ts only"],
  ["the listener to api", "src/daemon/listener", 'export type * from "../api/index.ts";', "knows no room"],
  ["the listener to a room", "src/daemon/listener", 'export type * from "../store/index.ts";', "knows no room"],
  ["base to a room", "src/daemon/base", 'export type * from "../store/index.ts";', "base imports nothing"],
  ["the daemon to the SDK", "src/daemon/host", 'export type * from "../../clients/sdk/index.ts";', "never imports its clients"],
  ["node:fs in a room", "src/daemon/workspace", 'import { rmSync } from "node:fs";\nrmSync("x");', "Fs port"],
  ["fs/promises in a room", "src/daemon/store", 'import { rm } from "fs/promises";\nawait rm("x");', "Fs port"],
  ["node:fs in api", "src/daemon/api", 'import { rmSync } from "node:fs";\nrmSync("x");', "Fs port"],
  ["chance in a room", "src/daemon/lease", 'import { randomUUID } from "node:crypto";\nrandomUUID();', "Random port"],
  ["the clock in a room", "src/daemon/lease", "export const now = Date.now();", "Clock and Random ports"],
  ["console in the daemon", "src/daemon/host", 'console.log("x");', "console"],
  ["any", "src/daemon/host", "export const x: any = 1;", "any"],
  ["a floating promise", "src/daemon/host", "async function f(): Promise<void> {}\nf();", "floating"],
  ["the CLI to the daemon", "src/clients/cli", 'export type * from "../../daemon/base/index.ts";', "through the SDK only"],
  ["the CLI to generated code", "src/clients/cli", 'export * from "../../gen/gin/v1/save_pb.ts";', "through the SDK only"],
  ["the CLI past the SDK's door", "src/clients/cli", 'export type * from "../sdk/inside.ts";', "index.ts only"],
  ["the bridge to generated code", "src/mcp-bridge", 'export * from "../gen/gin/v1/save_pb.ts";', "through the SDK only"],
  ["the bridge to the CLI", "src/mcp-bridge", 'export type * from "../clients/cli/index.ts";', "through the SDK only"],
  ["the SDK to the daemon", "src/clients/sdk", 'export type * from "../../daemon/base/index.ts";', "gen and paths only"],
  ["paths to anything", "src/paths", 'export type * from "../daemon/base/index.ts";', "leaf"],
  ["console in the bridge", "src/mcp-bridge", 'console.error("x");', "console"],
];

/** What project references refuse: every other direction. */
const typeCases: readonly [kind: string, folder: string, from: string][] = [
  ["lease to workspace", "src/daemon/lease", "../workspace/index.ts"],
  ["store to lease", "src/daemon/store", "../lease/index.ts"],
  ["annotation to history", "src/daemon/annotation", "../history/index.ts"],
  ["history to annotation", "src/daemon/history", "../annotation/index.ts"],
  ["policy to api", "src/daemon/policy", "../api/index.ts"],
  ["sdk to daemon", "src/clients/sdk", "../../daemon/base/index.ts"],
];

const biome = (cwd: string, ...args: string[]) =>
  runCommand(join(repo, "node_modules/.bin/biome"), ["lint", "--error-on-warnings", "--max-diagnostics=none", ...args], { cwd });

/** Writes one file a case, runs `work` once over all, and takes them away again. */
async function withFiles<T>(files: readonly (readonly [path: string, text: string])[], work: () => Promise<T>): Promise<T> {
  for (const [path, text] of files) {
    mkdirSync(join(scratch, dirname(path)), { recursive: true });
    writeFileSync(join(scratch, path), `${text}\n`);
  }
  try {
    return await work();
  } finally {
    for (const [path] of files) rmSync(join(scratch, path));
  }
}

describe("forbidden by lint", () => {
  const at = (index: number): string => `${lintCases[index]?.[1]}/forbidden-${index}.ts`;
  /** Messages by file. */
  let said: Map<string, string>;
  beforeAll(async () => {
    const files = lintCases.map(([, , text], index) => [at(index), text] as const);
    const result = await withFiles(files, () => biome(scratch, "--reporter=json", ...files.map(([path]) => path)));
    const report = JSON.parse(result.stdout) as { diagnostics: { message: string; location: { path: string } }[] };
    said = new Map();
    for (const { message, location } of report.diagnostics)
      said.set(location.path, `${said.get(location.path) ?? ""}${message}\n`);
  }, 60_000);
  test.each(lintCases.map(([kind, , , says], index) => [kind, at(index), says] as const))("%s", (_kind, path, says) => {
    expect(said.get(path) ?? "nothing").toContain(says);
  });
});

describe("forbidden by project references", () => {
  let output: string;
  beforeAll(async () => {
    const files = typeCases.map(([, folder, from]) => [`${folder}/forbidden.ts`, `export type * from "${from}";`] as const);
    const tsc = [
      join(repo, "node_modules/typescript/bin/tsc"),
      "-b",
      "--pretty",
      "false",
      ...typeCases.map(([, folder]) => folder),
    ];
    output = (await withFiles(files, () => runCommand(process.execPath, tsc, { cwd: scratch }))).stdout;
  }, 120_000);
  test.each(typeCases)("%s", (_kind, folder) => {
    const refusals = output.split("\n").filter((line) => line.startsWith(`${folder}/forbidden.ts`));
    expect(refusals.join("\n"), output).toMatch(/TS6307/);
  });
});

test("the tree as it is passes the lint", async () => {
  const result = await biome(repo, "--diagnostic-level=warn", "src");
  expect(result.code, result.stderr).toBe(0);
});
