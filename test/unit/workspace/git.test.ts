import { createHash } from "node:crypto";
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { type Commands, type Fs, nodeCommands, nodeFs, systemClock } from "../../../src/daemon/base/index.ts";
import { type GitReader, readGit } from "../../../src/daemon/workspace/git/index.ts";
import { runCommand } from "../../helpers/process.ts";
import { atTeardown } from "../../helpers/teardown.ts";
import { tempDir } from "../../helpers/temp.ts";

let home: string;
let repo: string;

beforeEach(async (ctx) => {
  if ((await runCommand("git", ["--version"]).catch(() => undefined))?.code !== 0) ctx.skip("git is not installed");
  home = tempDir("git");
  repo = join(home, "repo");
  mkdirSync(repo);
});

/** The user's environment of a test: a home of its own. */
const env = (): Record<string, string> => ({ PATH: process.env["PATH"] ?? "", HOME: home });

async function git(directory: string, ...args: string[]): Promise<string> {
  const done = await runCommand(
    "git",
    ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgSign=false", ...args],
    {
      cwd: directory,
      env: { ...env(), XDG_CONFIG_HOME: undefined, GIT_CONFIG_NOSYSTEM: "1" },
    },
  );
  if (done.code !== 0) throw new Error(`git ${args.join(" ")}: ${done.stderr}`);
  return done.stdout.trimEnd();
}

async function commit(directory: string, files: Readonly<Record<string, string | Uint8Array>>): Promise<string> {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(directory, path, ".."), { recursive: true });
    writeFileSync(join(directory, path), text);
  }
  await git(directory, "add", "-A");
  await git(directory, "commit", "-qm", "x", "--allow-empty");
  return git(directory, "rev-parse", "HEAD");
}

async function reader(directory: string, commands: Commands = nodeCommands, fs: Fs = nodeFs): Promise<GitReader> {
  const found = await readGit(directory, { commands, fs, clock: systemClock, env: env() });
  if (found.kind !== "work-tree") throw new Error(`not a work tree: ${found.note}`);
  atTeardown(() => found.git.close());
  return found.git;
}

const found = (directory: string) => readGit(directory, { commands: nodeCommands, fs: nodeFs, clock: systemClock, env: env() });

/** One hash over names, kinds and bytes of everything below a directory. */
function hashTree(directory: string): string {
  const hash = createHash("sha256");
  for (const name of (readdirSync(directory, { recursive: true }) as string[]).sort()) {
    const path = join(directory, name);
    const stat = lstatSync(path);
    hash.update(`${name}\0${stat.mode}\0${stat.mtimeMs}\0`);
    if (stat.isFile()) hash.update(readFileSync(path));
    if (stat.isSymbolicLink()) hash.update(readlinkSync(path));
  }
  return hash.digest("hex");
}

test.each(["sha1", "sha256"] as const)("HEAD, its tree and its blobs (%s)", async (format) => {
  await git(repo, "init", "-q", "-b", "trunk", `--object-format=${format}`);
  mkdirSync(join(repo, "bin"));
  writeFileSync(join(repo, "bin/run"), "#!\n");
  chmodSync(join(repo, "bin/run"), 0o755);
  symlinkSync("../x y", join(repo, "bin/link"));
  const id = await commit(repo, { "a\nb": "one\n", "é/ß.txt": "two\n", big: Buffer.alloc(300_000, "x"), empty: "" });
  const ours = await reader(repo);
  expect([ours.objectFormat, ours.prefix]).toEqual([format, ""]);
  expect(await ours.head()).toEqual({ commit: id, branch: "trunk" });
  const entries = await ours.tree(id);
  expect(entries.map(({ path, kind, executable }) => [path, kind, executable])).toEqual([
    ["a\nb", "file", false],
    ["big", "file", false],
    ["bin/link", "symlink", false],
    ["bin/run", "file", true],
    ["empty", "file", false],
    ["é/ß.txt", "file", false],
  ]);
  const read = await Promise.all(entries.map(({ blob }) => ours.blob(blob)));
  expect(read.map((bytes) => bytes.byteLength)).toEqual([4, 300_000, 6, 3, 0, 4]);
  expect(read[2]?.toString()).toBe("../x y");
  await expect(ours.blob("0".repeat(format === "sha1" ? 40 : 64))).rejects.toMatchObject({ reason: "ID_NOT_FOUND" });
  await expect(ours.blob("HEAD")).rejects.toMatchObject({ reason: "ID_NOT_FOUND" });
  await expect(ours.blob(entries[1]?.blob ?? "", 299_999)).rejects.toMatchObject({ reason: "TOO_LARGE" });
  expect((await ours.blob(entries[1]?.blob ?? "", 300_000)).byteLength).toBe(300_000);
  await ours.close();
  expect(await ours.size(entries[0]?.blob ?? "")).toBe(4);
});

