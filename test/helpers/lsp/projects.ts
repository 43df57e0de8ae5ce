import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { npm, registryOutage } from "../../repo/npm.ts";
import { type Finished, runCommand } from "../process.ts";
import { repo } from "../repo.ts";

/** Why a project cannot be had on this machine: tests skip with it. */
export class Unavailable extends Error {}

/** Real projects by name. */
export const PROJECTS = {
  /** 1,494 modules of TypeScript: viem, as npm has it. */
  typescript: { files: viem, atLeast: 1_400 },
  /** 120 modules of Python: docutils, as Debian has it. */
  python: { files: docutils, atLeast: 110 },
  /** 24 sources and 60 headers of C: brotli, as npm's iltorb has it, with compile_commands.json. */
  c: { files: brotli, atLeast: 75 },
  /** A Go module without dependencies: klauspost/compress. */
  go: { files: compress, atLeast: 150 },
  /** Git's own shell scripts; bootstrap's CSS; W3C's HTML; workflows of CI; package.json of what npm ci installs, with a schema. */
  documents: { files: documents, atLeast: 120 },
} as const;
export type ProjectName = keyof typeof PROJECTS;

/** A file of a project: where it is to be, and its source's absolute path or its text. */
type Source = { readonly to: string } & ({ readonly from: string } | { readonly text: string });

/** Copies a project into a directory that is there and empty. Throws Unavailable when it cannot be had here. */
export async function project(name: ProjectName, root: string): Promise<void> {
  const { files, atLeast } = PROJECTS[name];
  const sources = await files(root);
  if (sources.length < atLeast) throw new Error(`the project ${name} has ${sources.length} files: less than ${atLeast}`);
  for (const source of sources) {
    const to = join(root, source.to);
    mkdirSync(dirname(to), { recursive: true });
    if ("text" in source) writeFileSync(to, source.text);
    else cpSync(source.from, to);
  }
}

/** Runs git in a directory, as somebody. Throws with what it said when it fails. */
export async function git(root: string, ...args: readonly string[]): Promise<string> {
  const nobody = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false", "-c", "core.hooksPath=/dev/null"];
  const ran = await runCommand("git", [...nobody, ...args], { cwd: root, env: { GIT_CONFIG_GLOBAL: "/dev/null" } });
  if (ran.code !== 0) throw new Error(`git ${args.join(" ")}: ${ran.stderr}`);
  return ran.stdout;
}

/** Absolute paths of the files below a directory that are wanted, in order. */
function below(directory: string, wanted: (path: string) => boolean): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => wanted(path.slice(directory.length + 1)))
    .sort();
}

const under = (directory: string, folder: string, wanted: (path: string) => boolean): Source[] =>
  below(directory, wanted).map((from) => ({ from, to: join(folder, from.slice(directory.length + 1)) }));

/** The directory of a package of npm, unpacked once: by its exact version, which npm's own cache may know. */
async function packed(name: string, version: string): Promise<string> {
  const there = join(repo, ".build", "projects", `${name}-${version}`);
  if (existsSync(there)) return there;
  const making = `${there}.${process.pid}`;
  rmSync(making, { recursive: true, force: true });
  mkdirSync(making, { recursive: true });
  const got = await npm(["pack", "--silent", `${name}@${version}`], { cwd: making });
  const outage = registryOutage(got);
  if (outage !== undefined) throw new Unavailable(`${name}@${version}: ${outage}`);
  mustEnd(got, `npm pack ${name}`);
  mustEnd(await runCommand("tar", ["-xzf", got.stdout.trim(), "--strip-components=1"], { cwd: making }), "tar");
  try {
    renameSync(making, there);
  } catch (error) {
    // Another process was first.
    if (!existsSync(there)) throw error;
    rmSync(making, { recursive: true, force: true });
  }
  return there;
}

function mustEnd(ran: Finished, what: string): void {
  if (ran.code !== 0) throw new Error(`${what} failed: ${ran.stderr}`);
}

async function viem(): Promise<Source[]> {
  const directory = await packed("viem", "2.57.20");
  const tsconfig = {
    compilerOptions: { strict: true, module: "nodenext", target: "es2022", lib: ["es2022", "dom"], types: [], noEmit: true },
    include: ["src"],
  };
  return [
    ...under(directory, "src", (path) => path.endsWith(".ts") && !path.endsWith(".d.ts") && !/^(_|node_modules)/.test(path)),
    { to: "tsconfig.json", text: JSON.stringify(tsconfig) },
    { to: "package.json", text: JSON.stringify({ name: "viem", type: "module", private: true }) },
  ];
}

