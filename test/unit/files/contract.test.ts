import * as fs from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import { TEMP_PREFIX } from "../../../src/daemon/workspace/files/index.ts";
import { refused, type Site, site, VARIANTS } from "./variants.ts";

const text = (value: string): Uint8Array => Buffer.from(value);

/** Names in a directory that are gin's. */
const tempsIn = (dir: string): string[] => fs.readdirSync(dir).filter((name) => name.startsWith(TEMP_PREFIX));

/** Writes below a root, parents included. */
function put({ dir }: Site, path: string, content: string): string {
  const at = join(dir, path);
  fs.mkdirSync(join(at, ".."), { recursive: true });
  fs.writeFileSync(at, content);
  return at;
}

describe.each(VARIANTS)("a confined root ($name)", ({ options }) => {
  const open = (): Site => site(options);

  it("tells what it is", () => {
    const { root, dir } = open();
    const stat = fs.statSync(dir, { bigint: true });
    expect([root.device, root.inode]).toEqual([stat.dev, stat.ino]);
    const confinement = options.confinement ?? "handle-walk";
    expect(root.features).toEqual({ confinement, replace: options.exchange === "off" ? "rename-link" : "exchange" });
    expect(root.twinKey("Ä/b")).toBe("Ä/b");
    expect(fs.readdirSync(dir)).toEqual([]);
  });

  it("notices a root that is gone or another one, and re-creates nothing", () => {
    const { root, dir } = open();
    root.check();
    fs.renameSync(dir, `${dir}.away`);
    refused(() => root.check(), "WORKSPACE_MISSING_ROOT");
    refused(() => root.locate("x", true), "WORKSPACE_MISSING_ROOT");
    fs.mkdirSync(dir);
    refused(() => root.check(), "WORKSPACE_MISSING_ROOT");
    fs.rmdirSync(dir);
    fs.renameSync(`${dir}.away`, dir);
    root.check();
    fs.rmdirSync(dir);
    refused(() => root.makeParents("a/b"), "WORKSPACE_MISSING_ROOT");
    expect(fs.existsSync(dir)).toBe(false);
  });

  it("refuses every use after it was closed", () => {
    const { root } = open();
    root.close();
    root.close();
    refused(() => root.locate("x", true), "WORKSPACE_MISSING_ROOT");
    refused(() => root.sweep(), "WORKSPACE_MISSING_ROOT");
  });

  it("locates files, directories, symlinks and what is not there", () => {
    const on = open();
    put(on, "a/b.txt", "hello");
    fs.symlinkSync("a", join(on.dir, "dir"));
    fs.symlinkSync("a/b.txt", join(on.dir, "file"));
    fs.symlinkSync("a/new", join(on.dir, "dangling"));
    const { root } = on;
    expect(root.locate("", true)).toMatchObject({ path: "", stat: { kind: "directory" } });
    expect(root.locate("./a/b.txt", true)).toMatchObject({
      path: "a/b.txt",
      stat: { kind: "file", size: 5, links: 1, executable: false },
    });
    expect(root.locate("dir/b.txt", true).path).toBe("a/b.txt");
    expect(root.locate("dir/b.txt", false).path).toBe("a/b.txt");
    expect(root.locate("file", true)).toMatchObject({ path: "a/b.txt", stat: { kind: "file" } });
    expect(root.locate("file", false)).toMatchObject({ path: "file", stat: { kind: "symlink" } });
    expect(root.locate("dangling", true)).toEqual({ path: "a/new", stat: undefined });
    expect(root.locate("no", true)).toEqual({ path: "no", stat: undefined });
    expect(root.locate("dir/no/more/x", true)).toEqual({ path: "a/no/more/x", stat: undefined });
    expect(refused(() => root.locate("file/x", true), "NOT_A_DIRECTORY").facts).toEqual({ path: "a/b.txt", kind: "file" });
  });

  it("follows symlinks that stay inside and refuses those that leave, loop or lead to protected names", () => {
    const on = open();
    const { root, dir, outside } = on;
    put(on, "in/deep/f", "inside");
    put(on, ".env", "secret");
    fs.writeFileSync(join(outside, "f"), "outside");
    const links: Record<string, string> = {
      "in/up": "../in/deep/f",
      around: "in/deep/../../in/./deep//f",
      slash: "in/deep/",
      absolute: join(dir, "in/deep/f"),
      out: "../root-evil/f",
      outdir: "../root-evil",
      outin: `../${basename(dir)}/in/deep/f`,
      "in/far": "../../root-evil",
      loop: "loop",
      ping: "pong",
      pong: "ping",
      hidden: ".env",
      git: ".git/x/y",
      fileslash: "in/deep/f/",
      missingup: "none/../in/deep/f",
      l0: "in/deep/f",
    }; // prettier-ignore
    for (const [name, target] of Object.entries(links)) fs.symlinkSync(target, join(dir, name));
    for (let i = 1; i <= 41; i++) fs.symlinkSync(`l${i - 1}`, join(dir, `l${i}`));
    for (const path of ["in/up", "around", "slash/f", "l0", "l39"]) {
      const file = root.readFile(path, 100);
      expect([file.path, file.bytes.toString()]).toEqual(["in/deep/f", "inside"]);
    }
    for (const path of ["absolute", "out", "outdir/f", "outdir", "outin", "in/far/f"])
      refused(() => root.readFile(path, 100), "PATH_OUTSIDE_WORKSPACE");
    for (const path of ["loop", "ping", "l40", "l41"]) refused(() => root.readFile(path, 100), "PATH_INVALID");
    for (const path of ["hidden", "git"]) refused(() => root.locate(path, true), "PATH_SENSITIVE");
    refused(() => root.readFile("fileslash", 100), "NOT_A_DIRECTORY");
    refused(() => root.locate("missingup", true), "PATH_NOT_FOUND");
    // Meant themselves, all of them can be looked at and removed.
    for (const name of Object.keys(links)) {
      expect(root.readLink(name).target).toBe(links[name]);
      const away = root.takeAway(name);
      expect(away?.stat.kind).toBe("symlink");
      expect(root.readTemp(away?.temp ?? "", 100).bytes.toString()).toBe(links[name]);
      root.discard(away?.temp ?? "");
    }
    expect(fs.readFileSync(join(outside, "f"), "utf8")).toBe("outside");
    refused(() => root.readLink("in/deep/f"), "NOT_A_FILE");
    refused(() => root.readLink("none"), "PATH_NOT_FOUND");
  });

  it("reads whole files up to a limit, with the facts of the handle", () => {
    const on = open();
    const at = put(on, "f", "12345");
    fs.chmodSync(at, 0o755);
    const file = on.root.readFile("f", 5);
    const stat = fs.statSync(at, { bigint: true });
    expect(file.bytes.toString()).toBe("12345");
    expect(file.stat).toEqual({
      kind: "file",
      size: 5,
      mode: 0o755,
      executable: true,
      mtimeNs: stat.mtimeNs,
      ctimeNs: stat.ctimeNs,
      device: stat.dev,
      inode: stat.ino,
      links: 1,
    }); // prettier-ignore
    expect(refused(() => on.root.readFile("f", 4), "TOO_LARGE").facts).toEqual({ limit: 4, unit: "bytes" });
    fs.writeFileSync(at, "");
    expect(on.root.readFile("f", 0).bytes.byteLength).toBe(0);
    refused(() => on.root.readFile("none", 10), "PATH_NOT_FOUND");
    refused(() => on.root.readFile("", 10), "NOT_A_FILE");
  });

  it("reads large files in pieces and sees that they changed", async () => {
    const on = open();
    const at = put(on, "d/big", "abcdefghij");
    const file = on.root.openFile("d/big");
    expect((await file.read(2, 4)).toString()).toBe("cdef");
    expect((await file.read(8, 100)).toString()).toBe("ij");
    expect((await file.read(10, 5)).byteLength).toBe(0);
    expect(file.unchanged()).toBe(true);
    fs.renameSync(join(on.dir, "d"), join(on.dir, "e"));
    expect(file.unchanged()).toBe(false);
    fs.renameSync(join(on.dir, "e"), join(on.dir, "d"));
    fs.appendFileSync(at, "k");
    expect(file.unchanged()).toBe(false);
    file.close();
    file.close();
    await expect(file.read(0, 1)).rejects.toMatchObject({ reason: "INTERNAL" });
    const other = on.root.openFile("d/big");
    fs.renameSync(at, `${at}2`);
    fs.writeFileSync(at, "abcdefghijk");
    expect(other.unchanged()).toBe(false);
    other.close();
  });

  it("lists in byte order, without gin's temps and names that are not UTF-8, protected names by name only", () => {
    const on = open();
    for (const name of ["b", "a", "é", "Z", "z/in", ".env", `${TEMP_PREFIX}foreign`]) put(on, `d/${name}`, "x");
    fs.writeFileSync(Buffer.concat([Buffer.from(join(on.dir, "d/")), Buffer.from([0x66, 0xff])]), "x");
    fs.symlinkSync("../../nowhere", join(on.dir, "d/link"));
    fs.symlinkSync("d", join(on.dir, "to-d"));
    const listed = on.root.list("to-d");
    expect(listed.path).toBe("d");
    expect(listed.skipped).toBe(1);
    expect(listed.entries.map(({ name, stat, sensitive }) => [name, stat.kind, sensitive])).toEqual([
      [".env", "file", true],
      ["Z", "file", false],
      ["a", "file", false],
      ["b", "file", false],
      ["link", "symlink", false],
      ["z", "directory", false],
      ["é", "file", false],
    ]);
    refused(() => on.root.list("d/a"), "NOT_A_DIRECTORY");
    refused(() => on.root.list("none"), "PATH_NOT_FOUND");
    expect(on.root.list("").entries.map((entry) => entry.name)).toEqual(["d", "to-d"]);
  });

  it("makes missing parents, and takes back those that are empty", () => {
    const on = open();
    const { root, dir } = on;
    put(on, "a/f", "x");
    expect(root.makeParents("top")).toEqual([]);
    expect(root.makeParents("a/b/c/new")).toEqual(["a/b", "a/b/c"]);
    expect(root.makeParents("a/b/c/new")).toEqual([]);
    refused(() => root.makeParents("a/f/g/new"), "NOT_A_DIRECTORY");
    refused(() => root.makeParents("a/x/.git/new"), "PATH_SENSITIVE");
    refused(() => root.makeParents("a/x/b\nad/new"), "PATH_INVALID");
    expect(fs.readdirSync(join(dir, "a"))).toEqual(["b", "f"]);
    put(on, "a/b/kept", "x");
    root.removeMade(["a/b", "a/b/c", "gone/too"]);
    expect(fs.readdirSync(join(dir, "a/b"))).toEqual(["kept"]);
    fs.symlinkSync("a", join(dir, "link"));
    expect(refused(() => root.makeParents("link/x/new"), "NOT_A_DIRECTORY").facts.kind).toBe("symlink");
  });

  it("stages beside the target with the mode asked for, whatever the umask, and discards", () => {
    const on = open();
    const umask = process.umask(0o000);
    try {
      const staged = on.root.stage("f", text("new"), 0o640);
      process.umask(0o077);
      const wide = on.root.stage("g", text("new"), 0o777);
      const at = join(on.dir, staged.temp);
      const stat = fs.statSync(at, { bigint: true });
      expect([staged.path, stat.mode & 0o7777n, stat.ino, stat.dev]).toEqual(["f", 0o640n, staged.inode, staged.device]);
      expect(fs.statSync(join(on.dir, wide.temp)).mode & 0o7777).toBe(0o777);
      expect(on.root.readTemp(staged.temp, 10).bytes.toString()).toBe("new");
      on.root.discard(staged.temp);
      on.root.discard(staged.temp);
      on.root.discard(wide.temp);
      expect(fs.readdirSync(on.dir)).toEqual([]);
    } finally {
      process.umask(umask);
    }
    refused(() => on.root.stage("no/f", text(""), 0o644), "PATH_NOT_FOUND");
    refused(() => on.root.stage("", text(""), 0o644), "NOT_A_FILE");
    refused(() => on.root.stageLink("l", ""), "PATH_INVALID");
    for (const temp of ["f", `${TEMP_PREFIX}x`, `../${TEMP_PREFIX}${"0".repeat(32)}`])
      refused(() => on.root.discard(temp), "PATH_INVALID");
    on.root.discard(`gone/${TEMP_PREFIX}${"0".repeat(32)}`);
  });

  it("places new files and links where nothing is", () => {
    const on = open();
    expect(on.root.place(on.root.stage("f", text("new"), 0o755), "create")).toBeUndefined();
    expect(on.root.place(on.root.stage("g", text("g"), 0o644), "replace")).toBeUndefined();
    expect(on.root.place(on.root.stageLink("l", "f"), "create")).toBeUndefined();
    expect(on.root.readFile("f", 10)).toMatchObject({ path: "f", stat: { mode: 0o755, links: 1 } });
    expect(on.root.readLink("l").target).toBe("f");
    expect(tempsIn(on.dir)).toEqual([]);
  });

  it.each(["create", "replace"] as const)("gives back what stood at the target (%s)", (how) => {
    const on = open();
    put(on, "d/f", "old");
    fs.symlinkSync("gone", join(on.dir, "d/l"));
    const old = fs.statSync(join(on.dir, "d/f"), { bigint: true });
    const displaced = on.root.place(on.root.stage("d/f", text("new"), 0o644), how);
    expect(displaced?.stat).toMatchObject({ kind: "file", inode: old.ino, size: 3 });
    expect(displaced?.also).toBeUndefined();
    expect(on.root.readTemp(displaced?.temp ?? "", 10).bytes.toString()).toBe("old");
    expect(on.root.readFile("d/f", 10).bytes.toString()).toBe("new");
    const link = on.root.place(on.root.stage("d/l", text("file now"), 0o644), how);
    expect(link?.stat.kind).toBe("symlink");
    expect(on.root.readTemp(link?.temp ?? "", 10).bytes.toString()).toBe("gone");
    expect(on.root.temps("d")).toEqual([displaced?.temp, link?.temp].sort());
    expect(on.root.sweep(["d"])).toBe(2);
    expect(fs.readdirSync(join(on.dir, "d"))).toEqual(["f", "l"]);
  });

  it("moves no directory or special file out of the way", () => {
    const on = open();
    put(on, "d/in", "x");
    const staged = on.root.stage("d", text("new"), 0o644);
    for (const how of ["create", "replace"] as const)
      expect(refused(() => on.root.place(staged, how), "NOT_A_FILE").facts.kind).toBe("directory");
    refused(() => on.root.takeAway("d"), "NOT_A_FILE");
    refused(() => on.root.takeAway(""), "NOT_A_FILE");
    expect(on.root.readTemp(staged.temp, 10).bytes.toString()).toBe("new");
    on.root.discard(staged.temp);
    expect(fs.readdirSync(on.dir)).toEqual(["d"]);
  });

  it("takes files away and puts them back where nothing is", () => {
    const on = open();
    put(on, "f", "content");
    put(on, "d/g", "there");
    expect(on.root.takeAway("none")).toBeUndefined();
    const away = on.root.takeAway("f");
    if (away === undefined) throw new Error("nothing was taken away");
    expect(fs.existsSync(join(on.dir, "f"))).toBe(false);
    expect(on.root.putBack(away, "d/g")).toBe(false);
    refused(() => on.root.putBack(away, "no/g"), "PATH_NOT_FOUND");
    expect(on.root.putBack(away, "d/h")).toBe(true);
    refused(() => on.root.putBack(away, "d/i"), "PATH_NOT_FOUND");
    expect(fs.readFileSync(join(on.dir, "d/h"), "utf8")).toBe("content");
    expect(fs.statSync(join(on.dir, "d/h")).nlink).toBe(1);
    expect([tempsIn(on.dir), tempsIn(join(on.dir, "d"))]).toEqual([[], []]);
  });

  it("leaves the outside name of a hard link alone: content, inode and mode", async () => {
    const on = open();
    const far = join(on.outside, "far");
    fs.writeFileSync(far, "theirs", { mode: 0o600 });
    fs.linkSync(far, join(on.dir, "near"));
    const before = fs.statSync(far, { bigint: true });
    expect(on.root.readFile("near", 10).stat.links).toBe(2);
    const displaced = on.root.place(on.root.stage("near", text("ours"), 0o644), "replace");
    on.root.discard(displaced?.temp ?? "");
    await on.root.syncFile("near");
    const after = fs.statSync(far, { bigint: true });
    expect([fs.readFileSync(far, "utf8"), after.ino, after.mode, after.mtimeNs, after.nlink]).toEqual([
      "theirs",
      before.ino,
      before.mode,
      before.mtimeNs,
      1n,
    ]);
    expect(fs.readFileSync(join(on.dir, "near"), "utf8")).toBe("ours");
  });

  it("takes canonical paths at their word: a symlink that came onto one is refused, not followed", async () => {
    const on = open();
    put(on, "real/f", "x");
    fs.symlinkSync("real", join(on.dir, "link"));
    const temp = on.root.stage("real/f", text("y"), 0o644);
    refused(() => on.root.stage("link/f", text("y"), 0o644), "NOT_A_DIRECTORY");
    refused(
      () => on.root.place({ ...temp, path: "link/f", temp: temp.temp.replace("real", "link") }, "replace"),
      "NOT_A_DIRECTORY",
    );
    refused(() => on.root.place({ ...temp, path: "f" }, "replace"), "PATH_INVALID");
    refused(() => on.root.takeAway("link/f"), "NOT_A_DIRECTORY");
    refused(() => on.root.setMode("link/f", 0o600), "NOT_A_DIRECTORY");
    refused(() => on.root.readTemp(temp.temp.replace("real", "link"), 10), "NOT_A_DIRECTORY");
    await on.root.syncFile("link/f");
    await on.root.syncDirectory("link");
    expect(on.root.sweep(["real", "nowhere"])).toBe(1);
    expect(fs.readFileSync(join(on.dir, "real/f"), "utf8")).toBe("x");
  });

  it("sets modes by the handle and refuses what is no file", () => {
    const on = open();
    const at = put(on, "f", "x");
    on.root.setMode("f", 0o751);
    expect(fs.statSync(at).mode & 0o7777).toBe(0o751);
    fs.symlinkSync("f", join(on.dir, "l"));
    refused(() => on.root.setMode("l", 0o600), "NOT_A_FILE");
    refused(() => on.root.setMode("none", 0o600), "PATH_NOT_FOUND");
    expect(fs.statSync(at).mode & 0o7777).toBe(0o751);
  });

  it("syncs files and directories, and shrugs at those that are gone", async () => {
    const on = open();
    put(on, "d/f", "x");
    await on.root.syncFile("d/f");
    await on.root.syncDirectory("d");
    await on.root.syncDirectory("");
    await on.root.syncFile("d");
    await on.root.syncFile("none/f");
    await on.root.syncDirectory("none");
    await on.root.syncDirectory("d/f");
  });

  it("sweeps its temps everywhere but in .git and behind symlinks, and nobody else's files", () => {
    const on = open();
    const name = `${TEMP_PREFIX}${"0123456789abcdef".repeat(2)}`;
    const odd = Buffer.concat([Buffer.from(join(on.dir, "odd")), Buffer.from([0xff])]);
    fs.mkdirSync(odd);
    fs.writeFileSync(Buffer.concat([odd, Buffer.from(`/${name}`)]), "x");
    for (const dir of ["", "a/", "a/b/c/", "node_modules/x/", ".github/"]) put(on, `${dir}${name}`, "x");
    fs.symlinkSync("nowhere", join(on.dir, "a", name.replace(/0/g, "9")));
    for (const kept of [`.git/${name}`, `a/${TEMP_PREFIX}notes`, `a/x${name}`]) put(on, kept, "x");
    fs.writeFileSync(join(on.outside, name), "x");
    fs.symlinkSync("../root-evil", join(on.dir, "out"));
    fs.mkdirSync(join(on.dir, name.replace(/0/g, "8")));
    expect(on.root.sweep()).toBe(7);
    expect(on.root.sweep()).toBe(0);
    for (const kept of [`.git/${name}`, `a/${TEMP_PREFIX}notes`, `a/x${name}`, `../root-evil/${name}`])
      expect(fs.existsSync(join(on.dir, kept)), kept).toBe(true);
  });
});