test("a directory below the top sees its own files alone, with paths of its own; one that is not in HEAD none", async () => {
  await git(repo, "init", "-q");
  const id = await commit(repo, { top: "t", "sub/dir/file": "f", "sub/dir/deep/x": "x", "sub/dirty": "d" });
  const ours = await reader(join(repo, "sub/dir"));
  expect(ours.prefix).toBe("sub/dir");
  expect((await ours.tree(id)).map(({ path }) => path)).toEqual(["deep/x", "file"]);
  mkdirSync(join(repo, "new"));
  expect(await (await reader(join(repo, "new"))).tree(id)).toEqual([]);
});

test("a linked worktree, a detached HEAD, a repository without commits, a submodule", async () => {
  await git(repo, "init", "-q", "-b", "main");
  expect(await (await reader(repo)).head()).toEqual({ commit: null, branch: "main" });
  expect(await (await reader(repo)).tree(null)).toEqual([]);
  const first = await commit(repo, { a: "1" });
  await git(repo, "worktree", "add", "-q", "-b", "side", join(home, "tree"));
  const second = await commit(join(home, "tree"), { b: "2" });
  const linked = await reader(join(home, "tree"));
  expect(await linked.head()).toEqual({ commit: second, branch: "side" });
  expect((await linked.tree(second)).map(({ path }) => path)).toEqual(["a", "b"]);
  await git(repo, "checkout", "-q", "--detach");
  expect(await (await reader(repo)).head()).toEqual({ commit: first, branch: null });
  await git(repo, "update-index", "--add", "--cacheinfo", `160000,${first},module`);
  await git(repo, "commit", "-qm", "m");
  const whole = await reader(repo);
  const { commit: now } = await whole.head();
  expect((await whole.tree(now)).map(({ path }) => path)).toEqual(["a"]);
});

test("no work tree: a plain directory, a bare repository, the inside of .git, a broken one, no git", async () => {
  const plain = join(home, "plain");
  mkdirSync(plain);
  expect(await found(plain)).toEqual({ kind: "none", note: "" });
  await git(repo, "init", "-q", "--bare", join(home, "bare"));
  expect(await found(join(home, "bare"))).toEqual({ kind: "none", note: "" });
  await git(repo, "init", "-q");
  expect(await found(join(repo, ".git"))).toEqual({ kind: "none", note: "" });
  writeFileSync(join(repo, ".git/config"), "[core\n");
  const broken = await found(repo);
  expect(broken).toEqual({ kind: "none", note: "Git cannot read the repository here" });
  const nothing = await readGit(plain, { commands: nodeCommands, fs: nodeFs, clock: systemClock, env: { PATH: plain } });
  expect(nothing.kind === "none" && nothing.note).toContain("git is not installed");
});

test("a repository of somebody else is none, and says what to do", async (ctx) => {
  if (process.getuid?.() !== 0) ctx.skip("needs root to make a repository of another user");
  await git(repo, "init", "-q");
  for (const path of [repo, join(repo, ".git")]) chownSync(path, 12_345, 12_345);
  const said = await found(repo);
  expect(said.kind === "none" && said.note).toContain("safe.directory");
  expect(JSON.stringify(said)).not.toContain(home);
});

