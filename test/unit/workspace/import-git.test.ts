import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { nodeCommands, nodeFs, systemClock } from "../../../src/daemon/base/index.ts";
import { openStore, type Store } from "../../../src/daemon/store/index.ts";
import { createIgnoreRules, type OpenWorkspaceDeps, readGit } from "../../../src/daemon/workspace/index.ts";
import { atTeardown } from "../../helpers/teardown.ts";
import { tempDir } from "../../helpers/temp.ts";
import { hashOf } from "../../kernel/workspace/model.ts";
import { openSite, type Site } from "../../kernel/workspace/site.ts";
import { imported, loggedOf, treeOf } from "../../kernel/workspace/whole.ts";
import { collect, limits } from "../store/gc-model.ts";

const hash = (value: string): string => hashOf(Buffer.from(value));

let directory: string;
let root: string;
beforeEach(() => {
  directory = tempDir("import-git");
  root = join(directory, "ws");
  mkdirSync(root);
});

function git(...args: string[]): string {
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null" };
  const all = ["-C", root, "-c", "user.name=t", "-c", "user.email=t@t", ...args];
  return execFileSync("git", all, { encoding: "utf8", env }).trim();
}

function put(path: string, value: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), value);
}

/** Rules and repository as the daemon has them; nothing watches. */
const around: NonNullable<OpenWorkspaceDeps["around"]> = async (confined) => {
  const found = await readGit(root, { commands: nodeCommands, fs: nodeFs, clock: systemClock, env: process.env });
  const ignore = createIgnoreRules({ root: confined, path: root, fs: nodeFs });
  return { ignore, ...(found.kind === "work-tree" ? { git: found.git } : {}) };
};

async function open(store?: Store): Promise<Site> {
  const site = await openSite(directory, { import: true, around, ...(store === undefined ? {} : { store }) });
  atTeardown(() => site.close());
  await imported(site);
  return site;
}

function baseOf(site: Site): Record<string, string> {
  const base = site.store.read.checkpoint(site.store.read.workspaces()[0]?.base ?? "");
  if (base === undefined) throw new Error("there is no base");
  return treeOf(site, base.tree);
}

it("takes HEAD's tree for the base: clean paths by their bytes on disk, all others by their blobs", async () => {
  git("init", "-q", "-b", "main");
  put(".gitattributes", "crlf.txt text eol=crlf\n");
  put(".gitignore", "*.log\nbuild/\n");
  put("clean", "clean\n");
  put("dirty", "committed\n");
  put("staged", "committed\n");
  put("gone", "gone\n");
  put("crlf.txt", "one\ntwo\n");
  put("kept.log", "tracked though ignored\n");
  put("run.sh", "#!/bin/sh\n");
  put(".env", "SECRET=1\n");
  chmodSync(join(root, "run.sh"), 0o755);
  symlinkSync("clean", join(root, "link"));
  git("add", "-A", "-f");
  git("commit", "-q", "-m", "one");
  rmSync(join(root, "crlf.txt"));
  git("checkout", "-q", "crlf.txt");
  expect(readFileSync(join(root, "crlf.txt"), "utf8")).toBe("one\r\ntwo\r\n");
  put("dirty", "changed\n");
  put("staged", "staged\n");
  git("add", "staged");
  rmSync(join(root, "gone"));
  put("untracked", "u\n");
  put("build/out", "o\n");
  put("other.log", "ignored\n");
  const before = readdirSync(join(root, ".git"), { recursive: true });
  const site = await open();
  const same = {
    ".gitattributes": hash("crlf.txt text eol=crlf\n"),
    ".gitignore": hash("*.log\nbuild/\n"),
    clean: hash("clean\n"),
    "crlf.txt": hash("one\r\ntwo\r\n"),
    "kept.log": hash("tracked though ignored\n"),
    link: `-> ${hash("clean")}`,
    "run.sh": `${hash("#!/bin/sh\n")} x`,
  };
  expect(baseOf(site)).toEqual({ ...same, dirty: hash("committed\n"), gone: hash("gone\n"), staged: hash("committed\n") });
  expect(treeOf(site)).toEqual({ ...same, dirty: hash("changed\n"), staged: hash("staged\n"), untracked: hash("u\n") });
  for (const value of ["committed\n", "gone\n"]) expect(site.store.read.hasObject(hash(value))).toBe(true);
  expect(site.store.read.workspaces()[0]?.gitCommit).toBe(git("rev-parse", "HEAD"));
  expect(loggedOf(site).map(([cause]) => cause)).toEqual(["import"]);
  expect(readdirSync(join(root, ".git"), { recursive: true })).toEqual(before);
});

