import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { tempDir } from "../../helpers/temp.ts";
import { openTools, type ToolSite } from "./site.ts";

const sha = (text: string): string => createHash("sha256").update(text).digest("hex");
const patchOf = (...lines: string[]): string => ["*** Begin Patch", ...lines, "*** End Patch"].join("\n");
const update = (path: string, ...lines: string[]): string => patchOf(`*** Update File: ${path}`, ...lines);
/** Many lines as one. */
const many = (length: number, line: (n: number) => string): string => Array.from({ length }, (_, n) => line(n)).join("\n");

async function apply(site: ToolSite, patch: string, more: object = {}) {
  return site.ok("apply_patch", { patch, ...more });
}

async function refusal(site: ToolSite, patch: string, more: object = {}): Promise<[string, string]> {
  const { ok, error_code, error } = await site.call("apply_patch", { patch, ...more });
  expect(ok).toBe(false);
  return [error_code, error];
}

describe("apply_patch over files", () => {
  it("adds, updates, deletes and moves in one checkpoint", async () => {
    const site = await openTools({ "up.txt": "a\nb\nc\n", "del.txt": "bye\n", "old.txt": "1\n2\n" });
    chmodSync(join(site.root, "old.txt"), 0o755);
    const patch = patchOf(
      "*** Add File: new/one.txt",
      "+first",
      "+",
      "+third",
      "",
      "*** Update File: up.txt",
      "@@",
      " a",
      "-b",
      "+B",
      " c",
      "*** Delete File: del.txt",
      "*** Update File: old.txt",
      "*** Move to: moved/new.txt",
      "@@",
      "-2",
      "+two",
    );
    const done = await apply(site, patch);
    expect(done.result).toBe("applied the patch: 4 files\nA new/one.txt\nM up.txt\nD del.txt\nR old.txt -> moved/new.txt");
    expect([site.text("new/one.txt"), site.text("up.txt"), site.text("moved/new.txt")]).toEqual([
      "first\n\nthird\n",
      "a\nB\nc\n",
      "1\ntwo\n",
    ]);
    expect(statSync(join(site.root, "moved/new.txt")).mode & 0o777).toBe(0o755);
    expect([existsSync(join(site.root, "del.txt")), existsSync(join(site.root, "old.txt"))]).toEqual([false, false]);
    expect(
      site.api.store.read.touched(done.checkpoint, 0, 9).paths.find(({ path }) => path === "moved/new.txt")?.renamedFrom,
    ).toBe("old.txt");
    expect(done.meta.files.map((one: { op: string; sha256: string }) => [one.op, one.sha256])).toEqual([
      ["add", sha("first\n\nthird\n")],
      ["update", sha("a\nB\nc\n")],
      ["delete", undefined],
      ["move", sha("1\ntwo\n")],
    ]);
  });

  it("two sections for one file see each other; add, update and delete of one path come to what is left", async () => {
    const site = await openTools({ a: "1\n2\n3\n" });
    await apply(site, patchOf("*** Update File: a", "@@", "-1", "+one", "*** Update File: ./a", "@@", " one", "-2", "+two"));
    expect(site.text("a")).toBe("one\ntwo\n3\n");
    await apply(
      site,
      patchOf("*** Add File: b", "+x", "*** Update File: b", "@@", "-x", "+y", "*** Delete File: a", "*** Add File: a", "+A"),
    );
    expect([site.text("a"), site.text("b")]).toEqual(["A\n", "y\n"]);
    const nothing = patchOf("*** Add File: c", "+x", "*** Delete File: c");
    expect((await refusal(site, nothing))[0]).toBe("edit_no_change");
  });

  it("moves in a chain, onto a name the patch frees, and around", async () => {
    const site = await openTools({ a: "a\n", b: "b\n", c: "c\n" });
    await apply(site, patchOf("*** Update File: a", "*** Move to: t", "*** Update File: t", "*** Move to: u"));
    expect(site.text("u")).toBe("a\n");
    await apply(site, patchOf("*** Delete File: b", "*** Update File: u", "*** Move to: b"));
    expect([site.text("b"), existsSync(join(site.root, "u"))]).toEqual(["a\n", false]);
    await apply(
      site,
      patchOf(
        "*** Update File: b",
        "*** Move to: t",
        "*** Update File: c",
        "*** Move to: b",
        "*** Update File: t",
        "*** Move to: c",
      ),
    );
    expect([site.text("b"), site.text("c"), existsSync(join(site.root, "t"))]).toEqual(["c\n", "a\n", false]);
    expect(await refusal(site, update("b", "*** Move to: c"))).toEqual(["stale_file", "c is there already"]);
    expect((await refusal(site, update("b", "*** Move to: b")))[0]).toBe("stale_file");
  });

  it("what fails in the last section leaves everything", async () => {
    const site = await openTools({ a: "1\n" });
    const patch = patchOf("*** Add File: n", "+x", "*** Update File: a", "@@", "-1", "+2", "*** Delete File: gone");
    expect(await refusal(site, patch)).toEqual(["file_not_found", "nothing is at gone"]);
    expect([site.text("a"), existsSync(join(site.root, "n"))]).toEqual(["1\n", false]);
  });

  it("a file that is there is not added over, nor when another made it meanwhile", async () => {
    const site = await openTools({ a: "1\n" });
    expect(await refusal(site, patchOf("*** Add File: a", "+x"))).toEqual(["stale_file", "a is there already"]);
    expect((await refusal(site, patchOf("*** Add File: a", "+x"), { dry_run: true }))[0]).toBe("stale_file");
    const both = await Promise.all(
      ["x", "y"].map((text) => site.call("apply_patch", { patch: patchOf("*** Add File: n", `+${text}`), if_absent: true })),
    );
    expect(both.map((one) => one.ok).sort()).toEqual([false, true]);
  });

  it("a link is not deleted or moved in place of what it leads to, and names outside are refused", async () => {
    const site = await openTools({ "d/a": "1\n" });
    symlinkSync("d/a", join(site.root, "link"));
    symlinkSync("d", join(site.root, "dir"));
    symlinkSync("/etc", join(site.root, "out"));
    expect((await refusal(site, patchOf("*** Delete File: link")))[0]).toBe("invalid_args");
    expect((await refusal(site, patchOf("*** Add File: out/x", "+1")))[0]).toBe("path_outside_sandbox");
    expect((await refusal(site, patchOf("*** Add File: .git/hooks/x", "+1")))[0]).toBe("path_outside_sandbox");
    expect((await refusal(site, patchOf("*** Delete File: d")))[0]).toBe("invalid_args");
    await apply(site, patchOf("*** Delete File: dir/a"));
    expect(existsSync(join(site.root, "d/a"))).toBe(false);
  });
});

