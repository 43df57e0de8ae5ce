import { copyFileSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { runCommand } from "../../helpers/process.ts";
import { repo } from "../../helpers/repo.ts";

/** Files a tree must have at least. */
export const LEAST_FILES = 5_000;

/** Larger files only cost time: there are enough others. */
const MOST_BYTES = 100_000;

/** Git that reads nobody's configuration. */
const GIT_ENV = { GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null", GIT_TERMINAL_PROMPT: "0" };

/** Runs git in a tree and gives its standard output; `input` goes to its standard input. */
export async function git(tree: string, args: readonly string[], input?: string): Promise<string> {
  const done = await runCommand("git", ["-c", "user.name=t", "-c", "user.email=t@localhost", ...args], {
    cwd: tree,
    env: GIT_ENV,
    ...(input === undefined ? {} : { input }),
  });
  if (done.code !== 0) throw new Error(`git ${args[0]}: ${done.stderr}`);
  return done.stdout;
}

/**
 * Copies files of npm packages as they were unpacked into `tree` until it holds enough, and commits them to a Git repository there.
 * Gives the paths of all files.
 */
export async function makeRealTree(tree: string): Promise<string[]> {
  const from = join(repo, "node_modules");
  const all = packageFiles(from);
  // From all packages some, where there are more files than are needed: each start of a daemon looks at every one.
  const every = Math.max(1, Math.floor(all.length / LEAST_FILES));
  const sources = all.filter((_path, at) => at % every === 0);
  const made: string[] = [];
  for (let copy = 0; made.length < LEAST_FILES; copy++) {
    // A smaller installation has fewer packages: then some stand there twice, as in many repositories.
    for (const path of sources) {
      const target = join(copy === 0 ? "packages" : `copy-${copy}`, path);
      mkdirSync(join(tree, dirname(target)), { recursive: true });
      copyFileSync(join(from, path), join(tree, target));
      made.push(target);
    }
  }
  await git(tree, ["init", "-q"]);
  await git(tree, ["add", "-A", "-f"]);
  await git(tree, ["commit", "-q", "-m", "packages"]);
  return made;
}

/** Paths of the files of all packages, in byte order, without links and what tools cache there. */
function packageFiles(from: string): string[] {
  return readdirSync(from, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(from, join(entry.parentPath, entry.name)))
    .filter((path) => !path.split("/").some((name) => name.startsWith(".")))
    .filter((path) => statSync(join(from, path)).size <= MOST_BYTES)
    .sort();
}

/** Whether a file is text with line feeds, some lines long, so that every editor here leaves the lines it does not touch alone. */
export function isPlainText(tree: string, path: string): boolean {
  const bytes = readFileSync(join(tree, path));
  const text = bytes.toString("utf8");
  return (
    bytes.byteLength > 200 &&
    bytes.byteLength < 20_000 &&
    text.endsWith("\n") &&
    !/[\r\0\ufffd]/.test(text) &&
    text.split("\n").length > 5
  );
}
