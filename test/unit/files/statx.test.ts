import { execFileSync } from "node:child_process";
import { closeSync, mkdirSync, openSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { nodeFs } from "../../../src/daemon/base/index.ts";
import { toFileStat } from "../../../src/daemon/workspace/files/handles.ts";
import { loadStatx } from "../../../src/daemon/workspace/files/statx.ts";
import { tempDir } from "../../helpers/temp.ts";

test("statx by descriptor and name says what lstat says, of every kind of file", (ctx) => {
  const statx = loadStatx();
  if (statx === undefined) return ctx.skip("koffi or statx is missing here");
  const directory = tempDir("statx");
  const at = (name: string): string => join(directory, name);
  writeFileSync(at("file"), "text", { mode: 0o640 });
  writeFileSync(at("run"), "text", { mode: 0o755 });
  writeFileSync(at("sparse"), "");
  truncateSync(at("sparse"), 5 * 2 ** 30 + 1);
  writeFileSync(at("a\u00e9 \u{1f600}\n"), "odd name");
  writeFileSync(at("old"), "1969");
  utimesSync(at("old"), -86_400.25, -86_400.25);
  mkdirSync(at("directory"), { mode: 0o1777 });
  symlinkSync("nowhere/at/all", at("link"));
  execFileSync("mkfifo", [at("fifo")]);
  const fd = openSync(directory, "r");
  try {
    for (const name of ["file", "run", "sparse", "a\u00e9 \u{1f600}\n", "old", "directory", "link", "fifo", ".", ".."])
      expect(statx(fd, name), name).toEqual(toFileStat(nodeFs.lstatSync(at(name))));
    expect(statx(fd, "none")).toBeUndefined();
    expect(statx(fd, "file/below")).toBeUndefined();
  } finally {
    closeSync(fd);
  }
  const devices = openSync("/dev", "r");
  try {
    expect(statx(devices, "null")).toEqual(toFileStat(nodeFs.lstatSync("/dev/null")));
  } finally {
    closeSync(devices);
  }
});