describe("apply_patch places changes", () => {
  it("context lines keep their own spelling, however the patch spells them", async () => {
    const before = "\tif x:  \n\t\tsay(\u201chi\u201d)\n\t\tend\u00a0\n";
    const site = await openTools({ a: before });
    const done = await apply(site, update("a", "@@", " if x:", ' say("hi")', "-end", "+fin"));
    expect(site.text("a")).toBe("\tif x:  \n\t\tsay(\u201chi\u201d)\nfin\n");
    expect(done.meta.files[0]).toMatchObject({ matchType: "fuzzy", fuzzyLines: [3] });
  });

  it("a fuzzy hunk must be unique; an exact one takes the first place from where the last ended", async () => {
    const site = await openTools({ fuzzy: "  x\ny\n x\n", exact: "x\ny\nx\n" });
    const [code, message] = await refusal(site, update("fuzzy", "@@", "-x", "+z"));
    expect(code).toBe("edit_not_unique");
    expect(message).toBe("the change at line 3 of the patch fits fuzzy only loosely, and more than once: lines 1, 3");
    await apply(site, update("exact", "@@", "-x", "+1", "@@", "-x", "+2"));
    expect(site.text("exact")).toBe("1\ny\n2\n");
  });

  it("@@ names the line that leads there; it may be repeated, and nested", async () => {
    const text = "class A\n  def f\n    return\nclass B\n  def f\n    return\n";
    const site = await openTools({ a: text, b: text, c: text });
    await apply(site, update("a", "@@ class B", "-    return", "+    pass"));
    expect(site.text("a")).toBe(text.replace(/return\n$/, "pass\n"));
    await apply(site, update("b", "@@ class B", " class B", "-  def f", "+  def g"));
    expect(site.text("b")).toBe("class A\n  def f\n    return\nclass B\n  def g\n    return\n");
    await apply(site, update("c", "@@ class B", "@@   def f", "-    return", "+    1"));
    expect(site.text("c")).toBe(text.replace(/return\n$/, "1\n"));
    expect((await refusal(site, update("a", "@@ class C", "-    return", "+    1")))[0]).toBe("edit_not_found");
  });

  it("lines to be put in go behind the line that is named, else to the end", async () => {
    const site = await openTools({ a: "1\n2\n" });
    await apply(site, update("a", "@@ 1", "+1.5"));
    expect(site.text("a")).toBe("1\n1.5\n2\n");
    await apply(site, update("a", "@@", "+3"));
    await apply(site, update("a", "@@ 1", "+4", "*** End of File"));
    expect(site.text("a")).toBe("1\n1.5\n2\n3\n4\n");
  });

  it("*** End of File means the end", async () => {
    const site = await openTools({ a: "x\ny\nx\n" });
    await apply(site, update("a", "@@", "-x", "+z", "*** End of File"));
    expect(site.text("a")).toBe("x\ny\nz\n");
    expect((await refusal(site, update("a", "@@", "-y", "+w", "*** End of File")))[0]).toBe("edit_not_found");
  });

  it("empty lines between sections are no context where the file has none", async () => {
    const site = await openTools({ a: "1\n2\n", b: "1\n\n2\n" });
    await apply(
      site,
      patchOf("*** Update File: a", "@@", "-2", "+two", "", "", "*** Update File: b", "@@", " 1", "", "-2", "+two", ""),
    );
    expect([site.text("a"), site.text("b")]).toEqual(["1\ntwo\n", "1\n\ntwo\n"]);
    await apply(site, update("a", "@@", " 1", "-two", "+2", " "));
    expect(site.text("a")).toBe("1\n2\n");
  });

  it("the first change may come without @@, a later one may not", async () => {
    const site = await openTools({ a: "1\n2\n" });
    await apply(site, update("a", "-1", "+one"));
    expect(site.text("a")).toBe("one\n2\n");
    const patch = update("a", "@@", "-one", "+1", "*** End of File", "-2", "+two");
    expect(await refusal(site, patch)).toEqual(["patch_invalid", "line 7 of the patch begins a change without @@"]);
  });

  it("what is nowhere is shown beside what is most like it", async () => {
    const site = await openTools({ a: "alpha\nbravo charlie\n" });
    const refused = await site.call("apply_patch", { patch: update("a", "@@", "-bravo charly", "+x") });
    expect(refused).toMatchObject({ error_code: "edit_not_found", facts: { line: 3, near: "-bravo charly\n+bravo charlie" } });
    expect(refused.error).toBe(
      "the change at line 3 of the patch: its lines cannot be found in a; line 2 of 2 is most like them",
    );
  });

  it("a change that leaves the file as it is is refused", async () => {
    const site = await openTools({ a: "1\n2\n" });
    expect(await refusal(site, update("a", "@@", " 1", "-2", "+2"))).toEqual([
      "edit_no_change",
      "the section at line 2 of the patch leaves a as it is",
    ]);
  });
});