describe("a content of the base that is not in the store any more", () => {
  beforeEach(() => {
    git("init", "-q", "-b", "main");
    put("dirty", "committed\n");
    git("add", "-A");
    git("commit", "-q", "-m", "one");
  });

  async function freshStore(): Promise<Store> {
    mkdirSync(join(directory, "data"));
    return openStore({ directory: join(directory, "data"), inline: true });
  }

  it("is brought anew when gc took it before the base was recorded", async () => {
    put("dirty", "changed\n");
    const store = await freshStore();
    const taken: boolean[] = [];
    const site = await open({
      read: store.read,
      trees: store.trees,
      async write(command, value) {
        if (command === "workspace.imported" && taken.length === 0) {
          // gc leaves the newest content where it is.
          await store.write("objects", { objects: [{ sha256: hash("newest"), bytes: Buffer.from("newest") }] });
          await collect(store, limits());
          taken.push(!store.read.hasObject(hash("committed\n")));
        }
        return store.write(command, value);
      },
      close: () => store.close(),
    });
    expect(taken).toEqual([true]);
    expect(baseOf(site)).toEqual({ dirty: hash("committed\n") });
    expect(site.store.read.hasObject(hash("committed\n"))).toBe(true);
  });

  it("is not taken for HEAD's because it was as long", async () => {
    put("dirty", "COMMITTED\n");
    const store = await freshStore();
    const read = Object.assign(Object.create(store.read) as Store["read"], {
      object: (sha256: string) => (sha256 === hash("COMMITTED\n") ? undefined : store.read.object(sha256)),
    });
    const { trees } = store;
    const site = await open({ read, trees, write: (command, value) => store.write(command, value), close: () => store.close() });
    expect(baseOf(site)).toEqual({ dirty: hash("committed\n") });
  });
});

it("holds few contents of the base in memory at once, and lets others have their turn", async () => {
  git("init", "-q", "-b", "main");
  for (let index = 0; index < 24; index++) put(`large${index}`, `${index} `.repeat(400_000));
  git("add", "-A");
  git("commit", "-q", "-m", "one");
  mkdirSync(join(directory, "data"));
  const store = await openStore({ directory: join(directory, "data"), inline: true });
  let bytes = 0;
  let most = 0;
  const read = Object.assign(Object.create(store.read) as Store["read"], {
    object(sha256: string) {
      const object = store.read.object(sha256);
      bytes += object?.byteLength ?? 0;
      most = Math.max(most, bytes);
      return object;
    },
  });
  let over = false;
  const turn = (): void => {
    bytes = 0;
    if (!over) setImmediate(turn);
  };
  turn();
  const { trees } = store;
  const site = await open({ read, trees, write: (command, value) => store.write(command, value), close: () => store.close() });
  over = true;
  expect(Object.keys(baseOf(site))).toHaveLength(24);
  expect(most).toBeGreaterThan(1_000_000);
  expect(most).toBeLessThan(6_000_000);
});

it("is served before git has answered, and imported after", async () => {
  git("init", "-q", "-b", "main");
  put("a", "a\n");
  git("add", "-A");
  git("commit", "-q", "-m", "one");
  let answer = (): void => {};
  const asked = new Promise<void>((resolve) => (answer = resolve));
  const site = await openSite(directory, {
    import: true,
    around: async (confined) => ({ git: asked.then(async () => (await around(confined)).git) }),
  });
  atTeardown(() => site.close());
  const read = await site.workspace.readHead("a", { authorise: () => {}, content: true });
  expect(read.kind === "file" && Buffer.from(read.bytes).toString()).toBe("a\n");
  expect(site.workspace.importProgress().done).toBe(false);
  answer();
  await imported(site);
  expect(site.store.read.workspaces()[0]?.gitCommit).toBe(git("rev-parse", "HEAD"));
});

it("tells where HEAD is, and that it moved", async () => {
  git("init", "-q", "-b", "main");
  put("a", "a\n");
  git("add", "-A");
  git("commit", "-q", "-m", "one");
  const first = git("rev-parse", "HEAD");
  const site = await open();
  expect(await site.workspace.git()).toEqual({ baseCommit: first, headCommit: first, branch: "main", headMoved: false });
  git("commit", "-q", "--allow-empty", "-m", "two");
  git("checkout", "-q", "--detach");
  const second = git("rev-parse", "HEAD");
  const moved = { baseCommit: first, headCommit: second, branch: "", headMoved: true };
  await vi.waitFor(async () => expect(await site.workspace.git()).toEqual(moved), { timeout: 10_000, interval: 50 });
});

it("takes a directory below the top of a work tree, and a repository without a commit", async () => {
  const top = root;
  git("init", "-q", "-b", "main");
  put("sub/a", "a\n");
  put("beside", "b\n");
  git("add", "-A");
  git("commit", "-q", "-m", "one");
  directory = tempDir("import-sub");
  mkdirSync(join(directory, "empty"));
  root = join(top, "sub");
  symlinkSync(root, join(directory, "ws"));
  const site = await open();
  expect([baseOf(site), treeOf(site)]).toEqual([{ a: hash("a\n") }, { a: hash("a\n") }]);
  directory = tempDir("import-bare");
  root = join(directory, "ws");
  mkdirSync(root);
  git("init", "-q", "-b", "main");
  put("a", "a\n");
  const unborn = await open();
  expect([baseOf(unborn), Object.keys(treeOf(unborn))]).toEqual([{}, ["a"]]);
  expect(await unborn.workspace.git()).toEqual({ baseCommit: "", headCommit: "", branch: "main", headMoved: false });
});
