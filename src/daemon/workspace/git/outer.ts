import constants from "node:constants";
import { posix } from "node:path";
import { errnoOf, type Fs, GinError, toGinError } from "../../base/index.ts";
import { type OuterRules, unknownRules } from "../ignore/index.ts";
import type { Git } from "./run.ts";

/** Longest file of rules that is read; a longer one is none. */
const MAX_RULE_BYTES = 1024 * 1024;

/** Reads the rules that stand outside the root: the user's, then the repository's own (the file `exclude`), then those of the directories above. */
export async function readOuterRules(git: Git, prefix: string, exclude: string): Promise<OuterRules> {
  const [set, top] = await Promise.all([
    ask(git, ["config", "--name-only", "--get-regexp", "^core\\.(excludesfile|ignorecase)$"]),
    prefix === "" ? git.directory : ask(git, ["rev-parse", "--show-toplevel"]),
  ]);
  // Most set neither, and each question is a process. What a value means Git says itself.
  const [user, folds] = await Promise.all([
    set?.includes("excludesfile") === true ? ask(git, ["config", "--type=path", "--get", "core.excludesFile"]) : undefined,
    set?.includes("ignorecase") === true ? ask(git, ["config", "--type=bool", "--get", "core.ignoreCase"]) : undefined,
  ]);
  const files: { directory: string; text: string }[] = [];
  const add = (directory: string, path: string | undefined, follow: boolean): void => {
    const text = path === undefined ? undefined : readText(git.deps.fs, posix.resolve(git.directory, path), follow);
    if (text !== undefined) files.push({ directory, text });
  };
  add("", user ?? usual(git.deps.env), true);
  add("", exclude, true);
  if (top !== undefined && prefix !== "") {
    const names = prefix.split("/");
    for (let depth = 0; depth < names.length; depth++) {
      const directory = names.slice(0, depth).join("/");
      add(directory, posix.join(top, directory, ".gitignore"), false);
    }
  }
  return { prefix, files, ignoreCase: folds === "true" };
}

/** Git's status when it gives up; a higher one says that it was ended. */
const GAVE_UP = 128;

/** One line; undefined when git has no answer. */
async function ask(git: Git, args: readonly string[]): Promise<string | undefined> {
  const { status, stdout } = await git.run(args);
  // Ended before it could answer: as no rules that would let in what they hide.
  if (status > GAVE_UP) throw new GinError("IO_FAILED", "Git was ended while it was asked for its ignore rules");
  const said = stdout.toString("utf8").replace(/\n$/, "");
  return status === 0 && said !== "" ? said : undefined;
}

function usual(env: Readonly<Record<string, string | undefined>>): string | undefined {
  const { XDG_CONFIG_HOME: xdg, HOME: home } = env;
  if (xdg !== undefined && xdg !== "") return `${xdg}/git/ignore`;
  return home === undefined || home === "" ? undefined : `${home}/.config/git/ignore`;
}

/** A regular file's text; undefined when there is none, or no one that rules would be in. */
function readText(fs: Fs, path: string, follow: boolean): string | undefined {
  let fd: number;
  try {
    fd = fs.openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | (follow ? 0 : constants.O_NOFOLLOW));
  } catch (thrown) {
    if (errnoOf(thrown) === undefined || unknownRules(thrown)) throw toGinError(thrown);
    return undefined;
  }
  try {
    const stat = fs.fstatSync(fd);
    if (!stat.isFile() || stat.size > MAX_RULE_BYTES) return undefined;
    const into = Buffer.alloc(MAX_RULE_BYTES);
    let filled = 0;
    for (let count = -1; count !== 0 && filled < into.byteLength; filled += count)
      count = fs.readSync(fd, into, filled, into.byteLength - filled, filled);
    return into.toString("utf8", 0, filled);
  } finally {
    fs.closeSync(fd);
  }
}
