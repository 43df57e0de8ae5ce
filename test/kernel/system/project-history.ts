import { execFile } from "node:child_process";
import { mkdirSync } from "node:fs";
import { promisify } from "node:util";

const run = promisify(execFile);

/** One file of a commit's change: blob ids of a public project's own history; "" where the file is absent. */
export interface FileChange {
  readonly path: string;
  readonly before: string;
  readonly after: string;
  readonly executable: boolean;
}

/** One of a project's own successive changes. */
export interface Change {
  readonly commit: string;
  readonly files: readonly FileChange[];
}

/** A stretch of a project's history, oldest change first, along first parents. */
export interface ProjectHistory {
  readonly start: string;
  readonly end: string;
  readonly changes: readonly Change[];
}

/** What gin neither reads nor writes, or git alone knows: left out of what is replayed. */
const LEFT_OUT = /(?:^|\/)(?:\.git|\.env|\.ssh|\.aws|\.gnupg)(?:$|[./])|[\p{C}\\]/u;

/** A Git repository, bare or not, and what it knows. Reads nobody's configuration, and writes nothing into it. */
export class Project {
  readonly #repository: string;

  constructor(repository: string) {
    this.#repository = repository;
  }

  /** The last `count` changes of HEAD's first-parent line that touch regular files only in ways gin can replay. */
  async history(count: number): Promise<ProjectHistory> {
    const log = await this.#git(["rev-list", "--first-parent", `--max-count=${count + 1}`, "HEAD"]);
    const commits = log.toString().trim().split("\n").reverse();
    const changes: Change[] = [];
    for (let at = 1; at < commits.length; at++) {
      const [from, to] = [commits[at - 1] ?? "", commits[at] ?? ""];
      const raw = await this.#git(["diff-tree", "-r", "-z", "--no-renames", from, to]);
      changes.push({ commit: to, files: parseRaw(raw.toString()) });
    }
    return { start: commits[0] ?? "", end: commits.at(-1) ?? "", changes };
  }

  /** Every regular file of a commit that may be replayed, with its blob. */
  async tree(commit: string): Promise<Map<string, { readonly blob: string; readonly executable: boolean }>> {
    const raw = (await this.#git(["ls-tree", "-r", "-z", commit])).toString();
    const files = new Map<string, { blob: string; executable: boolean }>();
    for (const line of raw.split("\0")) {
      const found = /^(100\d{3}) blob ([0-9a-f]+)\t(.+)$/s.exec(line);
      if (found === null) continue;
      const [, mode = "", blob = "", path = ""] = found;
      if (!LEFT_OUT.test(path)) files.set(path, { blob, executable: mode === "100755" });
    }
    return files;
  }

  async blob(id: string): Promise<Buffer> {
    return await this.#git(["cat-file", "blob", id]);
  }

  /** Writes a commit's files below a directory that it makes. */
  async checkOut(commit: string, directory: string): Promise<void> {
    mkdirSync(directory, { recursive: true });
    const archive = await this.#git(["archive", "--format=tar", commit]);
    const child = run("tar", ["-x", "-C", directory, "--no-same-owner"]);
    child.child.stdin?.end(archive);
    await child;
  }

  async #git(args: readonly string[]): Promise<Buffer> {
    const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null", GIT_OPTIONAL_LOCKS: "0" };
    const options = { cwd: this.#repository, env, encoding: "buffer", maxBuffer: 2 ** 30 } as const;
    return (await run("git", ["-c", "safe.directory=*", ...args], options)).stdout;
  }
}

function parseRaw(raw: string): FileChange[] {
  const files: FileChange[] = [];
  const parts = raw.split("\0");
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const found = /^:(\d{6}) (\d{6}) ([0-9a-f]+) ([0-9a-f]+) /.exec(parts[at] ?? "");
    const path = parts[at + 1] ?? "";
    if (found === null || LEFT_OUT.test(path)) continue;
    const [, modeBefore = "", modeAfter = "", before = "", after = ""] = found;
    // A link or a submodule on either side: what of it is a regular file comes or goes.
    const file = (mode: string, blob: string): string => (mode.startsWith("100") ? blob : "");
    const change = { path, before: file(modeBefore, before), after: file(modeAfter, after), executable: modeAfter === "100755" };
    if (change.before !== "" || change.after !== "") files.push(change);
  }
  return files;
}