describe("apply_patch keeps bytes", () => {
  it("CRLF, lone CR and mixed ends: new lines take those about them", async () => {
    const site = await openTools({ crlf: "1\r\n2\r\n3\r\n", cr: "1\r2\r3", mixed: "1\r\n2\n3\r\n" });
    await apply(site, update("crlf", "@@", " 1", "-2", "+two", "+2.5"));
    expect(site.text("crlf")).toBe("1\r\ntwo\r\n2.5\r\n3\r\n");
    await apply(site, update("cr", "@@", "-2", "+two", "+2.5"));
    expect(site.text("cr")).toBe("1\rtwo\r2.5\r3");
    await apply(site, update("mixed", "@@", "-2", "+two", "@@", "+4"));
    expect(site.text("mixed")).toBe("1\r\ntwo\n3\r\n4\r\n");
    const crlfPatch = update("crlf", "@@", "-3", "+three").replaceAll("\n", "\r\n");
    await apply(site, crlfPatch);
    expect(site.text("crlf")).toBe("1\r\ntwo\r\n2.5\r\nthree\r\n");
  });

  it("a last line without an end is not glued to what comes behind it, and the file still ends without one", async () => {
    const site = await openTools({ lf: "1\n2", crlf: "1\r\n2", last: "1\n2", gone: "1\n2", one: "1", empty: "" });
    await apply(site, update("lf", "@@", "+3"));
    expect(site.text("lf")).toBe("1\n2\n3");
    await apply(site, update("crlf", "@@", " 2", "+3"));
    expect(site.text("crlf")).toBe("1\r\n2\r\n3");
    await apply(site, update("last", "@@", "-2", "+two"));
    expect(site.text("last")).toBe("1\ntwo");
    await apply(site, update("gone", "@@", "-2"));
    expect(site.text("gone")).toBe("1\n");
    await apply(site, update("one", "@@", "+0", " 1"));
    expect(site.text("one")).toBe("0\n1");
    await apply(site, update("empty", "@@", "+1"));
    expect(site.text("empty")).toBe("1\n");
  });

  it("byte order mark, form feed, U+2028 and bytes that are no UTF-8 stay", async () => {
    const latin = (text: string): Buffer => Buffer.from(text, "latin1");
    const site = await openTools({
      bom: "\ufeff1\n2\n",
      odd: "a\fb\nx\u2028y\nz\n",
      latin: latin("caf\xe9\nx\n"),
      nul: "a\0b\n",
    });
    await apply(site, update("bom", "@@", "-1", "+one"));
    expect(site.text("bom")).toBe("\ufeffone\n2\n");
    await apply(site, update("odd", "@@", " x\u2028y", "-z", "+Z"));
    expect(site.text("odd")).toBe("a\fb\nx\u2028y\nZ\n");
    await apply(site, update("latin", "@@", "-x", "+y"));
    expect(site.bytes("latin")).toEqual(latin("caf\xe9\ny\n"));
    expect((await refusal(site, update("latin", "@@", "-y", "+ü")))[0]).toBe("binary_file");
    expect((await refusal(site, update("nul", "@@", "-a", "+b")))[0]).toBe("binary_file");
  });
});

