import { chmodSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Fs, GinError, nodeFs } from "../../../src/daemon/base/index.ts";
import { atTeardown } from "../../helpers/teardown.ts";
import { tempDir } from "../../helpers/temp.ts";
import { hashOf } from "../../kernel/workspace/model.ts";
import { openSite, type Site, saveInput } from "../../kernel/workspace/site.ts";
import { imported, loggedOf, readTarget, shifted, treeOf } from "../../kernel/workspace/whole.ts";

const text = (value: string): Uint8Array => Buffer.from(value);

function fill(root: string, files: Readonly<Record<string, string>>): void {
  for (const [path, value] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), value);
  }
}

async function open(directory: string, options: Parameters<typeof openSite>[1] = {}): Promise<Site> {
  const site = await openSite(directory, { import: true, ...options });
  atTeardown(() => site.close());
  return site;
}

/** A directory whose `ws/` has these files. */
function filled(files: Readonly<Record<string, string>>): string {
  const directory = tempDir("import");
  mkdirSync(join(directory, "ws"));
  fill(join(directory, "ws"), files);
  return directory;
}

describe("the first look at the whole tree", () => {
  it("records every file, symlink and mode, and leaves out what is not the workspace's", async () => {
    const directory = filled({
      "a.txt": "a\n",
      "deep/er/b.txt": "b\n",
      ".env": "SECRET=1\n",
      ".git/HEAD": "ref: refs/heads/main\n",
      "vendored/.git/HEAD": "x",
      "vendored/c.txt": "c\n",
      ".gin-tmp-0": "temp",
      "line\nbreak": "odd\n",
      empty: "",
    });
    const root = join(directory, "ws");
    chmodSync(join(root, "deep/er/b.txt"), 0o755);
    symlinkSync("a.txt", join(root, "link"));
    symlinkSync(".", join(root, "loop"));
    symlinkSync("/etc/passwd", join(root, "out"));
    const site = await open(directory);
    const progress = await imported(site);
    expect(treeOf(site)).toEqual({
      "a.txt": hashOf(text("a\n")),
      "deep/er/b.txt": `${hashOf(text("b\n"))} x`,
      empty: hashOf(text("")),
      "line\nbreak": hashOf(text("odd\n")),
      link: `-> ${hashOf(text("a.txt"))}`,
      loop: `-> ${hashOf(text("."))}`,
      out: `-> ${hashOf(text("/etc/passwd"))}`,
    });
    expect(progress).toMatchObject({ done: true, files: 7, directoriesLeft: 0, unreadable: 0, note: "" });
    expect(loggedOf(site)).toEqual([["import", 7]]);
  });

  it("makes what was imported the base, as a generation outside the log", async () => {
    const site = await open(filled({ "a.txt": "a\n", "b.txt": "b\n" }));
    await imported(site);
    const row = site.store.read.workspaces()[0];
    const base = site.store.read.checkpoint(row?.base ?? "");
    expect(row).toMatchObject({ imported: true, gitCommit: "" });
    expect(base).toMatchObject({ generation: 0, parents: [], cause: "import", tree: site.workspace.tree() });
    expect(site.store.read.checkpoints({ workspace: site.workspace.rowid, limit: 9 }).map((one) => one.generation)).toEqual([1]);
  });

  it("gives the base the content a path was imported with, whatever was saved before the import ended", async () => {
    const directory = filled({ "a.txt": "a\n", "gone.txt": "g\n", "b.txt": "b\n" });
    const first = await openSite(directory);
    await first.workspace.save(saveInput(first, "r1", [{ path: "a.txt", expect: hashOf(text("a\n")), content: text("A\n") }]));
    await first.workspace.save(saveInput(first, "r2", [{ path: "gone.txt", expect: hashOf(text("g\n")), delete: true }]));
    await first.workspace.save(saveInput(first, "r3", [{ path: "new.txt", expect: "absent", content: text("n\n") }]));
    await first.close();
    const site = await open(directory);
    await imported(site);
    const base = site.store.read.checkpoint(site.store.read.workspaces()[0]?.base ?? "");
    expect([...site.store.trees.walk(base?.tree ?? "", "")].map((one) => [one.path, one.content.sha256])).toEqual([
      ["a.txt", hashOf(text("a\n"))],
      ["b.txt", hashOf(text("b\n"))],
      ["gone.txt", hashOf(text("g\n"))],
    ]);
    expect(Object.keys(treeOf(site))).toEqual(["a.txt", "b.txt", "new.txt"]);
  });

  it("keeps files up to 5 MiB and only names larger ones", async () => {
    const directory = filled({});
    const root = join(directory, "ws");
    const middle = Buffer.alloc(3 * 1024 * 1024, "m");
    const large = Buffer.alloc(5 * 1024 * 1024 + 1, "l");
    writeFileSync(join(root, "middle"), middle);
    writeFileSync(join(root, "large"), large);
    const site = await open(directory);
    await imported(site);
    expect(treeOf(site)).toEqual({ large: hashOf(large), middle: hashOf(middle) });
    expect([site.store.read.hasObject(hashOf(middle)), site.store.read.hasObject(hashOf(large))]).toEqual([true, false]);
  });

  it("counts and names what it cannot read, and records the rest", async () => {
    const directory = filled({ "a.txt": "a\n", "shut/b.txt": "b\n", "c.txt": "c\n" });
    const site = await open(directory, { fs: refusing(["shut", "c.txt"]) });
    const progress = await imported(site);
    expect(treeOf(site)).toEqual({ "a.txt": hashOf(text("a\n")) });
    expect(progress).toMatchObject({ done: true, files: 1, unreadable: 2, note: "c.txt cannot be read (EACCES)" });
  });

  it("imports and follows a directory that cannot be written, whose saves are refused", async () => {
    const directory = filled({ "a.txt": "a\n", "b.txt": "b\n" });
    const site = await open(directory, { fs: readOnly });
    await imported(site);
    writeFileSync(join(directory, "ws/b.txt"), "changed\n");
    await site.workspace.sync();
    expect(treeOf(site)).toEqual({ "a.txt": hashOf(text("a\n")), "b.txt": hashOf(text("changed\n")) });
    const save = saveInput(site, "r", [{ path: "a.txt", expect: hashOf(text("a\n")), content: text("A\n") }]);
    const refusal = await site.workspace.save(save).catch((thrown: unknown) => thrown);
    expect(refusal instanceof GinError && [refusal.reason, refusal.facts.errno]).toEqual(["IO_FAILED", "EROFS"]);
    expect(site.workspace.status().status).toBe("active");
  });

  it("answers a read and a save of its own paths before it ends, and the whole tree only after", async () => {
    const directory = filled({ "a.txt": "a\n", "b.txt": "b\n" });
    const site = await open(directory);
    const early = site.workspace.sync().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    const read = await site.workspace.readHead("a.txt", { authorise: () => {}, content: true });
    expect(read.kind === "file" && Buffer.from(read.bytes).toString()).toBe("a\n");
    const refusal = await early;
    expect(refusal instanceof GinError && [refusal.reason, refusal.retryAfterMs > 0, refusal.facts.state]).toEqual([
      "NOT_READY",
      true,
      "importing",
    ]);
    await imported(site);
    expect((await site.workspace.sync()).generation).toBe(site.workspace.state().generation);
  });

  it("does not read again what it has and knows unchanged, in a start after a kill", async () => {
    const files = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`d${index % 3}/f${index}`, `text ${index}\n`]));
    const directory = filled(files);
    for (const path of Object.keys(files)) utimesSync(join(directory, "ws", path), 1_700_000_000, 1_700_000_000);
    // Old as well in ctime, which no call sets: the clock of the first look is ten seconds ahead.
    const first = await openSite(directory, { import: true, clock: shifted(10_000) });
    await imported(first);
    await first.close();
    const opened = new Set<string>();
    const site = await open(directory, { fs: noting(opened), clock: shifted(10_000) });
    await site.workspace.sync();
    expect(opened.size).toBe(0);
    writeFileSync(join(directory, "ws/d0/f0"), "TEXT 0\n");
    await site.workspace.sync();
    expect(loggedOf(site)).toEqual([
      ["import", 30],
      ["external", 1],
    ]);
  });
});

