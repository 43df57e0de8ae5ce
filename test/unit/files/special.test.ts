import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { nodeFs, noFailPoints, systemRandom } from "../../../src/daemon/base/index.ts";
import { openRoot } from "../../../src/daemon/workspace/files/index.ts";
import { atTeardown } from "../../helpers/teardown.ts";
import { tempDir } from "../../helpers/temp.ts";
import { refused, type Site, site, VARIANTS } from "./variants.ts";

const isRoot = process.getuid?.() === 0;

/** Runs a command that needs rights this machine may not give; the reason when it does not. */
function tryRun(command: string, ...args: string[]): string | undefined {
  try {
    execFileSync(command, args, { stdio: "pipe" });
    return undefined;
  } catch (error) {
    return `${command} was refused: ${String(error).split("\n")[0]}`;
  }
}

/** What every operation that wants a file says of something that is none; nothing may block or be opened. */
function isNoFile({ root }: Site, path: string, kind: string): void {
  const started = performance.now();
  expect(root.locate(path, true).stat?.kind).toBe(kind);
  expect(refused(() => root.readFile(path, 100), "NOT_A_FILE").facts).toEqual({ path, kind });
  refused(() => root.openFile(path), "NOT_A_FILE");
  refused(() => root.setMode(path, 0o777), "NOT_A_FILE");
  refused(() => root.takeAway(path), "NOT_A_FILE");
  refused(() => root.readFile(`${path}/x`, 100), kind === "directory" ? "PATH_NOT_FOUND" : "NOT_A_DIRECTORY");
  const staged = root.stage(path, Buffer.from("x"), 0o644);
  refused(() => root.place(staged, "replace"), "NOT_A_FILE");
  refused(() => root.place(staged, "create"), "NOT_A_FILE");
  root.discard(staged.temp);
  if (kind !== "directory") refused(() => root.list(path), "NOT_A_DIRECTORY");
  expect(performance.now() - started).toBeLessThan(500);
}

describe.each(VARIANTS)("special files ($name)", ({ options }) => {
  it("a FIFO is refused without waking a writer", async () => {
    const on = site(options);
    const fifo = join(on.dir, "fifo");
    execFileSync("mkfifo", [fifo]);
    isNoFile(on, "fifo", "special");
    // A writer that does not wait is told that nobody reads: so nobody did.
    expect(() => fs.openSync(fifo, fs.constants.O_WRONLY | fs.constants.O_NONBLOCK)).toThrow("ENXIO");
    await on.root.syncFile("fifo");
    expect(on.root.list("").entries.map((entry) => entry.stat.kind)).toEqual(["special"]);
  });

  it("a socket is refused and nobody connects", async () => {
    const on = site(options);
    const server = createServer();
    await new Promise<void>((done) => server.listen(join(on.dir, "socket"), done));
    atTeardown(() => new Promise<void>((done) => server.close(() => done())));
    isNoFile(on, "socket", "special");
  });

  it("a device is refused unopened", (ctx) => {
    const on = site(options);
    // Zeros without end: whoever read it would not come back.
    const failed = isRoot ? tryRun("mknod", join(on.dir, "zero"), "c", "1", "5") : "device nodes need root";
    if (failed !== undefined) return ctx.skip(failed);
    isNoFile(on, "zero", "special");
  });

  it("a directory where a file is expected, and a file where a directory is", () => {
    const on = site(options);
    fs.mkdirSync(join(on.dir, "d"));
    isNoFile(on, "d", "directory");
    fs.writeFileSync(join(on.dir, "f"), "x");
    refused(() => on.root.list("f"), "NOT_A_DIRECTORY");
    refused(() => on.root.readFile("f/x", 10), "NOT_A_DIRECTORY");
    refused(() => on.root.stage("f/x", new Uint8Array(0), 0o644), "NOT_A_DIRECTORY");
  });

  it("a sparse file of a terabyte is refused by its size", () => {
    const on = site(options);
    fs.writeFileSync(join(on.dir, "sparse"), "");
    fs.truncateSync(join(on.dir, "sparse"), 2 ** 40);
    refused(() => on.root.readFile("sparse", 2 ** 24), "TOO_LARGE");
  });

  it("another device mounted inside is listed by name and not entered", (ctx) => {
    const on = site(options);
    const far = join(on.outside, "mounted");
    const near = join(on.dir, "mount");
    for (const dir of [far, near]) fs.mkdirSync(dir);
    const failed = isRoot
      ? (tryRun("mount", "-t", "tmpfs", "gin-test", far) ?? tryRun("mount", "--bind", far, near))
      : "mounts need root";
    atTeardown(() => {
      for (const dir of [near, far]) tryRun("umount", "-l", dir);
    });
    if (failed !== undefined) return ctx.skip(failed);
    fs.writeFileSync(join(far, "f"), "outside");
    expect(on.root.list("").entries.map((entry) => entry.name)).toEqual(["mount"]);
    for (const act of [
      () => on.root.locate("mount", true),
      () => on.root.readFile("mount/f", 10),
      () => on.root.list("mount"),
      () => on.root.stage("mount/g", new Uint8Array(0), 0o644),
      () => on.root.makeParents("mount/a/b"),
      () => on.root.takeAway("mount/f"),
    ]) {
      refused(act, "PATH_OUTSIDE_WORKSPACE");
    }
    fs.writeFileSync(join(far, `.gin-tmp-${"0".repeat(32)}`), "x");
    expect(on.root.sweep()).toBe(0);
  });
});

describe("opening a root", () => {
  const ports = { fs: nodeFs, random: systemRandom, failPoints: noFailPoints };

  it("refuses what is no directory", () => {
    const dir = tempDir("files");
    fs.writeFileSync(join(dir, "f"), "x");
    for (const { options } of VARIANTS) {
      refused(() => openRoot(join(dir, "none"), ports, options), "WORKSPACE_MISSING_ROOT");
      refused(() => openRoot(join(dir, "f"), ports, options), "WORKSPACE_MISSING_ROOT");
      refused(() => openRoot(join(dir, "f/x"), ports, options), "WORKSPACE_MISSING_ROOT");
    }
  });

  it("follows symlinks to the root itself, which its owner named", () => {
    const { dir } = site();
    fs.writeFileSync(join(dir, "f"), "x");
    fs.symlinkSync(dir, `${dir}-link`);
    for (const { options } of VARIANTS) {
      const root = openRoot(`${dir}-link`, ports, options);
      root.check();
      expect(root.readFile("f", 10).bytes.toString()).toBe("x");
      root.close();
    }
    fs.unlinkSync(`${dir}-link`);
  });
});
