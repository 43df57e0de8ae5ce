import { describe, expect, it } from "vitest";
import { openTools } from "./site.ts";

const lines = (count: number): string => Array.from({ length: count }, (_, at) => `line ${at + 1}\n`).join("");

describe("multi_read", () => {
  it("gives files by their paths in order, each with a window of its own", async () => {
    const site = await openTools({ "b.txt": lines(20), "a.txt": lines(3), "empty.txt": "" });
    const { result, next_call } = await site.ok("multi_read", {
      files: [
        { path: "b.txt", start_line: 2, end_line: 3 },
        { path: "a.txt", tail: 1, line_numbers: false },
        { path: "empty.txt" },
      ],
    });
    expect(result).toBe('{"files":{"a.txt":"line 3\\n","b.txt":"2\\tline 2\\n3\\tline 3","empty.txt":""}}');
    expect(next_call).toBe(undefined);
  });

  it("one that cannot be read is told with its code, and the others are given", async () => {
    const site = await openTools({ "a.txt": "a\n", "pic.png": "\x89PNG\r\n\x1a\n", "x.bin": "a\0b", ".env": "S=1" });
    site.put("pic.png", Buffer.from("89504e470d0a1a0a", "hex"));
    const { result } = await site.ok("multi_read", {
      files: ["a.txt", "gone.txt", "pic.png", "x.bin", ".env", "."].map((path) => ({ path })),
    });
    const { files, errors } = JSON.parse(result);
    expect(files).toEqual({ "a.txt": "1\ta" });
    const codes = Object.entries(errors).map(([path, error]) => [path, (error as { error_code: string }).error_code]);
    expect(codes).toEqual([
      [".", "invalid_args"],
      [".env", "path_outside_sandbox"],
      ["gone.txt", "file_not_found"],
      ["pic.png", "binary_file"],
      ["x.bin", "binary_file"],
    ]);
    for (const error of Object.values(errors)) expect((error as { suggestion: string }).suggestion).not.toBe("");
  });

  it("is refused only when no file could be read", async () => {
    const site = await openTools();
    const answer = await site.call("multi_read", { files: [{ path: "x" }, { path: "y" }] });
    expect(answer).toMatchObject({ ok: false, error_code: "invalid_args" });
    expect(answer.error).toContain("nothing is at x");
    expect(answer.error).toContain("nothing is at y");
  });

  it("of a path named twice the last one counts", async () => {
    const site = await openTools({ "a.txt": lines(3_000) });
    const { result, next_call } = await site.ok("multi_read", { files: [{ path: "a.txt" }, { path: "a.txt", tail: 1 }] });
    expect(JSON.parse(result)).toEqual({ files: { "a.txt": "3000\tline 3000" } });
    expect(next_call).toBe(undefined);
  });

  it("a file that was cut goes on by a call of its own", async () => {
    const site = await openTools({ "a.txt": lines(2_001), "b.txt": "b" });
    const { result, next_call } = await site.ok("multi_read", { files: [{ path: "a.txt" }, { path: "b.txt" }] });
    const { next_calls, truncation } = JSON.parse(result);
    expect(next_calls).toEqual([next_call]);
    expect(truncation["a.txt"]).toMatchObject({ truncated: true, totalLines: 2_001, outputLines: 2_000 });
    expect((await site.ok(next_call?.tool ?? "", next_call?.arguments)).result).toBe("2001\tline 2001");
  });

  it("above 512 KiB the file that would pass it and those behind it are left to the next call", async () => {
    const files: { [path: string]: string } = {};
    for (let at = 10; at < 24; at += 1) files[`f${at}.txt`] = `${"x".repeat(50_000)}\n`;
    const site = await openTools(files);
    const seen: string[] = [];
    let args: object = { files: Object.keys(files).map((path) => ({ path, line_numbers: false })) };
    for (let call = 0; call < 2; call += 1) {
      const { result, next_call } = await site.ok("multi_read", args);
      const answer = JSON.parse(result);
      seen.push(...Object.keys(answer.files));
      if (call === 1) break;
      expect(answer.truncated_global).toBe(true);
      expect(answer.errors["f20.txt"].error_code).toBe("global_cap_exceeded");
      expect(next_call).toMatchObject({ tool: "multi_read" });
      args = next_call?.arguments;
    }
    expect(seen).toEqual(Object.keys(files));
  });

  it.each([
    [0, "/files"],
    [21, "/files"],
  ])("%i files are refused", async (count, at) => {
    const site = await openTools({ "a.txt": "a" });
    const files = Array.from({ length: count }, () => ({ path: "a.txt" }));
    expect(await site.call("multi_read", { files })).toMatchObject({ error_code: "invalid_args", facts: { field: `args${at}` } });
    if (count > 0) expect((await site.call("multi_read", { files: files.slice(1) })).ok).toBe(true);
  });
});
