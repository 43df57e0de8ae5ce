import { createHash } from "node:crypto";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/daemon/base/index.ts";
import { compileReplace } from "../../../src/daemon/tools/replace/replace-text.ts";
import { parseTemplate } from "../../../src/daemon/tools/replace/template.ts";
import { replaceInThread } from "../../../src/daemon/tools/replace/thread.ts";
import { openTools } from "./site.ts";

const sha = (text: string): string => createHash("sha256").update(text).digest("hex");
const latin = (text: string): Buffer => Buffer.from(text, "latin1");

describe("search_replace", () => {
  it("replaces in several files as one checkpoint, and says where", async () => {
    const site = await openTools({ "a.ts": "foo(1)\nbar\nfoo(2)\n", "d/b.ts": "foo(3)\n", "c.md": "foo(4)\n" });
    const done = await site.ok("search_replace", { pattern: "foo\\((\\d)\\)", replacement: "baz[$1]", files: ["a.ts", "d"] });
    expect(done.result).toBe("replaced 3 matches in 2 files\na.ts: 2 matches, lines 1-3\nd/b.ts: 1 match, line 1");
    expect([site.text("a.ts"), site.text("d/b.ts"), site.text("c.md")]).toEqual([
      "baz[1]\nbar\nbaz[2]\n",
      "baz[3]\n",
      "foo(4)\n",
    ]);
    expect(site.api.store.read.touched(done.checkpoint, 0, 9).count).toBe(2);
    expect(done.meta.files[0]).toMatchObject({
      path: "a.ts",
      matches: 2,
      replaced: 2,
      unchanged: false,
      firstLine: 1,
      lastLine: 3,
      before: sha("foo(1)\nbar\nfoo(2)\n"),
      sha256: sha("baz[1]\nbar\nbaz[2]\n"),
    });
  });

  it("globs mean the same everywhere, directories mean all below, and . works", async () => {
    const files = {
      "a.go": "x\n",
      "d/b.go": "x\n",
      "d/e/c.go": "x\n",
      "d/n.md": "x\n",
      "node_modules/m.go": "x\n",
      ".h/h.go": "x\n",
    };
    const site = await openTools(files, { engine: { import: true } });
    const touched = async (files: unknown, include?: string): Promise<string[]> => {
      const args = { pattern: "x", replacement: "y", files, dry_run: true, ...(include === undefined ? {} : { include }) };
      const { meta } = await site.ok("search_replace", args, { requestId: "" });
      return meta.files.map((one: { path: string }) => one.path);
    };
    expect(await touched(".")).toEqual(["a.go", "d/b.go", "d/e/c.go", "d/n.md"]);
    expect(await touched("./", "*.go")).toEqual(["a.go", "d/b.go", "d/e/c.go"]);
    expect(await touched("d/", "*.go")).toEqual(["d/b.go", "d/e/c.go"]);
    expect(await touched("d", "e/*.go")).toEqual(["d/e/c.go"]);
    expect(await touched("**/*.{go,md}", "[c-n].*")).toEqual(["d/e/c.go", "d/n.md"]);
    expect(await touched(["d/*.go", "d/b.go", "./d//b.go"])).toEqual(["d/b.go"]);
    expect(await touched("node_modules/m.go")).toEqual(["node_modules/m.go"]);
    const nothing = await site.call("search_replace", { pattern: "x", replacement: "y", files: "*.rs" });
    expect(nothing.error_code).toBe("file_not_found");
  });

  it("names with glob characters are files where there is such a file", async () => {
    const site = await openTools({ "a[1].ts": "x\n", "-n": "x\n" });
    await site.ok("search_replace", { pattern: "x", replacement: "y", files: ["a[1].ts", "-n"] });
    expect([site.text("a[1].ts"), site.text("-n")]).toEqual(["y\n", "y\n"]);
  });

  it("at most 50 files", async () => {
    const site = await openTools(Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`d/${n}.txt`, "x\n"])), {
      engine: { import: true },
    });
    const call = (args: object) => site.call("search_replace", { pattern: "x", replacement: "y", dry_run: true, ...args });
    expect((await call({ files: "d" })).error_code).toBe("resource_limit");
    expect((await call({ files: "d", include: "[0-4]*.txt" })).meta.files).toHaveLength(45);
    expect((await call({ files: Array.from({ length: 50 }, (_, n) => `d/${n}.txt`) })).meta.files).toHaveLength(50);
    expect((await call({ files: Array.from({ length: 51 }, (_, n) => `d/${n}.txt`) })).error_code).toBe("invalid_args");
    expect((await call({ files: [] })).error_code).toBe("invalid_args");
  });

  it("finds the files meant in a tree whose names fill more than one answer, and counts those that include leaves", async () => {
    const deep = `d/${"long-name-".repeat(20)}/${"long-name-".repeat(20)}`;
    const many = Object.fromEntries(Array.from({ length: 1500 }, (_, n) => [`${deep}/${n}.txt`, "x\n"]));
    const site = await openTools({ ...many, "z/last.ts": "x\n", "d/z.ts": "x\n" }, { engine: { import: true } });
    const call = (args: object) => site.call("search_replace", { pattern: "x", replacement: "y", dry_run: true, ...args });
    const paths = async (args: object) => (await call(args)).meta.files.map((one: { path: string }) => one.path);
    expect(await paths({ files: ".", include: "*.ts" })).toEqual(["d/z.ts", "z/last.ts"]);
    expect(await paths({ files: "d", include: "z.*" })).toEqual(["d/z.ts"]);
    expect(await paths({ files: "**/*.*", include: "z*" })).toEqual(["d/z.ts"]);
    expect((await call({ files: "." })).error_code).toBe("resource_limit");
    expect((await call({ files: "nowhere", include: "x".repeat(4_097) })).error_code).toBe("invalid_args");
  });

  it("groups by number and name, a dollar by two, unknown groups are nothing", async () => {
    const site = await openTools({ a: "key=value\n" });
    await site.ok("search_replace", { pattern: "(?P<k>\\w+)=(\\w+)", replacement: `$2:$k $$ \${k}s $9$kx|$`, files: "a" });
    expect(site.text("a")).toBe("value:key $ keys |$\n");
    expect(parseTemplate("a$1b")).toEqual([{ text: "a" }, { group: "1b" }]);
    expect(parseTemplate("$")).toEqual([{ text: "$" }]);
    expect(parseTemplate(`\${}`)).toEqual([{ text: `\${}` }]);
  });

  it("multiline is the default, case_insensitive is not", async () => {
    const site = await openTools({ a: "Foo\nfoo\n" });
    const dry = async (more: object): Promise<number> =>
      (await site.ok("search_replace", { pattern: "^foo$", replacement: "x", files: "a", dry_run: true, ...more })).meta.files[0]
        .matches;
    expect(await dry({})).toBe(1);
    expect(await dry({ case_insensitive: true })).toBe(2);
    expect(await dry({ multiline: false })).toBe(0);
  });

  it("empty matches as RE2's tools take them", async () => {
    const site = await openTools({ a: "baac", b: "😀é" });
    await site.ok("search_replace", { pattern: "a*", replacement: "x", files: "a" });
    expect(site.text("a")).toBe("xbxcx");
    await site.ok("search_replace", { pattern: "q*", replacement: "-", files: "b" });
    expect(site.text("b")).toBe("-😀-é-");
  });

  it("line ends, byte order mark and what groups matched keep their bytes", async () => {
    const site = await openTools({ a: "\ufeffone\r\ntwo\nthree\r\nfour", b: "x\r\ny\r\n", c: "größe größer\n" });
    await site.ok("search_replace", { pattern: "(?s)(one.*three)", replacement: "<$1>\nend", files: "a" });
    expect(site.text("a")).toBe("\ufeff<one\r\ntwo\nthree>\r\nend\r\nfour");
    await site.ok("search_replace", { pattern: "x\ny", replacement: "1\n2\n3", files: "b" });
    expect(site.text("b")).toBe("1\r\n2\r\n3\r\n");
    await site.ok("search_replace", { pattern: "ö(ß)e", replacement: "Ö$" + "{1}e", files: "c" });
    expect(site.text("c")).toBe("grÖße grÖßer\n");
  });

  it("what is not UTF-8 is changed without damage, or left and told", async () => {
    const site = await openTools({ l: latin("caf\xe9 x\n"), bin: Buffer.from("x\0"), ok: "x\n" });
    const done = await site.ok("search_replace", { pattern: "x", replacement: "y", files: ["l", "bin", "ok"] });
    expect(site.bytes("l")).toEqual(latin("caf\xe9 y\n"));
    expect(done.result).toMatch(/\nskipped bin: bin is not text$/);
    expect(done.meta.files[1]).toMatchObject({ path: "bin", errorCode: "binary_file" });
    const wide = { pattern: "y", replacement: "ü", files: "l" };
    expect((await site.call("search_replace", wide)).error_code).toBe("binary_file");
    expect((await site.call("search_replace", { ...wide, pattern: "é" })).error_code).toBe("binary_file");
    expect(site.bytes("l")).toEqual(latin("caf\xe9 y\n"));
  });

  it("a file that matches and cannot be changed refuses all of them; only what cannot be looked into is left out", async () => {
    const site = await openTools({
      a: "x\n",
      l: latin("x \xe9\n"),
      big: "x".repeat(100),
    });
    const refused = async (args: object) => (await site.call("search_replace", { pattern: "x", ...args })).error_code;
    expect(await refused({ replacement: "ü", files: ["a", "l"] })).toBe("binary_file");
    expect(await refused({ replacement: "y".repeat(1024 * 1024), files: ["a", "big"] })).toBe("file_too_large");
    expect([site.text("a"), site.bytes("l")]).toEqual(["x\n", latin("x \xe9\n")]);
  });

  it("what all files come to is bounded, as what one does", async () => {
    const job = { pattern: "x", replacement: "y".repeat(1024 * 1024), caseInsensitive: false, multiline: true };
    const replace = compileReplace(job);
    const bytes = Buffer.from("x".repeat(60));
    for (const path of ["a", "b", "c"]) expect(replace(bytes, path)().bytes.byteLength).toBe(60 * 1024 * 1024);
    expect(() => replace(bytes, "d")()).toThrow(expect.objectContaining({ reason: "RESOURCE_LIMIT" }));
  });

  it("a group that takes no part costs nothing, however far behind the beginning it is", async () => {
    // Beyond ASCII, so that places in the text are not places in the file.
    const bytes = Buffer.from(`é${"a\n".repeat(200_000)}`);
    const replace = compileReplace({ pattern: "(x)?a", replacement: "[$1]", caseInsensitive: false, multiline: true });
    const began = performance.now();
    expect(replace(bytes, "a")()).toMatchObject({ matches: 200_000, replaced: 200_000, lastLine: 200_000 });
    // Walking back for each of them takes minutes.
    expect(performance.now() - began).toBeLessThan(10_000);
  });

  it("few threads replace at a time; who waits may give up, and the others get their turn", async () => {
    const slow = {
      pattern: "(?s).*y|x",
      replacement: "z",
      caseInsensitive: false,
      multiline: true,
      files: [{ path: "a", bytes: Buffer.from("x".repeat(2_000_000)) }],
    };
    const quick = { ...slow, pattern: "x", files: [{ path: "a", bytes: Buffer.from("x") }] };
    const [first, second, third] = [new AbortController(), new AbortController(), new AbortController()];
    const ended: string[] = [];
    const told = (name: string, job: typeof slow, { signal }: AbortController): Promise<unknown> =>
      replaceInThread(job, systemClock, signal).then(
        () => ended.push(name),
        ({ reason }) => ended.push(`${name} ${reason}`),
      );
    const jobs = [
      told("first", slow, first),
      told("second", slow, second),
      told("third", quick, third),
      told("fourth", quick, new AbortController()),
    ];
    third.abort();
    await jobs[2];
    second.abort();
    await jobs[3];
    first.abort();
    await Promise.all(jobs);
    expect(ended).toEqual(["third CANCELLED", "second CANCELLED", "fourth", "first CANCELLED"]);
  });

  it("a checksum counts whatever its key is spelled like, and of another file it is refused", async () => {
    const site = await openTools({ "d/a": "x\n", b: "x\n" });
    symlinkSync("a", join(site.root, "d/link"));
    const call = (args: object) =>
      site.call("search_replace", { pattern: "x", replacement: "y", files: ["d/a", "gone"], ...args });
    for (const key of ["d/a", "./d//a", "d/link"])
      expect([key, (await call({ if_checksums: { [key]: sha("q") } })).error_code]).toEqual([key, "stale_file"]);
    expect((await call({ if_checksums: { gone: sha("q") } })).error_code).toBe("stale_file");
    for (const key of ["b", "a", "nowhere/a"])
      expect([key, (await call({ if_checksums: { [key]: sha("x\n") } })).error_code]).toEqual([key, "invalid_args"]);
    const both = { "d/a": sha("x\n"), "d/link": sha("q") };
    expect((await call({ if_checksums: both })).error_code).toBe("invalid_args");
    expect(site.text("d/a")).toBe("x\n");
    expect((await call({ if_checksums: { "d/link": sha("x\n").toUpperCase() } })).ok).toBe(true);
  });

  it("no match is no error and no checkpoint; all files failing is", async () => {
    const site = await openTools({ a: "x\n" });
    const none = await site.ok("search_replace", { pattern: "q", replacement: "", files: "a" });
    expect([none.result, none.checkpoint]).toEqual(["no matches found", ""]);
    expect((await site.ok("search_replace", { pattern: "x", replacement: "x", files: "a" })).result).toBe(
      "no changes: every match is its replacement already",
    );
    expect((await site.call("search_replace", { pattern: "x", replacement: "y", files: "gone" })).error_code).toBe(
      "file_not_found",
    );
    expect((await site.call("search_replace", { pattern: "x", replacement: "y", files: "../a" })).error_code).toBe(
      "invalid_args",
    );
    expect((await site.call("search_replace", { pattern: "x", replacement: "y", files: ".env" })).error_code).toBe(
      "path_outside_sandbox",
    );
  });

  it("patterns that are none are refused; look-around too", async () => {
    const site = await openTools({ a: "x\n" });
    for (const pattern of ["(", "a{2,1}", "(?=x)", "\\1", "[z-a]"]) {
      expect((await site.call("search_replace", { pattern, replacement: "", files: "a" })).error_code).toBe("invalid_regex");
    }
    expect((await site.call("search_replace", { pattern: "x".repeat(16_385), replacement: "", files: "a" })).error_code).toBe(
      "invalid_args",
    );
  });

  it("a stale file refuses all of them, with its text, and merges when that is asked", async () => {
    const site = await openTools({ a: "x\n2\n3\n4\n", b: "x\n" });
    await site.ok("edit_file", { path: "a", old_text: "4", new_text: "four" });
    const args = { pattern: "x", replacement: "y", files: ["a", "b"], if_checksums: { a: sha("x\n2\n3\n4\n") } };
    const refused = await site.call("search_replace", args);
    expect(refused).toMatchObject({
      error_code: "stale_file",
      facts: { paths: [{ path: "a", current_text: "x\n2\n3\nfour\n", merge: "clean" }] },
      next_call: { tool: "search_replace", arguments: { on_conflict: "merge" } },
    });
    expect(site.text("b")).toBe("x\n");
    await site.ok("search_replace", { ...args, on_conflict: "merge" });
    expect([site.text("a"), site.text("b")]).toEqual(["y\n2\n3\nfour\n", "y\n"]);
  });

  it("a dry run gives the diffs and changes nothing", async () => {
    const site = await openTools({ a: "x\n" });
    const dry = await site.ok("search_replace", { pattern: "x", replacement: "y", files: "a", dry_run: true }, { requestId: "" });
    expect(dry.result).toBe("diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n");
    expect(site.text("a")).toBe("x\n");
  });

  it("expressions that explode elsewhere do not here, and a file that would is refused", async () => {
    const site = await openTools({
      a: `${"a".repeat(50_000)}\n`,
      big: `${"x".repeat(10 * 1024 * 1024)}`,
      over: "x".repeat(10 * 1024 * 1024 + 1),
    });
    const began = performance.now();
    const done = await site.ok("search_replace", { pattern: "(a+)+$", replacement: "b", files: "a" });
    expect(done.meta.files[0]).toMatchObject({ matches: 1 });
    expect(performance.now() - began).toBeLessThan(10_000);
    const grown = await site.call("search_replace", { pattern: "x", replacement: "z".repeat(1_000), files: "big" });
    expect(grown.error_code).toBe("file_too_large");
    expect((await site.call("search_replace", { pattern: "x", replacement: "", files: "over" })).error_code).toBe(
      "file_too_large",
    );
  });

  it("matching ends at its time limit, and when the caller gives up", async () => {
    const job = {
      pattern: "(?s).*y|x",
      replacement: "z",
      caseInsensitive: false,
      multiline: true,
      files: [{ path: "a", bytes: Buffer.from("x".repeat(2_000_000)) }],
    };
    const never = new AbortController();
    await expect(replaceInThread(job, systemClock, never.signal, 500)).rejects.toMatchObject({ reason: "DEADLINE_EXCEEDED" });
    const giving = new AbortController();
    const running = replaceInThread(job, systemClock, giving.signal);
    giving.abort();
    await expect(running).rejects.toMatchObject({ reason: "CANCELLED" });
    await expect(replaceInThread(job, systemClock, giving.signal)).rejects.toMatchObject({ reason: "CANCELLED" });
  });
});
