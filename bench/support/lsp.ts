import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { plainEnv, repo } from "./daemon.ts";

const bin = join(repo, "node_modules", ".bin");

/** Environment of a daemon that finds the servers npm installs; its servers are handed TMPDIR, by which they are told from others. */
export const serverEnv = (tmp: string): NodeJS.ProcessEnv => ({
  ...plainEnv,
  PATH: [bin, process.env.PATH ?? ""].join(delimiter),
  TMPDIR: tmp,
});

/** A server, a project for it, and what is asked there. */
export interface Subject {
  readonly server: "typescript" | "pyright";
  readonly languageId: string;
  readonly command: readonly string[];
  /** Copies the project into a directory and gives how many modules it has. */
  readonly plant: (root: string) => number;
  /** A file, its text that declares a name behind a blank, and a file that uses it. */
  readonly home: string;
  readonly declared: string;
  readonly user: string;
  /** A line that is an error and holds a number. */
  readonly wrong: (number: number) => string;
}

/** Copies a folder's sources, tests apart. */
function copied(from: string, to: string, extension: string): number {
  cpSync(from, to, { recursive: true, filter: (path) => !/\/(tests|__pycache__)(\/|$)/.test(path.slice(from.length)) });
  return readdirSync(to, { recursive: true }).filter((path) => String(path).endsWith(extension)).length;
}

/** Debian's docutils. */
function docutils(): string {
  const directory = "/usr/lib/python3/dist-packages/docutils";
  if (existsSync(directory)) return directory;
  throw new Error("docutils is not installed (apt install python3-docutils)");
}

/** TypeScript on zod's sources, pyright on docutils. */
export const SUBJECTS: readonly Subject[] = [
  {
    server: "typescript",
    languageId: "typescript",
    command: [process.execPath, join(repo, "node_modules/typescript/bin/tsc"), "--lsp", "--stdio"],
    plant(root) {
      mkdirSync(root, { recursive: true });
      writeFileSync(
        join(root, "tsconfig.json"),
        JSON.stringify({ compilerOptions: { strict: true, module: "nodenext", target: "es2022", types: [] }, include: ["src"] }),
      );
      writeFileSync(join(root, "package.json"), '{"name": "zod", "type": "module"}\n');
      return copied(join(repo, "node_modules/zod/src"), join(root, "src"), ".ts");
    },
    home: "src/v4/core/util.ts",
    declared: "function stringifyPrimitive",
    user: "src/v4/locales/de.ts",
    wrong: (number) => `export const gin: string = ${number};`,
  },
  {
    server: "pyright",
    languageId: "python",
    command: [join(bin, "pyright-langserver"), "--stdio"],
    plant: (root) => copied(docutils(), join(root, "docutils"), ".py"),
    home: "docutils/statemachine.py",
    declared: "class StringList",
    user: "docutils/parsers/rst/directives/tables.py",
    wrong: (number) => `gin: str = ${number}`,
  },
];

/** Where the last word of a text first stands in a file, as LSP counts: from 0. */
export function placeOf(root: string, path: string, text: string): { readonly line: number; readonly character: number } {
  const lines = readFileSync(join(root, path), "utf8").split("\n");
  const line = lines.findIndex((one) => one.includes(text));
  if (line < 0) throw new Error(`${path} does not hold ${text}`);
  return { line, character: (lines[line] ?? "").indexOf(text) + text.lastIndexOf(" ") + 1 };
}

/** Resident bytes of the processes whose environment holds TMPDIR=`tmp`, one process apart. */
export function residentOf(tmp: string, but: number): number {
  let sum = 0;
  for (const pid of readdirSync("/proc").filter((entry) => /^\d+$/.test(entry) && Number(entry) !== but)) {
    try {
      if (readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").includes(`TMPDIR=${tmp}`)) sum += residentBytes(Number(pid));
    } catch {
      // It has ended, or is another person's.
    }
  }
  return sum;
}

/** Resident bytes of a process. */
export function residentBytes(pid: number): number {
  const found = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(found?.[1] ?? 0) * 1024;
}