async function docutils(): Promise<Source[]> {
  const directory = "/usr/lib/python3/dist-packages/docutils";
  if (!existsSync(directory)) throw new Unavailable("docutils is not installed (apt install python3-docutils)");
  return [
    ...under(directory, "docutils", (path) => path.endsWith(".py")),
    { to: "pyproject.toml", text: '[project]\nname = "docutils"\nversion = "0"\n' },
  ];
}

async function brotli(root: string): Promise<Source[]> {
  const directory = join(await packed("iltorb", "2.4.5"), "brotli", "c");
  const sources = under(directory, "c", (path) => /\.[ch]$/.test(path));
  const commands = sources
    .filter(({ to }) => to.endsWith(".c"))
    .map(({ to }) => ({ directory: root, file: to, arguments: ["cc", "-std=c99", "-Ic/include", "-c", to] }));
  return [
    ...sources,
    { to: "compile_commands.json", text: JSON.stringify(commands) },
    // clangd keeps its index there.
    { to: ".gitignore", text: ".cache/\n" },
  ];
}

async function compress(): Promise<Source[]> {
  const module = "github.com/klauspost/compress@v1.20.4";
  const cwd = join(repo, ".build");
  mkdirSync(cwd, { recursive: true });
  const got = await runCommand("go", ["mod", "download", "-json", module], { cwd }).catch(() => undefined);
  if (got === undefined) throw new Unavailable("Go is not installed");
  if (got.code !== 0) throw new Unavailable(`the Go module proxy did not serve ${module}`);
  const { Dir } = JSON.parse(got.stdout) as { readonly Dir: string };
  return below(Dir, (path) => /(\.go|go\.mod|\.s)$/.test(path) && !/_test\.go$/.test(path)).map((from) => ({
    to: from.slice(Dir.length + 1),
    // The module cache is read-only, and so would its copies be.
    text: readFileSync(from, "utf8"),
  }));
}

async function documents(): Promise<Source[]> {
  const modules = join(repo, "node_modules");
  const bootstrap = await packed("bootstrap", "5.3.9");
  return [
    ...(await gitScripts()),
    ...under(join(bootstrap, "dist", "css"), "css", (path) => /^bootstrap[\w-]*\.css$/.test(path)),
    ...under(join(bootstrap, "scss"), "scss", (path) => path.endsWith(".scss")),
    ...under(join(modules, "@mixmark-io", "domino", "test"), "html", (path) => path.endsWith(".html")),
    ...workflows(modules),
    ...packages(modules),
    { to: "gin.schema.json", text: JSON.stringify(SCHEMA) },
  ];
}

/** What a package.json and a workflow may hold under "gin". */
const SCHEMA = {
  type: "object",
  properties: {
    name: { type: "string" },
    gin: {
      type: "object",
      properties: { uses: { type: "array", items: { type: "number" } } },
      additionalProperties: false,
    },
  },
};

async function gitScripts(): Promise<Source[]> {
  const ran = await runCommand("git", ["--exec-path"]);
  const directory = ran.stdout.trim();
  return below(directory, (path) => !path.includes("/") && statSync(join(directory, path)).size < 100_000)
    .filter((path) => readFileSync(path).subarray(0, 9).toString() === "#!/bin/sh")
    .map((from) => ({ from, to: join("scripts", `${basename(from)}.sh`) }));
}

const workflows = (modules: string): Source[] =>
  below(modules, (path) => /\/\.github\/workflows\/[^/]+\.yml$/.test(path))
    .slice(0, 30)
    .map((from, index) => ({
      to: `yaml/${index}.yml`,
      text: `# yaml-language-server: $schema=../gin.schema.json\n${readFileSync(from, "utf8").trimEnd()}\n`,
    }));

const packages = (modules: string): Source[] =>
  below(modules, (path) => /^(@[^/]+\/)?[^/]+\/package\.json$/.test(path))
    .slice(0, 100)
    .map((from, index) => {
      const { $schema: _, ...rest } = JSON.parse(readFileSync(from, "utf8")) as { readonly [field: string]: unknown };
      return { to: `json/${index}.json`, text: `${JSON.stringify({ $schema: "../gin.schema.json", ...rest }, undefined, 2)}\n` };
    });
