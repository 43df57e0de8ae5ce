import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { nodeFs } from "../../../src/daemon/base/index.ts";
import { atTeardown } from "../../helpers/teardown.ts";
import { tempDir } from "../../helpers/temp.ts";
import { refused, type Site, site } from "../../unit/files/variants.ts";

/** File systems that fold names, the most capable first: how one is made on an image file, and how it is mounted. */
const KINDS: readonly { readonly name: string; readonly megabytes: number; mount(image: string, at: string): void }[] = [
  {
    name: "ext4 with casefold",
    megabytes: 64,
    mount(image, at) {
      run("mkfs.ext4", "-q", "-O", "casefold", "-E", "encoding=utf8", image);
      run("mount", "-o", "loop", image, at);
      fs.mkdirSync(join(at, "folding"));
      run("chattr", "+F", join(at, "folding"));
    },
  },
  {
    name: "vfat",
    megabytes: 16,
    mount(image, at) {
      run("mkfs.vfat", image);
      run("mount", "-o", "loop,utf8", image, at);
      fs.mkdirSync(join(at, "folding"));
    },
  },
  {
    name: "exfat through FUSE",
    megabytes: 16,
    mount(image, at) {
      run("mkfs.exfat", image);
      const loop = run("losetup", "-f", "--show", image).trim();
      atTeardown(() => quietly("losetup", "-d", loop));
      run("mount.exfat-fuse", loop, at);
      fs.mkdirSync(join(at, "folding"));
    },
  },
];

function run(command: string, ...args: string[]): string {
  return execFileSync(command, args, { stdio: "pipe", encoding: "utf8" });
}

function quietly(command: string, ...args: string[]): void {
  try {
    run(command, ...args);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
  }
}

/** Mounts the first kind this machine takes; the reasons when it takes none. */
function folding(): { readonly under: string; readonly name: string } | { readonly reasons: string } {
  if (process.getuid?.() !== 0) return { reasons: "mounts need root" };
  const base = tempDir("fold");
  const reasons: string[] = [];
  for (const [i, kind] of KINDS.entries()) {
    const image = join(base, `image${i}`);
    const at = join(base, `mount${i}`);
    fs.mkdirSync(at);
    fs.writeFileSync(image, "");
    fs.truncateSync(image, kind.megabytes * 2 ** 20);
    try {
      // Teardown runs last in, first out: unmount before the loop device goes.
      kind.mount(image, at);
      atTeardown(() => quietly("umount", "-l", at));
      return { under: join(at, "folding"), name: kind.name };
    } catch (error) {
      quietly("umount", "-l", at);
      reasons.push(`${kind.name}: ${String(error).split("\n").slice(0, 2).join(" ").slice(0, 120)}`);
    }
  }
  return { reasons: `no case-insensitive file system could be mounted (${reasons.join("; ")})` };
}

function put({ dir }: Site, path: string, content: string): void {
  fs.mkdirSync(join(dir, path, ".."), { recursive: true });
  fs.writeFileSync(join(dir, path), content);
}

describe("a root on a file system that folds names", () => {
  it("refuses spellings that name another entry, keeps protected names protected, and saves as elsewhere", (ctx) => {
    const made = folding();
    if ("reasons" in made) return ctx.skip(`no file system that folds names can be mounted here: ${made.reasons}`);
    console.log(`folding on ${made.name}`);
    const on = site({}, { under: made.under });
    const { root } = on;
    put(on, "Dir/Readme.md", "hello");
    expect(root.readFile("Dir/Readme.md", 10).bytes.toString()).toBe("hello");
    expect(root.twinKey("Dir/README.md")).toBe(root.twinKey("dir/readme.MD"));

    expect(refused(() => root.readFile("Dir/README.md", 10), "PATH_INVALID").facts).toEqual({
      path: "Dir/README.md",
      twin: "Readme.md",
    });
    expect(refused(() => root.locate("dir/Readme.md", true), "PATH_INVALID").facts).toEqual({
      path: "dir/Readme.md",
      twin: "Dir",
    });
    for (const act of [
      () => root.list("DIR"),
      () => root.openFile("Dir/readme.md"),
      () => root.setMode("Dir/readme.md", 0o600),
      () => root.makeParents("dir/x/y"),
      () => root.stage("dIR/new", new Uint8Array(0), 0o644),
    ]) {
      refused(act, "PATH_INVALID");
    }
    put(on, ".git/config", "x");
    for (const path of [".GIT/config", ".Git", ".git/CONFIG"]) refused(() => root.locate(path, true), "PATH_SENSITIVE");

    // What is not there yet has no twin; what is made is found under its own spelling only.
    expect(root.locate("Dir/new", true)).toEqual({ path: "Dir/new", stat: undefined });
    expect(root.makeParents("Dir/Sub/New")).toEqual(["Dir/Sub"]);
    expect(root.place(root.stage("Dir/Sub/New", Buffer.from("1"), 0o644), "create")).toBeUndefined();
    refused(() => root.locate("Dir/sub/New", true), "PATH_INVALID");
    const displaced = root.place(root.stage("Dir/Sub/New", Buffer.from("2"), 0o644), "replace");
    if (displaced === undefined) throw new Error("nothing was displaced");
    expect(root.readTemp(displaced.temp, 10).bytes.toString()).toBe("1");
    expect(root.putBack(displaced, "Dir/Sub/new")).toBe(false);
    expect(root.putBack(displaced, "Dir/Sub/Other")).toBe(true);
    expect(root.list("Dir/Sub").entries.map((entry) => entry.name)).toEqual(["New", "Other"]);
    const away = root.takeAway("Dir/Sub/New");
    root.discard(away?.temp ?? "");
    expect(fs.readdirSync(join(on.dir, "Dir/Sub"))).toEqual(["Other"]);
    expect(root.sweep()).toBe(0);
  });
});

describe("a root on a file system that folds Unicode forms, shown by an Fs that does", () => {
  it("refuses the other form of a name that is there", () => {
    // Linux has none to mount here: this Fs finds a name by its composed form, as APFS does, and lists it as it was made.
    const composed = (path: string | Buffer): string | Buffer => (typeof path === "string" ? path.normalize("NFC") : path);
    const on = site(
      { exchange: "off" },
      {
        fs: {
          ...nodeFs,
          openSync: (path, flags, mode) => nodeFs.openSync(composed(path), flags, mode),
          lstatSync: (path) => nodeFs.lstatSync(composed(path)),
          unlinkSync: (path) => nodeFs.unlinkSync(composed(path)),
        },
      },
    );
    put(on, "caf\u00e9/f", "x");
    expect(on.root.readFile("caf\u00e9/f", 10).bytes.toString()).toBe("x");
    expect(refused(() => on.root.readFile("cafe\u0301/f", 10), "PATH_INVALID").facts.twin).toBe("caf\u00e9");
    expect(on.root.twinKey("cafe\u0301")).toBe(on.root.twinKey("caf\u00e9"));
    expect(on.root.twinKey("A")).not.toBe(on.root.twinKey("a"));
  });
});