test("clean: the blob itself, CRLF for LF, the file an LFS pointer names; and nothing else", async () => {
  await git(repo, "init", "-q");
  const large = Buffer.from("large file\r\n\0".repeat(1_000));
  const sha256 = createHash("sha256").update(large).digest("hex");
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${sha256}\nsize ${large.byteLength}\n`;
  const id = await commit(repo, { text: "a\nb\n", lfs: pointer, crlf: "a\r\nb\r\n" });
  const ours = await reader(repo);
  const entries = new Map((await ours.tree(id)).map((entry) => [entry.path, entry]));
  const clean = (path: string, bytes: string | Uint8Array): Promise<boolean> => {
    const entry = entries.get(path);
    if (entry === undefined) throw new Error(path);
    return ours.isClean(entry, Buffer.from(bytes as string));
  };
  expect(await clean("text", "a\nb\n")).toBe(true);
  expect(await clean("text", "a\r\nb\r\n")).toBe(true);
  expect(await clean("text", "a\r\nb\n")).toBe(true);
  expect(await clean("text", "a\rb\r")).toBe(false);
  expect(await clean("text", "a\nb")).toBe(false);
  expect(await clean("crlf", "a\nb\n")).toBe(false);
  expect(await clean("lfs", pointer)).toBe(true);
  expect(await clean("lfs", large)).toBe(true);
  expect(await clean("lfs", Buffer.concat([large, Buffer.from("x")]))).toBe(false);
});

test("rules from outside: the user's, the repository's, those of the directories above, in order", async () => {
  await git(repo, "init", "-q");
  mkdirSync(join(repo, "sub/dir"), { recursive: true });
  writeFileSync(join(repo, ".gitignore"), "top\n");
  writeFileSync(join(repo, "sub/.gitignore"), "sub\n");
  writeFileSync(join(repo, "sub/dir/.gitignore"), "own, which is not outside\n");
  writeFileSync(join(repo, ".git/info/exclude"), "exclude\n");
  mkdirSync(join(home, ".config/git"), { recursive: true });
  writeFileSync(join(home, ".config/git/ignore"), "usual\n");
  const texts = async (): Promise<unknown> => (await (await reader(join(repo, "sub/dir"))).outerRules()).files;
  const rest = [
    { directory: "", text: "exclude\n" },
    { directory: "", text: "top\n" },
    { directory: "sub", text: "sub\n" },
  ];
  expect(await texts()).toEqual([{ directory: "", text: "usual\n" }, ...rest]);
  writeFileSync(join(home, "mine"), "mine\n");
  await git(repo, "config", "--global", "core.excludesFile", "~/mine");
  expect(await texts()).toEqual([{ directory: "", text: "mine\n" }, ...rest]);
  await git(repo, "config", "core.ignoreCase", "yes");
  expect(await (await reader(repo)).outerRules()).toMatchObject({ prefix: "", ignoreCase: true });
});

/** Commands of which git's `args` end with `status`; the others are run. */
const failing = (args: string, status: number): Commands => ({
  ...nodeCommands,
  run: async (command) => {
    const done = await nodeCommands.run(command);
    return command.args.join(" ").includes(args) ? { status, stdout: Buffer.alloc(0), stderr: "no" } : done;
  },
});

test.each([
  ["rev-parse --verify", 128],
  ["rev-parse --verify", 128 + 9],
  ["symbolic-ref", 128],
  ["symbolic-ref", 128 + 9],
])("a git that fails (%s: %i) is no repository without commits: what HEAD is is not known", async (args, status) => {
  await git(repo, "init", "-q");
  await commit(repo, { a: "1" });
  const ours = await reader(repo, failing(args, status));
  await expect(ours.head()).rejects.toMatchObject({ reason: "IO_FAILED" });
  await expect(ours.headNow()).rejects.toMatchObject({ reason: "IO_FAILED" });
});

test("a HEAD that says nothing, a branch of garbage, a commit that is not there: none is a repository without commits", async () => {
  await git(repo, "init", "-q", "-b", "main");
  const id = await commit(repo, { a: "1" });
  const ours = await reader(repo);
  rmSync(join(repo, ".git/objects", id.slice(0, 2), id.slice(2)));
  expect(await ours.head()).toEqual({ commit: id, branch: "main" });
  await expect(ours.tree(id)).rejects.toMatchObject({ reason: expect.stringMatching(/^(ID_NOT_FOUND|IO_FAILED)$/) });
  writeFileSync(join(repo, ".git/refs/heads/main"), "garbage\n");
  await expect(ours.head()).rejects.toMatchObject({ reason: "IO_FAILED" });
  writeFileSync(join(repo, ".git/HEAD"), "garbage\n");
  await expect(ours.head()).rejects.toMatchObject({ reason: "IO_FAILED" });
});

test.each(["--get-regexp", "core.excludesFile", "core.ignoreCase"])(
  "a git that was ended while it was asked for rules (%s) does not say that there are none",
  async (args) => {
    await git(repo, "init", "-q");
    await git(repo, "config", "core.ignoreCase", "yes");
    await git(repo, "config", "core.excludesFile", "~/mine");
    const ours = await reader(repo, failing(args, 128 + 9));
    await expect(ours.outerRules()).rejects.toMatchObject({ reason: "IO_FAILED" });
  },
);

test.each([
  ["EMFILE", { reason: "IO_FAILED" }],
  ["EACCES", { files: [] }],
])("a file of rules that cannot be opened now (%s): as none only where it stays so", async (errno, wanted) => {
  await git(repo, "init", "-q");
  const fs: Fs = {
    ...nodeFs,
    openSync(path, flags, mode) {
      if (String(path).endsWith("info/exclude")) throw Object.assign(new Error(errno), { code: errno, syscall: "open" });
      return nodeFs.openSync(path, flags, mode);
    },
  };
  const ours = await reader(repo, nodeCommands, fs);
  expect(await ours.outerRules().catch((thrown) => thrown)).toMatchObject(wanted);
});

test("HEAD now is asked once a second at most", async () => {
  await git(repo, "init", "-q", "-b", "main");
  await commit(repo, { a: "1" });
  let runs = 0;
  const ours = await reader(repo, {
    ...nodeCommands,
    run: (command) => {
      runs++;
      return nodeCommands.run(command);
    },
  });
  runs = 0;
  const all = await Promise.all([ours.headNow(), ours.headNow(), ours.headNow()]);
  expect(new Set(all.map(({ commit: id }) => id)).size).toBe(1);
  expect(runs).toBe(2);
});

test("nothing of the repository's configuration is run, and nothing below .git is written", async () => {
  await git(repo, "init", "-q", "-b", "main");
  const id = await commit(repo, { "a.txt": "1\n", ".gitattributes": "* filter=trap diff=trap text\n", b: "gone\n" });
  const blob = await git(repo, "rev-parse", "HEAD:b");
  const sprung = join(home, "sprung");
  const trap = join(home, "trap");
  writeFileSync(trap, `#!/bin/sh\necho "$0 $*" >> '${sprung}'\n`);
  chmodSync(trap, 0o755);
  const hooks = join(home, "hooks");
  mkdirSync(hooks);
  for (const name of [
    "fsmonitor-watchman",
    "post-index-change",
    "post-checkout",
    "reference-transaction",
    "pre-auto-gc",
    "query-watchman",
  ])
    for (const directory of [hooks, join(repo, ".git/hooks")]) {
      mkdirSync(directory, { recursive: true });
      writeFileSync(join(directory, name), readFileSync(trap));
      chmodSync(join(directory, name), 0o755);
    }
  const settings: [string, string][] = [
    ["core.fsmonitor", trap],
    ["core.hooksPath", hooks],
    ["core.pager", trap],
    ["core.editor", trap],
    ["core.sshCommand", trap],
    ["core.gitProxy", trap],
    ["core.askPass", trap],
    ["core.alternateRefsCommand", trap],
    ["core.untrackedCache", "true"],
    ["pager.ls-tree", trap],
    ["pager.rev-parse", "true"],
    ["pager.config", "true"],
    ["diff.external", trap],
    ["diff.trap.textconv", trap],
    ["diff.trap.command", trap],
    ["filter.trap.clean", trap],
    ["filter.trap.smudge", trap],
    ["filter.trap.process", trap],
    ["filter.trap.required", "true"],
    ["credential.helper", trap],
    ["alias.ls-tree", `!${trap}`],
    ["alias.rev-parse", `!${trap}`],
    ["alias.cat-file", `!${trap}`],
    ["alias.symbolic-ref", `!${trap}`],
    ["gpg.program", trap],
    ["gc.auto", "1"],
    ["protocol.ext.allow", "always"],
    ["remote.origin.url", `ext::${trap} %S`],
    ["remote.origin.promisor", "true"],
    ["remote.origin.uploadpack", trap],
    ["extensions.partialClone", "origin"],
    ["core.repositoryFormatVersion", "1"],
  ];
  for (const [key, value] of settings) await git(repo, "config", key, value);
  // An object that is missing, as in a partial clone: Git would fetch it by the command above.
  rmSync(join(repo, ".git/objects", blob.slice(0, 2), blob.slice(2)));
  rmSync(sprung, { force: true });
  writeFileSync(join(repo, "a.txt"), "1\r\n");
  const before = hashTree(join(repo, ".git"));

  const ours = await reader(repo);
  expect(await ours.head()).toEqual({ commit: id, branch: "main" });
  const entries = await ours.tree(id);
  expect(entries.map(({ path }) => path)).toEqual([".gitattributes", "a.txt", "b"]);
  expect(await ours.isClean(entries[1] as (typeof entries)[number], Buffer.from("1\r\n"))).toBe(true);
  expect((await ours.blob(entries[1]?.blob ?? "")).toString()).toBe("1\n");
  await expect(ours.blob(blob)).rejects.toMatchObject({ reason: expect.stringMatching(/^(ID_NOT_FOUND|IO_FAILED)$/) });
  expect((await ours.blob(entries[1]?.blob ?? "")).toString()).toBe("1\n");
  await ours.outerRules();
  await ours.headNow();
  await ours.close();

  expect(existsSync(sprung) ? readFileSync(sprung, "utf8") : "nothing was run").toBe("nothing was run");
  expect(hashTree(join(repo, ".git"))).toBe(before);
  // The traps are live: Git itself steps into them.
  await runCommand("git", ["status"], { cwd: repo, env: env() });
  expect(existsSync(sprung)).toBe(true);
});
