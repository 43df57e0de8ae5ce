import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
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
    const blobs = changes.flatMap(({ files }) => files.flatMap(({ before, after }) => [before, after])).filter((id) => id !== "");
    const there = await this.#there(blobs);
    const lacks = (id: string): boolean => id !== "" && !there.has(id);
    // A path one of whose contents a partial clone lacks is left out of all changes.
    const without = new Set(
      changes.flatMap(({ files }) => files.filter(({ before, after }) => lacks(before) || lacks(after)).map(({ path }) => path)),
    );
    const whole = changes.map((one) => ({ ...one, files: one.files.filter(({ path }) => !without.has(path)) }));
    return { start: commits[0] ?? "", end: commits.at(-1) ?? "", changes: whole };
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
    const there = await this.#there([...files.values()].map(({ blob }) => blob));
    for (const [path, { blob }] of files) if (!there.has(blob)) files.delete(path);
    return files;
  }

  async blob(id: string): Promise<Buffer> {
    return await this.#git(["cat-file", "blob", id]);
  }

  /** Writes a commit's files below a directory that it makes. */
  async checkOut(commit: string, directory: string): Promise<void> {
    mkdirSync(directory, { recursive: true });
    const files = [...(await this.tree(commit))];
    const blobs = await this.#blobs(files.map(([, { blob }]) => blob));
    for (const [path, { blob, executable }] of files) {
      const bytes = blobs.get(blob);
      if (bytes === undefined) continue;
      mkdirSync(dirname(join(directory, path)), { recursive: true });
      writeFileSync(join(directory, path), bytes, { mode: executable ? 0o755 : 0o644 });
    }
  }

  /** Contents by id; those a partial clone lacks are left out. */
  async #blobs(ids: readonly string[]): Promise<Map<string, Buffer>> {
    const found = new Map<string, Buffer>();
    const out = await this.#git(["cat-file", "--batch"], `${[...new Set(ids)].join("\n")}\n`);
    for (let at = 0; at < out.length; ) {
      const end = out.indexOf(10, at);
      const [id = "", kind, size] = out.toString("latin1", at, end).split(" ");
      at = end + 1;
      if (kind !== "blob") continue;
      found.set(id, out.subarray(at, at + Number(size)));
      at += Number(size) + 1;
    }
    return found;
  }

  /** Which of these a partial clone has. */
  async #there(ids: readonly string[]): Promise<Set<string>> {
    const out = await this.#git(["cat-file", "--batch-check"], `${[...new Set(ids)].join("\n")}\n`);
    const lines = out.toString().split("\n");
    return new Set(lines.filter((line) => line.includes(" blob ")).map((line) => line.split(" ")[0] ?? ""));
  }

  async #git(args: readonly string[], input = ""): Promise<Buffer> {
    const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null", GIT_OPTIONAL_LOCKS: "0" };
    const options = { cwd: this.#repository, env, encoding: "buffer", maxBuffer: 2 ** 30 } as const;
    const child = run("git", ["-c", "safe.directory=*", ...args], options);
    if (input !== "") child.child.stdin?.end(input);
    return (await child).stdout;
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
