import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { caller } from "../api/site.ts";
import { type Envelope, openTools, type ToolSite } from "./site.ts";

const lines = (count: number, from = 1): string => Array.from({ length: count }, (_, at) => `line ${from + at}\n`).join("");
const sha = (text: string | Uint8Array): string => createHash("sha256").update(text).digest("hex");
const SCALE = Number(process.env.GIN_TEST_SCALE ?? 1);

/** Every page, each asked for exactly as the one before said. */
async function pages(site: ToolSite, args: object): Promise<Envelope[]> {
  const all: Envelope[] = [await site.ok("read_file", args)];
  for (let next = all[0]?.next_call; next !== undefined; next = all.at(-1)?.next_call) {
    all.push(await site.ok(next.tool, next.arguments));
    if (all.length > 500) throw new Error("the pages do not end");
  }
  return all;
}

describe("read_file", () => {
  it("numbers lines right-justified to the last one's width, then a tab", async () => {
    const site = await openTools({ "a.txt": lines(12) });
    const { result, meta, next_call } = await site.ok("read_file", { path: "a.txt", start_line: 9, end_line: 10 });
    expect(result).toBe(" 9\tline 9\n10\tline 10");
    expect([meta, next_call]).toEqual([undefined, undefined]);
    expect((await site.ok("read_file", { path: "./a.txt", start_line: 1, end_line: 2 })).result).toBe("1\tline 1\n2\tline 2");
  });

  it("an empty file is an empty result, and a start past the end names the count", async () => {
    const site = await openTools({ "empty.txt": "", "three.txt": lines(3) });
    expect(await site.ok("read_file", { path: "empty.txt" })).toMatchObject({ result: "", next_call: undefined });
    const past = await site.call("read_file", { path: "three.txt", start_line: 4 });
    expect(past).toMatchObject({ ok: false, error_code: "invalid_args" });
    expect(past.error).toContain("3 lines");
    expect((await site.call("read_file", { path: "empty.txt", start_line: 2 })).error_code).toBe("invalid_args");
  });

  it("an end before the start is as if it had not been given", async () => {
    const site = await openTools({ "a.txt": lines(5) });
    expect((await site.ok("read_file", { path: "a.txt", start_line: 4, end_line: 2 })).result).toBe("4\tline 4\n5\tline 5");
  });

  it.each([
    [1_999, false],
    [2_000, false],
    [2_001, true],
  ])("exactly 2,000 lines is not truncated: %i lines, truncated %s", async (count, truncated) => {
    const site = await openTools({ "a.txt": lines(count) });
    const answer = await site.ok("read_file", { path: "a.txt" });
    expect(answer.next_call !== undefined).toBe(truncated);
    expect(answer.meta?.truncation?.truncated ?? false).toBe(truncated);
    if (!truncated) return;
    expect(answer.next_call).toMatchObject({ tool: "read_file", arguments: { path: "a.txt", start_line: 2_001 } });
    expect(answer.meta.truncation).toMatchObject({ totalLines: 2_001, outputLines: 2_000, next_call: answer.next_call });
    expect(answer.meta.next_call).toEqual(answer.next_call);
    expect(answer.result.endsWith("\n[Showing lines 1-2000 of 2001. Use start_line=2001 to continue.]")).toBe(true);
    expect((await site.ok("read_file", answer.next_call?.arguments)).result).toBe("2001\tline 2001");
  });

  it("marker and next_call agree from the second page on", async () => {
    const site = await openTools({ "a.txt": lines(5_000) });
    const answer = await site.ok("read_file", { path: "a.txt", start_line: 2_001 });
    expect(answer.result).toContain("Use start_line=4001 to continue.");
    expect(answer.next_call?.arguments.start_line).toBe(4_001);
  });

  it("a page of a window ends where the window does", async () => {
    const site = await openTools({ "a.txt": lines(6_000) });
    const all = await pages(site, { path: "a.txt", start_line: 100, end_line: 4_300, line_numbers: false });
    expect(all).toHaveLength(3);
    expect(all.map((page) => page.result).join("")).toBe(lines(4_201, 100));
  });

  it("tail gives the last lines, 2,000 at most, and wins over start and end", async () => {
    const site = await openTools({ "a.txt": lines(5_000) });
    expect((await site.ok("read_file", { path: "a.txt", tail: 2, start_line: 1, end_line: 9 })).result).toBe(
      "4999\tline 4999\n5000\tline 5000",
    );
    const many = await site.ok("read_file", { path: "a.txt", tail: 3_000, line_numbers: false });
    expect(many.result).toBe(lines(2_000, 3_001));
    expect(many).toMatchObject({ next_call: undefined, meta: { truncation: { truncated: true, outputLines: 2_000 } } });
    const all = await site.ok("read_file", { path: "a.txt", tail: 9_999, line_numbers: false, truncate: "tail" });
    expect(all.result).toBe(lines(2_000, 3_001));
  });

  it("tail over 50 KiB keeps the end of the tail", async () => {
    const wide = Array.from({ length: 100 }, (_, at) => `${at} ${"x".repeat(1_000)}\n`);
    const site = await openTools({ "a.txt": wide.join("") });
    const { result, meta } = await site.ok("read_file", { path: "a.txt", tail: 100, line_numbers: false });
    expect(wide.join("").endsWith(result)).toBe(true);
    expect(result.length).toBeLessThanOrEqual(50 * 1024);
    expect(result.length).toBeGreaterThan(49 * 1024);
    expect(meta.truncation).toMatchObject({ truncated: true });
  });

  it("truncate=tail without a window is the last 2,000 lines, middle is both ends", async () => {
    const site = await openTools({ "a.txt": lines(5_000), "b.txt": lines(2_000) });
    expect((await site.ok("read_file", { path: "a.txt", truncate: "tail", line_numbers: false })).result).toBe(
      lines(2_000, 3_001),
    );
    const middle = await site.ok("read_file", { path: "a.txt", truncate: "middle", line_numbers: false });
    expect(middle.result).toBe(`${lines(500)}[... 4000 lines left out ...]\n${lines(500, 4_501)}`);
    expect(middle).toMatchObject({ next_call: undefined, meta: { truncation: { outputLines: 1_000 } } });
    expect((await site.ok("read_file", { path: "b.txt", truncate: "middle", line_numbers: false })).result).toBe(lines(2_000));
  });

  it("truncate=none has no line limit in a window that was named, and the byte limit holds", async () => {
    const site = await openTools({ "a.txt": "a\n".repeat(5_000) });
    const named = await site.ok("read_file", {
      path: "a.txt",
      truncate: "none",
      start_line: 1,
      end_line: 4_000,
      line_numbers: false,
    });
    expect(named.result).toBe("a\n".repeat(4_000));
    const open = await site.ok("read_file", { path: "a.txt", truncate: "none", line_numbers: false });
    expect(open.result).toBe("a\n".repeat(2_000));
    expect(open.next_call?.arguments.start_line).toBe(2_001);
  });

  it("truncate=smart ends at the end of a block, and is head where there are no braces", async () => {
    const block = `function f() {\n  const s = "}{{{"; // }}}\n${"  g();\n".repeat(7)}}\n`;
    const site = await openTools({ "a.ts": block.repeat(300), "a.md": lines(3_000), "open.ts": `{\n${"x\n".repeat(3_000)}` });
    const smart = await site.ok("read_file", { path: "a.ts", truncate: "smart", line_numbers: false });
    expect(smart.result).toBe(block.repeat(200));
    const shifted = await site.ok("read_file", {
      path: "a.ts",
      truncate: "smart",
      line_numbers: false,
      start_line: 11,
      end_line: 2_995,
    });
    expect(shifted.result.endsWith("}\n")).toBe(true);
    expect((await site.ok("read_file", { path: "a.md", truncate: "smart" })).next_call?.arguments.start_line).toBe(2_001);
    expect((await site.ok("read_file", { path: "open.ts", truncate: "smart" })).next_call?.arguments.start_line).toBe(2_001);
  });

  it("a line longer than the cap can be paged by byte, in the middle of a file too, and splits no character", async () => {
    const long = "ä€𝄞".repeat(20_000);
    const text = `first\n${long}\nlast\n`;
    const site = await openTools({ "a.txt": text });
    const all = await pages(site, { path: "a.txt", line_numbers: false });
    expect(all.map((page) => page.result).join("")).toBe(text);
    for (const page of all) {
      expect(Buffer.byteLength(page.result)).toBeLessThanOrEqual(50 * 1024);
      expect(page.result).not.toContain("\ufffd");
    }
    expect(all[0]).toMatchObject({ result: "first\n", next_call: { arguments: { start_line: 2 } } });
    const numbered = await pages(site, { path: "a.txt" });
    expect(numbered[1]?.result).toContain("next_call goes on from there");
    expect(numbered.at(-1)?.result).toContain("3\tlast");
  });

  it.each([51_197, 51_198, 51_199, 51_200, 51_201])("a line of %i bytes is there whole, over one page or two", async (length) => {
    const text = "x".repeat(length);
    const site = await openTools({ "a.txt": text });
    const raw = await pages(site, { path: "a.txt", line_numbers: false });
    expect(raw.map((page) => page.result).join("")).toBe(text);
    expect(raw).toHaveLength(length > 51_200 ? 2 : 1);
    // "1", a tab and the line's end count.
    expect(await pages(site, { path: "a.txt" })).toHaveLength(length > 51_197 ? 2 : 1);
  });

  it("text without numbers is the file's own, ends and all", async () => {
    const odd = "a\r\nb\rc\n\n\fd\u2028e\n\n";
    const site = await openTools({ "odd.txt": odd, "open.txt": "a\nb" });
    expect((await site.ok("read_file", { path: "odd.txt", line_numbers: false })).result).toBe(odd);
    expect((await site.ok("read_file", { path: "odd.txt" })).result).toBe("1\ta\n2\tb\rc\n3\t\n4\t\fd\u2028e\n5\t");
    expect((await site.ok("read_file", { path: "open.txt", line_numbers: false })).result).toBe("a\nb");
  });

  it("any text comes back page by page as it is", async () => {
    const site = await openTools();
    const seed = Date.now();
    console.info(`read_file pages: seed ${seed}`);
    const piece = fc.oneof(
      fc.string({ unit: "binary", maxLength: 40 }),
      fc.constantFrom("\n", "\r\n", "\r", "\n\n\n"),
      fc.nat(60_000).map((length) => "é".repeat(length)),
      fc.nat(900).map((count) => "z\n".repeat(count)),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 12 }), fc.constantFrom("head", "none", "smart"), async (pieces, truncate) => {
        const text = Buffer.from(pieces.join("")).toString();
        fc.pre(!Buffer.from(text).subarray(0, 8_192).includes(0) && !text.startsWith("\ufeff") && !/^(%PDF-|GIF8|BM)/.test(text));
        site.put("any.rs", text);
        const all = await pages(site, { path: "any.rs", truncate, line_numbers: false });
        expect(all.map((page) => page.result).join("")).toBe(text);
      }),
      { numRuns: Math.ceil(60 * SCALE), seed },
    );
  });

  it("a byte order mark is said and not glued to line 1", async () => {
    const site = await openTools({ "bom.txt": "\ufefffirst\n", "plain.txt": "first\n" });
    expect(await site.ok("read_file", { path: "bom.txt" })).toMatchObject({ result: "1\tfirst", meta: { bom: "utf-8-bom" } });
    expect((await site.ok("read_file", { path: "plain.txt" })).meta).toBe(undefined);
  });

  it("text that is not UTF-8 is shown and said to be that", async () => {
    const site = await openTools({ "latin.txt": Buffer.from("caf\xe9\n", "latin1") });
    expect(await site.ok("read_file", { path: "latin.txt" })).toMatchObject({
      result: "1\tcaf\ufffd",
      meta: { encoding: "8-bit" },
    });
  });

  it("the checksum is of the raw bytes, and an equal one leaves the text out, of images too", async () => {
    const png = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");
    const site = await openTools({ "a.txt": "\ufeffa\r\n", pic: png });
    const sum = sha("\ufeffa\r\n");
    expect((await site.ok("read_file", { path: "a.txt", include_checksum: true })).meta.sha256).toBe(sum);
    const same = await site.ok("read_file", { path: "a.txt", if_checksum: sum.toUpperCase() });
    expect(JSON.parse(same.result)).toEqual({ unchanged: true, path: "a.txt", checksum: sum });
    const other = await site.ok("read_file", { path: "a.txt", if_checksum: "0".repeat(64) });
    expect(other).toMatchObject({ result: "1\ta", meta: { sha256: sum } });
    const image = await site.ok("read_file", { path: "pic", if_checksum: sha(png) });
    expect([JSON.parse(image.result).unchanged, image.content]).toEqual([true, []]);
  });

  it("images are told by content, SVG by name, and come as blocks", async () => {
    const png = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");
    const site = await openTools({ "no-name": png, "a.svg": "<svg/>", "a.gif": "GIF89a\0", "w.bin": "RIFF1234WEBPVP8 " });
    expect(await site.ok("read_file", { path: "no-name" })).toMatchObject({
      result: "",
      content: [{ type: "image", data: png.toString("base64"), mime_type: "image/png" }],
    });
    expect((await site.ok("read_file", { path: "a.svg" })).content[0]?.mime_type).toBe("image/svg+xml");
    expect((await site.ok("read_file", { path: "a.gif" })).content[0]?.mime_type).toBe("image/gif");
    expect((await site.ok("read_file", { path: "w.bin" })).content[0]?.mime_type).toBe("image/webp");
  });

  it("a PDF is refused, a binary file is noted, with NUL looked for in the first 8,192 bytes", async () => {
    const at = (nul: number): string => `${"a".repeat(nul)}\0tail`;
    const site = await openTools({ "a.pdf": "x", b: "%PDF-1.7", "in.bin": at(8_191), "out.txt": at(8_192) });
    for (const path of ["a.pdf", "b"]) {
      expect(await site.call("read_file", { path })).toMatchObject({ ok: false, error_code: "binary_file" });
    }
    const binary = await site.ok("read_file", { path: "in.bin", include_checksum: true });
    expect(binary.result).toMatch(/^\[binary file: 8196 bytes/);
    expect(binary.meta.sha256).toBe(sha(at(8_191)));
    expect((await site.ok("read_file", { path: "out.txt", line_numbers: false })).result).toBe(at(8_192));
  });

  it("what is no regular file, missing, protected or outside has its code, and no message has an absolute path", async () => {
    const site = await openTools({ "d/a.txt": "a", ".env": "SECRET=1", ".git/config": "x" });
    symlinkSync("/etc/passwd", join(site.root, "out"));
    symlinkSync("d/a.txt", join(site.root, "in"));
    for (const [path, code] of [
      ["d", "invalid_args"],
      [".", "invalid_args"],
      ["nowhere.txt", "file_not_found"],
      ["../x", "invalid_args"],
      ["/etc/passwd", "invalid_args"],
      ["out", "path_outside_sandbox"],
      [".env", "path_outside_sandbox"],
      ["d/../.env", "invalid_args"],
      [".git/config", "path_outside_sandbox"],
    ]) {
      const answer = await site.call("read_file", { path });
      expect([path, answer.ok, answer.error_code]).toEqual([path, false, code]);
      expect(answer.error).not.toContain(site.root);
      expect(answer.suggestion).not.toBe("");
    }
    expect((await site.ok("read_file", { path: "in" })).result).toBe("1\ta");
  });

  it("a pipe is refused and not waited for", async () => {
    const site = await openTools();
    spawnSync("mkfifo", [join(site.root, "pipe")]);
    expect(await site.call("read_file", { path: "pipe" })).toMatchObject({ ok: false, error_code: "invalid_args" });
  });

  it("a caller that may see some paths only sees no other, by symlink, cursor or list either", async () => {
    const some = caller("some", { paths: ["open"] });
    const site = await openTools({ "open/a.txt": lines(3_000), "shut/b.txt": "b\n" }, { callers: { some } });
    symlinkSync("../shut/b.txt", join(site.root, "open/link"));
    expect((await site.ok("read_file", { path: "open/a.txt", tail: 1 }, { as: "some" })).ok).toBe(true);
    for (const [tool, args] of [
      ["read_file", { path: "shut/b.txt" }],
      ["read_file", { path: "open/link" }],
      ["stat_file", { path: "shut/b.txt" }],
      ["stat_file", { path: "shut/none" }],
      ["list_dir", { path: "shut" }],
      ["diff_files", { path_a: "open/a.txt", path_b: "shut/b.txt" }],
      ["multi_read", { files: [{ path: "shut/b.txt" }] }],
    ] as const) {
      const answer = await site.call(tool, args, { as: "some" });
      expect([tool, answer.ok, answer.result]).toEqual([tool, false, ""]);
      expect(answer.error).not.toContain("3 lines");
    }
    const first = await site.ok("read_file", { path: "open/a.txt" });
    // Another caller's cursor is none.
    expect((await site.call("read_file", first.next_call?.arguments, { as: "some" })).error_code).toBe("invalid_args");
  });

  it("a file above 50 MiB is refused before a byte of it is read", async () => {
    const site = await openTools();
    const file = join(site.root, "sparse.txt");
    writeFileSync(file, "a\n");
    truncateSync(file, 2 ** 31);
    const from = performance.now();
    const answer = await site.call("read_file", { path: "sparse.txt", tail: 3 });
    expect(answer).toMatchObject({ ok: false, error_code: "file_too_large" });
    expect(performance.now() - from).toBeLessThan(1_000);
    truncateSync(file, 50 * 1024 * 1024 + 1);
    expect((await site.call("read_file", { path: "sparse.txt" })).error_code).toBe("file_too_large");
  });

  it("a large file's last lines are read, and its pages go on", async () => {
    const site = await openTools({ "big.txt": lines(700_000) });
    expect((await site.ok("read_file", { path: "big.txt", tail: 1 })).result).toBe("700000\tline 700000");
    const page = await site.ok("read_file", { path: "big.txt", start_line: 690_000 });
    expect((await site.ok("read_file", page.next_call?.arguments)).result).toMatch(/^692000\tline 692000\n/);
  });

  it("a cursor goes on in the very bytes it began in, also when the file has changed since", async () => {
    const site = await openTools({ "a.txt": lines(3_000) });
    const first = await site.ok("read_file", { path: "a.txt", line_numbers: false });
    site.put("a.txt", `new\n${lines(3_000)}`);
    const second = await site.ok("read_file", first.next_call?.arguments);
    expect(first.result + second.result).toBe(lines(3_000));
  });

  it("a cursor that was altered, or is another file's, is refused", async () => {
    const site = await openTools({ "a.txt": lines(3_000), "b.txt": lines(3_000) });
    const next = (await site.ok("read_file", { path: "a.txt" })).next_call?.arguments;
    for (const cursor of [`${next.cursor}A`, next.cursor.slice(0, -4), "x"]) {
      expect((await site.call("read_file", { ...next, cursor })).error_code).toBe("invalid_args");
    }
    expect((await site.call("read_file", { ...next, path: "b.txt" })).error_code).toBe("invalid_args");
  });

  it("arguments of the wrong type, unknown ones and negative ones are refused by name", async () => {
    const site = await openTools({ "a.txt": "a" });
    for (const [args, at] of [
      [{}, "/path"],
      [{ path: 1 }, "/path"],
      [{ path: "" }, "/path"],
      [{ path: "a.txt", lines: 1 }, "/lines"],
      [{ path: "a.txt", start_line: "1" }, "/start_line"],
      [{ path: "a.txt", start_line: 1.5 }, "/start_line"],
      [{ path: "a.txt", tail: -1 }, "/tail"],
      [{ path: "a.txt", truncate: "all" }, "/truncate"],
      [{ path: "a.txt", line_numbers: "yes" }, "/line_numbers"],
    ] as const) {
      const answer = await site.call("read_file", args);
      expect(answer).toMatchObject({ ok: false, error_code: "invalid_args", facts: { field: `args${at}` } });
    }
  });
});
