import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { truncateSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openTools, type ToolSite } from "./site.ts";

const stat = async (site: ToolSite, path: string) => JSON.parse((await site.ok("stat_file", { path })).result);

describe("stat_file", () => {
  it("tells size, time, lines, encoding, ends, mark and hash", async () => {
    const site = await openTools({ "src/a.ts": "one\ntwo\n" });
    utimesSync(join(site.root, "src/a.ts"), 1_700_000_000.25, 1_700_000_000.25);
    expect(await stat(site, "src/a.ts")).toEqual({
      path: "src/a.ts",
      type: "file",
      size: 8,
      modified: "2023-11-14T22:13:20.25Z",
      encoding: "utf-8",
      line_ending: "lf",
      bom: "none",
      sample_bytes: 8,
      sample_complete: true,
      sample_lines: 2,
      lines: 2,
      sha256: createHash("sha256").update("one\ntwo\n").digest("hex"),
      summary: "src/a.ts: file, 8 bytes, 2 lines, utf-8, line ending lf",
    });
  });

  it.each([
    ["", "none", 0],
    ["a", "none", 1],
    ["a\n", "lf", 1],
    ["a\r\nb", "crlf", 2],
    ["a\rb\r", "cr", 1],
    ["a\r\nb\n", "mixed", 2],
    ["a\nb\r", "mixed", 2],
    ["a\r\rb\n", "mixed", 1],
    ["\n\r\n", "mixed", 2],
  ])("line ends of %j are %s", async (text, ending, count) => {
    const site = await openTools({ f: text });
    expect(await stat(site, "f")).toMatchObject({ line_ending: ending, lines: count });
  });

  it.each([
    ["utf-8", "utf-8-bom", Buffer.from("\ufeffa\n")],
    ["utf-16-le", "utf-16-le", Buffer.from("\ufeffa\n", "utf16le")],
    ["utf-16-be", "utf-16-be", Buffer.from("\ufeffa\n", "utf16le").swap16()],
    ["8-bit", "none", Buffer.from("caf\xe9\n", "latin1")],
    ["binary", "none", Buffer.from("a\0b")],
  ])("encoding %s, mark %s", async (encoding, bom, bytes) => {
    const site = await openTools({ f: bytes });
    expect(await stat(site, "f")).toMatchObject({ encoding, bom });
  });

  it.each([8_190, 8_191, 8_192, 8_193])(
    "a character cut at the sample's edge is still UTF-8: %i bytes before it",
    async (before) => {
      const site = await openTools({ f: `${"a".repeat(before)}𝄞\n` });
      expect(await stat(site, "f")).toMatchObject({ encoding: "utf-8", sample_complete: true });
      // A file too large to be judged whole is judged by its beginning.
      const file = join(site.root, "large");
      writeFileSync(file, `${"a".repeat(before)}𝄞\n${"b\n".repeat(10_000)}`);
      truncateSync(file, 60 * 1024 * 1024);
      const large = await stat(site, "large");
      expect(large).toMatchObject({ encoding: "utf-8", sample_bytes: 8_192, sample_complete: false });
      expect(large.lines).toBe(undefined);
    },
  );

  it("two gibibytes that are not there are told in no time", async () => {
    const site = await openTools();
    writeFileSync(join(site.root, "sparse"), "");
    truncateSync(join(site.root, "sparse"), 2 ** 31);
    const from = performance.now();
    expect(await stat(site, "sparse")).toMatchObject({ size: 2 ** 31, encoding: "binary", sample_complete: false });
    expect(performance.now() - from).toBeLessThan(1_000);
  });

  it("directories, the root and special files are told for what they are", async () => {
    const site = await openTools({ "d/a": "a" });
    spawnSync("mkfifo", [join(site.root, "pipe")]);
    expect(await stat(site, "d")).toMatchObject({ path: "d", type: "directory" });
    expect(await stat(site, "d/")).toMatchObject({ path: "d", type: "directory" });
    expect(await stat(site, ".")).toMatchObject({ path: ".", type: "directory" });
    expect(await stat(site, "pipe")).toMatchObject({ type: "special" });
  });

  it("a missing or protected path has its code", async () => {
    const site = await openTools({ ".env": "S=1" });
    expect((await site.call("stat_file", { path: "gone" })).error_code).toBe("file_not_found");
    expect((await site.call("stat_file", { path: ".env" })).error_code).toBe("path_outside_sandbox");
  });
});
