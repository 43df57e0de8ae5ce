import { isMap } from "../args.ts";
import { parsed } from "./json.ts";

/** What a file tells of a project. "" and undefined: nothing. */
export interface Told {
  readonly language?: string;
  readonly build?: string;
  readonly test?: string;
  readonly lint?: string;
}

/** A project's directory, as the detection looks at it. */
export interface Directory {
  /** Whether there is a regular file of this name. */
  has(name: string): boolean;
}

/** A file whose presence tells of a project; `read` gives undefined when its content is not what its name says. */
export interface Marker {
  readonly name: string;
  read(text: string, directory: Directory): Told | undefined;
}

/** Files in the order in which they are asked: the first with a build command gives the commands. */
export const MARKERS: readonly Marker[] = [
  {
    name: "go.mod",
    read: (text) =>
      /^\s*module\s+\S/m.test(text)
        ? { language: "Go", build: "go build ./...", test: "go test ./...", lint: "golangci-lint run" }
        : undefined,
  },
  { name: "package.json", read: readPackage },
  { name: "bun.lockb", read: (_text, directory) => ({ language: scriptLanguage(directory) }) },
  {
    name: "Cargo.toml",
    read: (text) =>
      /^\s*\[(package|workspace)\]/m.test(text)
        ? { language: "Rust", build: "cargo build", test: "cargo test", lint: "cargo clippy" }
        : undefined,
  },
  {
    name: "pyproject.toml",
    read: (text) =>
      /^\s*\[[^\]]+\]/m.test(text)
        ? { language: "Python", build: "python -m build", test: "pytest", lint: "ruff check ." }
        : undefined,
  },
  {
    name: "setup.py",
    read: (text) =>
      /\bsetup\s*\(/.test(text) ? { language: "Python", build: "python setup.py build", test: "pytest" } : undefined,
  },
  {
    name: "requirements.txt",
    read: (text) => (/^\s*[A-Za-z0-9]/m.test(text) ? { language: "Python", test: "pytest" } : undefined),
  },
  { name: "composer.json", read: readComposer },
  { name: "Makefile", read: (text) => commandsOf(text, /^([A-Za-z0-9_.-]+)\s*:(?!=)/gm, "make") },
  {
    name: "Taskfile.yml",
    read: (text) => (/^tasks:/m.test(text) ? commandsOf(text, /^ {2,4}([A-Za-z0-9_.-]+):/gm, "task") : undefined),
  },
];

/** Recipes of a justfile; lines that assign or set are none. */
export function readJustfile(text: string): Told {
  return commandsOf(text, /^@?([A-Za-z_][A-Za-z0-9_-]*)(?:[ \t]+(?![ \t=])[^:\n]+)?[ \t]*:(?!=)/gm, "just");
}

function scriptLanguage(directory: Directory): string {
  return directory.has("tsconfig.json") ? "TypeScript" : "JavaScript";
}

function readPackage(text: string, directory: Directory): Told | undefined {
  const value = parsed(text);
  if (!isMap(value)) return undefined;
  const scripts = isMap(value.scripts) ? value.scripts : {};
  const manager = managerOf(directory);
  const script = (name: string): string => (typeof scripts[name] === "string" ? `${manager} run ${name}` : "");
  return { language: scriptLanguage(directory), build: script("build"), test: script("test"), lint: script("lint") };
}

/** Who runs the scripts: told by the lock file. */
function managerOf(directory: Directory): string {
  if (directory.has("bun.lockb") || directory.has("bun.lock")) return "bun";
  if (directory.has("pnpm-lock.yaml")) return "pnpm";
  return directory.has("yarn.lock") ? "yarn" : "npm";
}

function readComposer(text: string): Told | undefined {
  const value = parsed(text);
  if (!isMap(value)) return undefined;
  const scripts = isMap(value.scripts) ? value.scripts : {};
  const script = (name: string, other: string): string => (Object.hasOwn(scripts, name) ? `composer ${name}` : other);
  return {
    language: "PHP",
    build: script("build", "composer install"),
    test: script("test", "vendor/bin/phpunit"),
    lint: script("lint", ""),
  };
}

/** The commands for build, test and lint among the targets that a pattern finds. */
function commandsOf(text: string, target: RegExp, runner: string): Told {
  const names = new Set([...text.matchAll(target)].map((match) => match[1]));
  const command = (name: string): string => (names.has(name) ? `${runner} ${name}` : "");
  return { build: command("build"), test: command("test"), lint: command("lint") };
}
