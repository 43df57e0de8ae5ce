import { describe, expect, it } from "vitest";
import { openTools } from "./site.ts";

const numbered = (count: number): string[] => Array.from({ length: count }, (_, at) => `line ${at}\n`);

describe("diff_files", () => {
  it("is a unified diff that patch takes, and counts", async () => {
    const site = await openTools({ a: "1\n2\n3\n4\n5\n", b: "1\n2\nx\n4\n5\n" });
    const { result, meta } = await site.ok("diff_files", { path_a: "a", path_b: "b", context_lines: 1 });
    expect(result).toBe("--- a\n+++ b\n@@ -2,3 +2,3 @@\n 2\n-3\n+x\n 4\n");
    expect(meta).toEqual({ is_identical: false, first_changed_line: 3, added: 1, removed: 1 });
    const bare = await site.ok("diff_files", { path_a: "a", path_b: "b", context_lines: 0 });
    expect(bare.result).toBe("--- a\n+++ b\n@@ -3 +3 @@\n-3\n+x\n");
  });

  it("a missing final newline is a difference", async () => {
    const site = await openTools({ a: "x\n", b: "x" });
    const { result, meta } = await site.ok("diff_files", { path_a: "a", path_b: "b" });
    expect(result).toBe("--- a\n+++ b\n@@ -1 +1 @@\n-x\n+x\n\\ No newline at end of file\n");
    expect(meta).toMatchObject({ is_identical: false, first_changed_line: 1 });
  });

  it("line ends, blanks and an empty side are differences", async () => {
    const site = await openTools({ a: "x\n", crlf: "x\r\n", blank: "x \n", empty: "" });
    for (const path_b of ["crlf", "blank", "empty"]) {
      const { meta } = await site.ok("diff_files", { path_a: "a", path_b });
      expect(meta).toMatchObject({ is_identical: false, first_changed_line: 1 });
    }
  });

  it("identical files cost nothing, however long they are", async () => {
    const text = numbered(500_000).join("");
    const site = await openTools({ a: text, b: text });
    const from = performance.now();
    const { result, meta } = await site.ok("diff_files", { path_a: "a", path_b: "b" });
    expect([result, meta]).toEqual(["files are identical", { is_identical: true, first_changed_line: 0 }]);
    expect(performance.now() - from).toBeLessThan(3_000);
    expect((await site.ok("diff_files", { path_a: "a", path_b: "a" })).meta.is_identical).toBe(true);
  });

  it("40,000 lines with a change at each end are no limit", async () => {
    const lines = numbered(40_000);
    const site = await openTools({ a: lines.join(""), b: ["new\n", ...lines.slice(1, -1), "end\n"].join("") });
    expect((await site.ok("diff_files", { path_a: "a", path_b: "b" })).meta).toEqual({
      is_identical: false,
      first_changed_line: 1,
      added: 2,
      removed: 2,
    });
  });

  it.each([
    [50_000, true],
    [50_001, false],
  ])("%i lines on one side and 50,000 on the other: %s", async (count, fits) => {
    const site = await openTools({ a: "a\n".repeat(50_000), b: `b\n${"a\n".repeat(count - 1)}` });
    const answer = await site.call("diff_files", { path_a: "a", path_b: "b" });
    expect([answer.ok, answer.error_code]).toEqual([fits, fits ? "" : "resource_limit"]);
  });

  it("too large, binary, missing and directory have their codes; text that is not UTF-8 is said to be that", async () => {
    const site = await openTools({
      text: "a\n",
      large: "x".repeat(10 * 1024 * 1024 + 1),
      bin: "a\0",
      wide: Buffer.from("\ufeffa", "utf16le"),
      "d/x": "",
      latin: Buffer.from("caf\xe9\n", "latin1"),
    });
    for (const [path_b, code] of [
      ["large", "file_too_large"],
      ["bin", "binary_file"],
      ["wide", "binary_file"],
      ["gone", "file_not_found"],
      ["d", "invalid_args"],
    ]) {
      expect([path_b, (await site.call("diff_files", { path_a: "text", path_b })).error_code]).toEqual([path_b, code]);
    }
    expect((await site.ok("diff_files", { path_a: "text", path_b: "latin" })).meta.encoding).toBe("8-bit");
  });
});
