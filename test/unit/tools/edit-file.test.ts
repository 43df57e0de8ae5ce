import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { caller } from "../api/site.ts";
import { openTools } from "./site.ts";

const sha = (bytes: string | Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
const latin1 = (text: string): Buffer => Buffer.from(text, "latin1");

describe("edit_file replaces what matches exactly once", () => {
  it("says lines, diff and the new checksum, and makes a checkpoint of cause tool", async () => {
    const site = await openTools({ "src/a.ts": "one\ntwo\nthree\nfour\n" });
    const done = await site.ok("edit_file", { path: "src/a.ts", old_text: "two\nthree", new_text: "2" });
    expect(done.result).toBe("edited src/a.ts: lines 2-3 (2 lines) replaced with 1 line");
    expect(done.meta.edit).toEqual({
      diff: "diff --git a/src/a.ts b/src/a.ts\n--- a/src/a.ts\n+++ b/src/a.ts\n@@ -1,4 +1,3 @@\n one\n-two\n-three\n+2\n four\n",
      firstChangedLine: 2,
      lastChangedLine: 2,
      matchType: "exact",
      fuzzyNormalized: false,
    });
    expect(site.text("src/a.ts")).toBe("one\n2\nfour\n");
    expect(done.meta.sha256).toBe(sha("one\n2\nfour\n"));
    expect(site.api.store.read.checkpoint(done.checkpoint)).toMatchObject({ cause: "tool", principal: "owner" });
  });

  it("works without a checksum, and with the right one in any case", async () => {
    const site = await openTools({ a: "x\n" });
    await site.ok("edit_file", { path: "a", old_text: "x", new_text: "y", if_checksum: sha("x\n").toUpperCase() });
    await site.ok("edit_file", { path: "./a", old_text: "y", new_text: "z" });
    expect(site.text("a")).toBe("z\n");
  });

  it("$ in replacement text is literal", async () => {
    const site = await openTools({ a: "price\n" });
    await site.ok("edit_file", { path: "a", old_text: "price", new_text: "$& $1 $$ $` $<x>" });
    expect(site.text("a")).toBe("$& $1 $$ $` $<x>\n");
  });

  it("an ambiguous text names up to ten lines, overlapping places too", async () => {
    const site = await openTools({ a: "dup\n".repeat(12), b: "aaa\n", c: "dup\n".repeat(10) });
    const refused = await site.call("edit_file", { path: "a", old_text: "dup", new_text: "x" });
    expect(refused.error_code).toBe("edit_not_unique");
    expect(refused.error).toBe("old_text is in a 12 times: lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 ... and 2 more");
    expect((await site.call("edit_file", { path: "c", old_text: "dup", new_text: "x" })).error).toBe(
      "old_text is in c 10 times: lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10",
    );
    expect((await site.call("edit_file", { path: "b", old_text: "aa", new_text: "x" })).error_code).toBe("edit_not_unique");
  });

  it("an empty old text, a change that is none, a missing file and a directory are refused by their codes", async () => {
    const site = await openTools({ "d/a": "x\r\ny\r\n" });
    const code = async (args: object): Promise<string> => (await site.call("edit_file", args)).error_code;
    expect(await code({ path: "d/a", old_text: "", new_text: "y" })).toBe("old_text_empty");
    expect(await code({ path: "d/a", old_text: "x\ny", new_text: "x\r\ny" })).toBe("edit_no_change");
    expect(await code({ path: "nope", old_text: "x", new_text: "y" })).toBe("file_not_found");
    expect(await code({ path: "nope", old_text: "x", new_text: "y", if_checksum: sha("") })).toBe("stale_file");
    expect(await code({ path: "d", old_text: "x", new_text: "y" })).toBe("invalid_args");
    expect(await code({ path: "../a", old_text: "x", new_text: "y" })).toBe("invalid_args");
    expect(await code({ path: ".git/config", old_text: "x", new_text: "y" })).toBe("path_outside_sandbox");
    expect(await code({ path: "d/a", old_text: "x" })).toBe("invalid_args");
    expect(await code({ path: "d/a", old_text: "x", new_text: "y", on_conflict: "theirs" })).toBe("invalid_args");
    expect(site.text("d/a")).toBe("x\r\ny\r\n");
  });

  it("an empty file has nothing to be found in", async () => {
    const site = await openTools({ a: "" });
    const refused = await site.call("edit_file", { path: "a", old_text: "x", new_text: "y" });
    expect([refused.error_code, refused.error]).toEqual(["edit_not_found", "old_text is not in a"]);
  });

  it("needs a request id unless it is a dry run, and replays by it", async () => {
    const site = await openTools({ a: "x\n" });
    expect((await site.call("edit_file", { path: "a", old_text: "x", new_text: "y" }, { requestId: "" })).error_code).toBe(
      "request_id_required",
    );
    await site.ok("edit_file", { path: "a", old_text: "x", new_text: "y", dry_run: true }, { requestId: "" });
    const first = await site.ok("edit_file", { path: "a", old_text: "x", new_text: "xx" }, { requestId: "r" });
    const again = await site.ok("edit_file", { path: "a", old_text: "x", new_text: "xx" }, { requestId: "r" });
    expect(again).toMatchObject({ replayed: true, result: first.result, meta: first.meta });
    expect(site.text("a")).toBe("xx\n");
    expect((await site.call("edit_file", { path: "a", old_text: "x", new_text: "z" }, { requestId: "r" })).error_code).toBe(
      "request_id_reused",
    );
  });
});

describe("edit_file keeps every byte outside the match", () => {
  it("line endings: CRLF, lone CR, mixed, none at the end", async () => {
    const site = await openTools({
      crlf: "a\r\nb\r\nc\r\n",
      cr: "a\rb\rc",
      mixed: "a\r\nb\nc\rd",
      one: "only",
    });
    const edit = (path: string, old_text: string, new_text: string) => site.ok("edit_file", { path, old_text, new_text });
    await edit("crlf", "a\nb\n", "1\n2\n3\n");
    expect(site.text("crlf")).toBe("1\r\n2\r\n3\r\nc\r\n");
    await edit("cr", "b", "1\n2");
    expect(site.text("cr")).toBe("a\r1\r2\rc");
    await edit("mixed", "b\nc", "x\ny\nz");
    expect(site.text("mixed")).toBe("a\r\nx\ny\nz\rd");
    await edit("mixed", "d", "e\nf");
    expect(site.text("mixed")).toBe("a\r\nx\ny\nz\re\r\nf");
    await edit("one", "only", "1\r\n2");
    expect(site.text("one")).toBe("1\n2");
  });

  it("a byte order mark stays, form feed, U+2028 and a NUL far in are content", async () => {
    const far = `${"x".repeat(8_192)}\0tail\n`;
    const site = await openTools({
      bom: "\ufefffirst\r\nsecond",
      odd: "a\fb\u2028c\n",
      far,
      near: `${"x".repeat(8_191)}\0tail\n`,
    });
    await site.ok("edit_file", { path: "bom", old_text: "\ufefffirst", new_text: "1" });
    expect(site.text("bom")).toBe("\ufeff1\r\nsecond");
    await site.ok("edit_file", { path: "odd", old_text: "b\u2028c", new_text: "d" });
    expect(site.text("odd")).toBe("a\fd\n");
    await site.ok("edit_file", { path: "far", old_text: "tail", new_text: "end" });
    expect(site.bytes("far").subarray(8_192).toString("latin1")).toBe("\0end\n");
    expect((await site.call("edit_file", { path: "near", old_text: "tail", new_text: "end" })).error_code).toBe("binary_file");
  });

  it("files that are not UTF-8 are edited without damage, or refused: never U+FFFD", async () => {
    const site = await openTools({
      latin: latin1("caf\xe9 one\nna\xefve\n"),
      mixed: Buffer.concat([latin1("\xff\n"), Buffer.from("größe\n")]),
      wide: Buffer.from("hello", "utf16le"),
      // No NUL in it, and bytes of ASCII in its characters.
      han: Buffer.from("\ufeff\u6161\u4e00\u6161", "utf16le"),
      typo: latin1("\xff\nx\xc2\xa0y\n"),
    });
    await site.ok("edit_file", { path: "latin", old_text: "one", new_text: "two" });
    expect(site.bytes("latin")).toEqual(latin1("caf\xe9 two\nna\xefve\n"));
    const refused = await site.call("edit_file", { path: "latin", old_text: "two", new_text: "zwö" });
    expect([refused.error_code, site.bytes("latin").toString("latin1")]).toEqual(["binary_file", "caf\xe9 two\nna\xefve\n"]);
    await site.ok("edit_file", { path: "mixed", old_text: "größe", new_text: "länge" });
    expect(site.bytes("mixed")).toEqual(Buffer.concat([latin1("\xff\n"), Buffer.from("länge\n")]));
    expect((await site.call("edit_file", { path: "wide", old_text: "h", new_text: "j" })).error_code).toBe("binary_file");
    expect((await site.call("edit_file", { path: "han", old_text: "N", new_text: "M" })).error_code).toBe("binary_file");
    expect((await site.call("edit_file", { path: "typo", old_text: "x y", new_text: "z" })).error_code).toBe("edit_not_found");
    const dry = await site.ok("edit_file", { path: "latin", old_text: "two", new_text: "three", dry_run: true });
    expect(dry.meta.edit).toMatchObject({ diff: "", diffCut: "not_utf8" });
  });

  it("half of a surrogate pair has no bytes", async () => {
    const site = await openTools({ a: "x\n" });
    await expect(site.call("edit_file", { path: "a", old_text: "x", new_text: "\ud800" })).resolves.toMatchObject({ ok: false });
    expect(site.text("a")).toBe("x\n");
  });

  it("lines of 50 KiB, and a file above the old limit of 5 MiB", async () => {
    const long = `${"x".repeat(51_200)}END\n`;
    const site = await openTools({ long, large: `${"line of text\n".repeat(450_000)}last\n` });
    await site.ok("edit_file", { path: "long", old_text: "END", new_text: "end" });
    expect(site.text("long")).toBe(long.replace("END", "end"));
    await site.ok("edit_file", { path: "large", old_text: "last", new_text: "end" });
    expect(site.text("large").slice(-6)).toBe("t\nend\n");
  });
});

describe("fuzzy edits", () => {
  it("blanks at line ends and typography may differ; the match alone changes", async () => {
    const before = "keep \u201cthis\u201d  \nsay \u2018hi\u2019 \u2013 now\u00a0then \t \nend  \n";
    const site = await openTools({ a: before });
    const done = await site.ok("edit_file", { path: "a", old_text: "say 'hi' - now then\nend", new_text: "said\nfin" });
    expect(done.meta.edit).toMatchObject({ matchType: "fuzzy", fuzzyNormalized: true });
    expect(done.result).toBe("edited a: lines 2-3 (2 lines) replaced with 2 lines (fuzzy match)");
    expect(site.text("a")).toBe("keep \u201cthis\u201d  \nsaid\nfin  \n");
  });

  it("blanks behind the last line go only where the old text had some", async () => {
    const site = await openTools({ a: "one\t\ntwo\n" });
    await site.ok("edit_file", { path: "a", old_text: "one  ", new_text: "1" });
    expect(site.text("a")).toBe("1\ntwo\n");
  });

  it("several fuzzy candidates refuse", async () => {
    const site = await openTools({ a: "x \u2019\ny\nx \u2018\n" });
    const refused = await site.call("edit_file", { path: "a", old_text: "x '", new_text: "z" });
    expect(refused).toMatchObject({ error_code: "edit_not_unique", facts: { lines: [1, 3], matches: 2 } });
  });

  it("indentation and case are never loosened, and blanks alone match nothing", async () => {
    const site = await openTools({ a: "  foo\nbar\n" });
    const code = async (old_text: string): Promise<string> =>
      (await site.call("edit_file", { path: "a", old_text, new_text: "x" })).error_code;
    expect(await code("\tfoo")).toBe("edit_not_found");
    expect(await code("FOO")).toBe("edit_not_found");
    expect(await code("\t\t")).toBe("edit_not_found");
    expect(await code("\u00a0")).toBe("edit_not_found");
  });

  it("the near miss is shown as a diff", async () => {
    const site = await openTools({ a: "alpha\nfunction load(name) {\n  return name;\n}\n" });
    const refused = await site.call("edit_file", {
      path: "a",
      old_text: "function load(title) {\n  return name;\n}",
      new_text: "x",
    });
    expect(refused.error_code).toBe("edit_not_found");
    expect(refused.error).toBe("old_text is not in a; line 2 of 4 is most like it");
    expect(refused.facts.near).toBe("-function load(title) {\n+function load(name) {\n   return name;\n }");
  });

  it("fuzzy_indent gives the new lines the place's indentation", async () => {
    const site = await openTools({ a: "if x:\n    one()\n    two()\n", b: "a  b\n" });
    await site.ok("edit_file", {
      path: "a",
      old_text: "one()",
      new_text: "  for y:\n    z()\n   \n  done()",
      fuzzy_indent: true,
    });
    expect(site.text("a")).toBe("if x:\n    for y:\n      z()\n\n    done()\n    two()\n");
    await site.ok("edit_file", { path: "a", old_text: "    two()", new_text: "1()\n2()", fuzzy_indent: true });
    expect(site.text("a")).toBe("if x:\n    for y:\n      z()\n\n    done()\n    1()\n    2()\n");
    await site.ok("edit_file", { path: "b", old_text: "b", new_text: "  c\n  d", fuzzy_indent: true });
    expect(site.text("b")).toBe("a    c\n  d\n");
  });

  it("show_context marks the changed lines", async () => {
    const site = await openTools({ a: "1\n2\n3\n4\n5\n6\n7\n8\n9\n" });
    const done = await site.ok("edit_file", { path: "a", old_text: "5", new_text: "five\nfünf", show_context: 3 });
    expect(done.result.split("\n").slice(1)).toEqual(
      ["   2\t2", "   3\t3", "   4\t4", "*  5\tfive", "*  6\tfünf", "   7\t6", "   8\t7", "   9\t8"].map((line) =>
        line.replace(/^(.) {2}/, "$1 "),
      ),
    );
  });
});

describe("a dry run", () => {
  it("gives a diff that patch applies, and changes nothing", async () => {
    const before = "a\nb b\nc\n\nd";
    const site = await openTools({ "x y": before });
    const dry = await site.ok("edit_file", { path: "x y", old_text: "c\n\nd", new_text: "C\nd\ne", dry_run: true });
    expect([site.text("x y"), dry.checkpoint]).toEqual([before, ""]);
    const directory = mkdtempSync(join(tmpdir(), "gin-diff-"));
    writeFileSync(join(directory, "x y"), before);
    execFileSync("git", ["apply"], { cwd: directory, input: dry.result });
    expect(readFileSync(join(directory, "x y"), "utf8")).toBe("a\nb b\nC\nd\ne");
    expect(dry.meta.sha256).toBe(sha("a\nb b\nC\nd\ne"));
  });

  it("needs no right to save", async () => {
    const reader = caller("reader", { scopes: new Set(["read"]) as never });
    const site = await openTools({ a: "x\n" }, { callers: { reader } });
    await site.ok("edit_file", { path: "a", old_text: "x", new_text: "y", dry_run: true }, { as: "reader" });
    const answer = await site.call("edit_file", { path: "a", old_text: "x", new_text: "y" }, { as: "reader" }).catch(String);
    expect(JSON.stringify(answer)).toMatch(/scope_forbidden/i);
    expect(site.text("a")).toBe("x\n");
  });
});

describe("stale_file", () => {
  const first = "a\nb\nc\nd\ne\nf\n";
  const later = "a\nb\nc\nd\ne\nF\n";

  it("brings the current text, a merge result and the call that merges", async () => {
    const site = await openTools({ a: first });
    await site.ok("edit_file", { path: "a", old_text: "a\nb", new_text: "a\nb", dry_run: true }).catch(() => {});
    await site.ok("edit_file", { path: "a", old_text: "f", new_text: "F" });
    const args = { path: "a", old_text: "a\n", new_text: "A\n", if_checksum: sha(first) };
    const refused = await site.call("edit_file", args);
    expect(refused.error_code).toBe("stale_file");
    expect(refused.facts.paths).toEqual([
      expect.objectContaining({
        path: "a",
        current_sha256: sha(later),
        current_text: later,
        merge: "clean",
        merged_sha256: sha(later.replace("a", "A")),
        changed_by: "owner",
      }),
    ]);
    expect(refused.next_call).toEqual({ tool: "edit_file", arguments: { ...args, on_conflict: "merge" } });
    expect(site.text("a")).toBe(later);
    const merged = await site.ok(refused.next_call?.tool ?? "", refused.next_call?.arguments);
    expect(merged.result).toBe("edited a: line 1 (1 line) replaced with 1 line (merged with a later change)");
    expect(site.text("a")).toBe("A\nb\nc\nd\ne\nF\n");
    expect(merged.meta).toMatchObject({ merged: true, sha256: sha("A\nb\nc\nd\ne\nF\n") });
  });

  it("dry runs say the same, and show the merged diff", async () => {
    const site = await openTools({ a: first });
    await site.ok("edit_file", { path: "a", old_text: "f", new_text: "F" });
    const args = { path: "a", old_text: "a\n", new_text: "A\n", if_checksum: sha(first), dry_run: true };
    const refused = await site.call("edit_file", args);
    expect(refused).toMatchObject({ error_code: "stale_file", next_call: { arguments: { on_conflict: "merge" } } });
    const merged = await site.ok("edit_file", { ...args, on_conflict: "merge" });
    expect(merged.result).toMatch(/^@@ .*\n-a\n\+A\n b/m);
    expect(merged.meta.sha256).toBe(sha("A\nb\nc\nd\ne\nF\n"));
    const clash = { path: "a", old_text: "f", new_text: "ff", if_checksum: sha(first), dry_run: true, on_conflict: "merge" };
    expect((await site.call("edit_file", clash)).error_code).toBe("merge_conflict");
    expect((await site.call("edit_file", { ...clash, dry_run: false })).error_code).toBe("merge_conflict");
  });

  it("a checksum nobody kept, or that is none, still brings the text", async () => {
    const site = await openTools({ a: first });
    for (const if_checksum of [sha("other"), "deadbeef"]) {
      const refused = await site.call("edit_file", { path: "a", old_text: "a", new_text: "A", if_checksum });
      expect(refused).toMatchObject({
        error_code: "stale_file",
        facts: { paths: [{ current_text: first, merge: "base_unavailable" }] },
      });
    }
    expect(site.text("a")).toBe(first);
  });

  it("a text that is too long is not shown", async () => {
    const at = `${"x".repeat(24 * 1024 - 1)}\n`;
    const site = await openTools({ at, over: `x${at}` });
    const facts = async (path: string) =>
      (await site.call("edit_file", { path, old_text: "y", new_text: "z", if_checksum: sha("") })).facts.paths[0];
    expect((await facts("at")).current_text).toBe(at);
    expect(await facts("over")).toMatchObject({ cut: true });
    expect((await facts("over")).current_text).toBeUndefined();
  });

  it("an outside edit of the same size and time is seen", async () => {
    const site = await openTools({ a: "one\n" });
    await site.ok("edit_file", { path: "a", old_text: "one", new_text: "two" });
    site.put("a", "six\n");
    const refused = await site.call("edit_file", { path: "a", old_text: "two", new_text: "x", if_checksum: sha("two\n") });
    expect(refused).toMatchObject({ error_code: "stale_file", facts: { paths: [{ current_text: "six\n" }] } });
    expect(site.text("a")).toBe("six\n");
  });
});

describe("files too large to be held", () => {
  it("are refused before a byte is read, by every tool that edits", async () => {
    const site = await openTools();
    site.put("huge", "");
    truncateSync(join(site.root, "huge"), 2 * 1024 ** 3);
    const began = performance.now();
    const calls: readonly (readonly [string, object])[] = [
      ["edit_file", { path: "huge", old_text: "x", new_text: "y" }],
      ["multi_edit", { edits: [{ path: "huge", old_text: "x", new_text: "y" }] }],
      ["write_file", { path: "huge", content: "x", if_checksum: sha("") }],
      ["apply_patch", { patch: "*** Begin Patch\n*** Update File: huge\n-x\n+y\n*** End Patch" }],
      ["search_replace", { pattern: "x", replacement: "y", files: "huge" }],
    ];
    for (const [tool, args] of calls) {
      expect([tool, (await site.call(tool, args)).error_code]).toEqual([tool, "file_too_large"]);
    }
    expect(performance.now() - began).toBeLessThan(5_000);
  });
});