describe("apply_patch preconditions", () => {
  it("a patch, or a file it changes, of very many lines is refused before it is taken apart", async () => {
    const site = await openTools({ at: "\n".repeat(1_000_000), over: "\r\n".repeat(1_000_001) });
    const end = (path: string): string => update(path, "@@", "+x", "*** End of File");
    expect(await refusal(site, end("over"))).toEqual(["resource_limit", "over has more than 1000000 lines"]);
    await apply(site, end("at"));
    expect(site.bytes("at").length).toBe(1_000_002);
    expect((await refusal(site, `${end("at")}${"\n".repeat(3_000_001)}`))[1]).toBe("the patch has more than 3000000 lines");
  });

  it("if_checksums are optional, judged against the file, and must name what the patch touches", async () => {
    const site = await openTools({ a: "1\n2\n3\n" });
    const patch = update("./a", "@@", "-1", "+one");
    expect(await refusal(site, patch, { if_checksums: { b: sha("") } })).toEqual([
      "invalid_args",
      "args/if_checksums: names a path that the patch neither updates nor deletes",
    ]);
    expect((await refusal(site, patch, { if_checksums: { a: sha("q") } }))[0]).toBe("stale_file");
    symlinkSync("a", join(site.root, "link"));
    expect((await refusal(site, patch, { if_checksums: { link: sha("q") } }))[0]).toBe("stale_file");
    // Whichever of two sections opens the file, and whatever name it has there.
    const both = patchOf("*** Update File: link", "@@", "-1", "+one", "*** Update File: a", "@@", "-2", "+two");
    expect((await refusal(site, both, { if_checksums: { a: sha("q") } }))[0]).toBe("stale_file");
    await apply(site, patch, { if_checksums: { "./a": sha("1\n2\n3\n").toUpperCase() } });
    expect(site.text("a")).toBe("one\n2\n3\n");
  });

  it("a stale file brings its text and the merge, and a deletion of one is refused", async () => {
    const site = await openTools({ a: "1\n2\n3\n4\n" });
    await site.ok("edit_file", { path: "a", old_text: "4", new_text: "four" });
    const args = { patch: update("a", "@@", "-1", "+one"), if_checksums: { a: sha("1\n2\n3\n4\n") } };
    const refused = await site.call("apply_patch", args);
    expect(refused).toMatchObject({
      error_code: "stale_file",
      facts: { paths: [{ current_text: "1\n2\n3\nfour\n", merge: "clean" }] },
      next_call: { tool: "apply_patch", arguments: { ...args, on_conflict: "merge" } },
    });
    const dry = await site.ok("apply_patch", { ...args, on_conflict: "merge", dry_run: true });
    expect(dry.meta.files[0].sha256).toBe(sha("one\n2\n3\nfour\n"));
    const removal = { patch: patchOf("*** Delete File: a"), if_checksums: args.if_checksums };
    expect((await site.call("apply_patch", removal)).error_code).toBe("stale_file");
    const merged = await apply(site, args.patch, { if_checksums: args.if_checksums, on_conflict: "merge" });
    expect(merged.result).toBe("applied the patch: 1 file\nM a (merged with a later change)");
    expect(site.text("a")).toBe("one\n2\n3\nfour\n");
  });

  it("a dry run prints one diff of everything and changes nothing", async () => {
    const site = await openTools({ a: "1\n", b: "2\n", c: "3\n" });
    const patch = patchOf(
      "*** Update File: a",
      "@@",
      "-1",
      "+one",
      "*** Delete File: b",
      "*** Add File: n",
      "+x",
      "*** Update File: c",
      "*** Move to: d",
    );
    const dry = await site.call("apply_patch", { patch, dry_run: true }, { requestId: "" });
    expect(dry.result).toContain("-1\n+one\n");
    expect(dry.result).toContain("deleted file mode 100644\n--- a/b\n+++ /dev/null\n@@ -1 +0,0 @@\n-2\n");
    expect(dry.result).toContain("similarity index 100%\nrename from c\nrename to d\n");
    expect([site.text("a"), site.text("b"), site.text("c"), existsSync(join(site.root, "n"))]).toEqual([
      "1\n",
      "2\n",
      "3\n",
      false,
    ]);
  });

  it("the diff of a dry run is what git apply takes, and comes to the same", async () => {
    const files = { "a b": "1\n2\n3", "d/old": "x\ny\nz\n", gone: "bye\n" };
    const site = await openTools(files);
    const patch = patchOf(
      "*** Update File: a b",
      "@@",
      "-3",
      "+three",
      "+4",
      "*** Update File: d/old",
      "*** Move to: d/new",
      "@@",
      "-y",
      "+Y",
      "*** Delete File: gone",
      "*** Add File: e/made",
      "+m",
    );
    const { result } = await site.ok("apply_patch", { patch, dry_run: true });
    expect(result).toContain("similarity index 66%\n");
    const other = tempDir("git-apply");
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(other, path)), { recursive: true });
      writeFileSync(join(other, path), content);
    }
    execFileSync("git", ["apply"], { cwd: other, input: result });
    await apply(site, patch);
    for (const path of ["a b", "d/new", "e/made"]) expect(readFileSync(join(other, path), "utf8")).toBe(site.text(path));
    for (const path of ["d/old", "gone"]) {
      expect([existsSync(join(other, path)), existsSync(join(site.root, path))]).toEqual([false, false]);
    }
  });
});