/** The real file system that refuses to open these names. */
function refusing(names: readonly string[]): Fs {
  const refuse = (path: string | Buffer): void => {
    const target = readTarget(String(path));
    if (!names.some((name) => target.endsWith(`/${name}`))) return;
    throw Object.assign(new Error("EACCES: permission denied"), { code: "EACCES", errno: -13, syscall: "open" });
  };
  return {
    ...nodeFs,
    openSync(path, flags, mode) {
      // Naming a thing (O_PATH) needs no permission on it.
      if ((flags & 0o10000000) === 0) refuse(path);
      return nodeFs.openSync(path, flags, mode);
    },
    readdirSync(path) {
      refuse(String(path).replace(/\/\.$/, ""));
      return nodeFs.readdirSync(path);
    },
  };
}

const O_CREAT = 0o100;
const refuseToWrite = (): never => {
  throw Object.assign(new Error("EROFS: read-only file system"), { code: "EROFS", errno: -30, syscall: "open" });
};

/** The real file system, read-only. */
const readOnly: Fs = {
  ...nodeFs,
  openSync: (path, flags, mode) => ((flags & O_CREAT) === 0 ? nodeFs.openSync(path, flags, mode) : refuseToWrite()),
  symlinkSync: refuseToWrite,
  linkSync: refuseToWrite,
  renameSync: refuseToWrite,
  unlinkSync: refuseToWrite,
  mkdirSync: refuseToWrite,
  rmdirSync: refuseToWrite,
};

/** The real file system that notes regular files opened for reading. */
function noting(opened: Set<string>): Fs {
  return {
    ...nodeFs,
    openSync(path, flags, mode) {
      const target = readTarget(String(path));
      if ((flags & 0o10000000) === 0 && /\/f\d+$/.test(target)) opened.add(target);
      return nodeFs.openSync(path, flags, mode);
    },
  };
}