describe("patches that cannot be read are told by their line", () => {
  const bad: readonly (readonly [string, string, number])[] = [
    ["nothing", " ", 1],
    ["no beginning", "*** Update File: a\n-1\n+2\n*** End Patch", 1],
    ["no end", "*** Begin Patch\n*** Update File: a\n-1\n+2", 4],
    ["only a frame", "*** Begin Patch\n*** End Patch", 2],
    ["only a beginning", "*** Begin Patch", 1],
    ["text before a section", patchOf("hello", "*** Delete File: a"), 2],
    ["no path", patchOf("*** Delete File: "), 2],
    ["a path of bytes that are none", patchOf("*** Move to: a"), 2],
    ["an update of nothing", patchOf("*** Update File: a"), 2],
    ["an update of nothing before another", patchOf("*** Update File: a", "*** Delete File: b"), 2],
    ["a change of nothing", update("a", "@@"), 3],
    ["a place and no change", update("a", "@@ x", "*** Delete File: b"), 3],
    ["a line of an add without +", patchOf("*** Add File: a", "+1", "2"), 4],
    ["a gap within an add", patchOf("*** Add File: a", "+1", "", "+2"), 5],
    ["a line of git's", update("a", "@@", "-1", "\\ No newline at end of file"), 5],
    ["a line without a mark", update("a", "@@", "-1", "x"), 5],
    ["a header of git's", update("a", "diff --git a/a b/a"), 3],
    ["a section that is none", patchOf("*** Rename File: a"), 2],
  ];
  it.each(bad)("%s", async (_, patch, line) => {
    const site = await openTools({ a: "1\n" });
    const refused = await site.call("apply_patch", { patch });
    expect([refused.error_code, refused.facts.line]).toEqual(["patch_invalid", line]);
    expect(site.text("a")).toBe("1\n");
  });

  it("huge ones end soon, whatever is wrong with them", async () => {
    const site = await openTools({ same: "x\n".repeat(100_000), a: "1\n" });
    const huge: readonly (readonly [string, string])[] = [
      [`${"*** Begin Patch\n".repeat(150_000)}`, "patch_invalid"],
      [`*** Begin Patch\n${"\n".repeat(2_000_000)}*** End Patch`, "patch_invalid"],
      [
        update(
          "a",
          many(300_000, () => "@@"),
        ),
        "patch_invalid",
      ],
      [
        update(
          "a",
          "@@",
          many(300_000, () => " 1"),
          "+2",
        ),
        "edit_not_found",
      ],
      // A run of equal lines within a run of equal lines, the worst case of a plain search.
      [
        update(
          "same",
          "@@",
          many(50_000, () => " x"),
          "-y",
        ),
        "edit_not_found",
      ],
      [
        update(
          "same",
          many(40_000, () => "@@\n- x\n+y"),
        ),
        "edit_not_unique",
      ],
      [update("same", "@@", `-${"x".repeat(3_000_000)}`), "edit_not_found"],
      [patchOf(many(60_000, (n) => `*** Delete File: gone${n}`)), "file_not_found"],
    ];
    for (const [patch, code] of huge) {
      const began = performance.now();
      expect((await refusal(site, patch))[0]).toBe(code);
      expect(performance.now() - began).toBeLessThan(5_000);
    }
  });

  it("looking for places has an end", async () => {
    const lines = Array.from({ length: 60_000 }, (_, n) => `\tline ${n}`);
    const site = await openTools({ a: `${lines.join("\n")}\n` });
    const patch = update(
      "a",
      many(20_000, (n) => `@@\n-line ${n}\n+l ${n}`),
    );
    expect((await refusal(site, patch))[0]).toBe("resource_limit");
  });
});
