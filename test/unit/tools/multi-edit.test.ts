import { createHash } from "node:crypto";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FileEdits } from "../../../src/daemon/tools/edit/file-edits.ts";
import { editOf } from "../../../src/daemon/tools/edit/one-edit.ts";
import { Room } from "../../../src/daemon/tools/edit/target.ts";
import { openTools } from "./site.ts";

const sha = (text: string): string => createHash("sha256").update(text).digest("hex");
const edit = (path: string, old_text: string, new_text: string, more: object = {}): object => ({
  path,
  old_text,
  new_text,
  ...more,
});

describe("multi_edit", () => {
  it("makes edits in array order: each sees what the ones before it made", async () => {
    const site = await openTools({ a: "one\ntwo\nthree\n" });
    const edits = [edit("a", "three", "3"), edit("a", "one", "1 three"), edit("a", "1 three\ntwo", "x")];
    const done = await site.ok("multi_edit", { edits });
    expect(site.text("a")).toBe("x\n3\n");
    expect(done.result).toBe(
      [
        "applied 3 edits",
        "edited a: line 3 (1 line) replaced with 1 line",
        "edited a: line 1 (1 line) replaced with 1 line",
        "edited a: lines 1-2 (2 lines) replaced with 1 line",
      ].join("\n"),
    );
    expect(done.meta.files).toEqual([
      { path: "a", sha256: sha("x\n3\n"), diff: expect.stringMatching(/^@@ -1,3 \+1,2 @@\n-one\n-two\n-three\n\+x\n\+3\n/m) },
    ]);
  });

  it("is one checkpoint over all files, undone as one", async () => {
    const files = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`f${n}`, `old ${n}\n`]));
    const site = await openTools(files);
    const done = await site.ok("multi_edit", { edits: Object.keys(files).map((path) => edit(path, "old", "new")) });
    expect(site.api.store.read.touched(done.checkpoint, 0, 100).count).toBe(20);
    await site.api.call("Undo", { request_id: "u", select: { checkpoint: done.checkpoint } });
    expect(Object.keys(files).map((path) => site.text(path))).toEqual(Object.values(files));
  });

  it("one failing edit keeps all from being made, and every failure is told with its index and code", async () => {
    const site = await openTools({ a: "x\ny\n", b: "z z\n" });
    const edits = [
      edit("a", "x", "1"),
      edit("b", "z", "1"),
      edit("a", "nope", "1"),
      edit("gone", "q", "1"),
      edit("gone", "r", "1"),
      edit("a", "y", "y"),
    ];
    const refused = await site.call("multi_edit", { edits });
    expect(refused.error_code).toBe("edit_not_unique");
    expect(refused.error.split("\n")[0]).toBe("4 of 6 edits cannot be made, so none was:");
    expect(
      refused.facts.edits.map((one: { index: number; path: string; error_code: string }) => [
        one.index,
        one.path,
        one.error_code,
      ]),
    ).toEqual([
      [1, "b", "edit_not_unique"],
      [2, "a", "edit_not_found"],
      [3, "gone", "file_not_found"],
      [5, "a", "edit_no_change"],
    ]);
    expect([site.text("a"), site.text("b")]).toEqual(["x\ny\n", "z z\n"]);
  });

  it("an empty old text fails at once, naming the index", async () => {
    const site = await openTools({ a: "x\n" });
    const refused = await site.call("multi_edit", { edits: [edit("a", "nope", "1"), edit("a", "", "1")] });
    expect(refused).toMatchObject({ error_code: "old_text_empty", error: "edit 1: old_text is empty" });
  });

  it("the same pair again is skipped; what an earlier edit replaced cannot be replaced otherwise", async () => {
    const site = await openTools({ a: "foo bar\n" });
    const again = await site.ok("multi_edit", { edits: [edit("a", "foo", "1"), edit("a", "foo", "1")] });
    expect(again.result).toBe(
      "applied 1 edit\nedited a: line 1 (1 line) replaced with 1 line\nskipped a: edit 1 is edit 0 again",
    );
    expect(site.text("a")).toBe("1 bar\n");
    const overlap = await site.call("multi_edit", { edits: [edit("a", "1 b", "x"), edit("a", "bar", "y")] });
    expect(overlap).toMatchObject({ error_code: "edit_overlap", facts: { index: 1, with: 0 } });
    expect(overlap.error).toBe("edit 1 (a): edits 0 and 1 replace the same lines of a");
    const touching = await site.ok("multi_edit", { edits: [edit("a", "1 ", "x"), edit("a", "bar", "y")] });
    expect([touching.ok, site.text("a")]).toEqual([true, "xy\n"]);
  });

  it("two spellings and a link are one file", async () => {
    const site = await openTools({ "d/a": "x\ny\nz\n" });
    symlinkSync("d/a", join(site.root, "link"));
    await site.ok("multi_edit", { edits: [edit("d/a", "x", "1"), edit("./d//a", "y", "2"), edit("link", "z", "3")] });
    expect(site.text("d/a")).toBe("1\n2\n3\n");
  });

  it("one checksum a file, against the bytes before the call", async () => {
    const site = await openTools({ a: "x\ny\n" });
    const right = { if_checksum: sha("x\ny\n") };
    await site.ok("multi_edit", { edits: [edit("a", "x", "1", right), edit("a", "y", "2", right)] });
    const twice = [edit("a", "1", "x", { if_checksum: sha("1\n2\n") }), edit("a", "2", "y", { if_checksum: sha("q") })];
    expect(await site.call("multi_edit", { edits: twice })).toMatchObject({
      error_code: "invalid_args",
      facts: { field: "args/edits/1/if_checksum" },
    });
    const late = await site.call("multi_edit", { edits: [edit("a", "1", "x"), edit("a", "2", "y", { if_checksum: sha("q") })] });
    expect(late).toMatchObject({ error_code: "stale_file", facts: { paths: [{ path: "a", current_text: "1\n2\n" }] } });
    expect(site.text("a")).toBe("1\n2\n");
  });

  it("a stale file among others refuses all of them, and merges when that is asked", async () => {
    const site = await openTools({ a: "1\n2\n3\n4\n5\n", b: "b\n" });
    const before = sha("1\n2\n3\n4\n5\n");
    await site.ok("edit_file", { path: "a", old_text: "5", new_text: "five" });
    const args = { edits: [edit("b", "b", "B"), edit("a", "1", "one", { if_checksum: before })] };
    const refused = await site.call("multi_edit", args);
    expect(refused).toMatchObject({
      error_code: "stale_file",
      next_call: { tool: "multi_edit", arguments: { on_conflict: "merge" } },
    });
    expect(site.text("b")).toBe("b\n");
    const dry = await site.call("multi_edit", { ...args, dry_run: true });
    expect(dry.error_code).toBe("stale_file");
    const merged = await site.ok("multi_edit", { ...args, on_conflict: "merge" });
    expect(merged.result).toMatch(/merged a with a later change$/);
    expect([site.text("a"), site.text("b")]).toEqual(["one\n2\n3\n4\nfive\n", "B\n"]);
  });

  it("a failure is told of the file it is in, whatever else changed meanwhile", async () => {
    const first = "1\n2\n3\n4\n5\n6\n";
    const site = await openTools({ a: first, b: "b\n" });
    await site.ok("edit_file", { path: "a", old_text: "6", new_text: "six" });
    const stale = edit("a", "1", "one", { if_checksum: sha(first) });
    const refused = await site.call("multi_edit", { edits: [stale, edit("b", "nope", "x")] });
    expect(refused).toMatchObject({ error_code: "edit_not_found", facts: { index: 1, path: "b" } });
    // What fails in the changed file itself does so because it changed.
    const gone = edit("a", "nope", "x");
    expect((await site.call("multi_edit", { edits: [stale, gone, edit("b", "nope", "x")] })).facts.paths).toMatchObject([
      { path: "a" },
    ]);
  });

  it("shows around each edit what that edit made, and keeps no copy of the file for each", async () => {
    const site = await openTools({ a: "1\n2\n3\n" });
    const shown = { show_context: 1 };
    const done = await site.ok("multi_edit", { edits: [edit("a", "1", "one", shown), edit("a", "2", "two", shown)] });
    expect(done.result.split("\n").filter((line) => /\t/.test(line))).toEqual([
      "* 1\tone",
      "  2\t2",
      "  1\tone",
      "* 2\ttwo",
      "  3\t3",
    ]);
    const bytes = Buffer.from(`start\n${"x\n".repeat(100_000)}`);
    const target = { path: "a", bytes, sha256: "", current: { bytes, sha256: "" } };
    const outcome = new FileEdits(target).apply({ ...editOf({ path: "a", old_text: "start", new_text: "end" }), index: 0 });
    expect(JSON.stringify(outcome).length).toBeLessThan(200);
  });

  it("the files of one call come to no more than the largest file may have", () => {
    const bytes = Buffer.alloc(128 * 1024 * 1024);
    const target = { path: "a", bytes, sha256: "", current: { bytes, sha256: "" } };
    const room = new Room();
    room.take(target);
    room.take(target);
    const one = { bytes: Buffer.alloc(1), sha256: "" };
    expect(() => room.take({ ...target, ...one, current: one })).toThrow(expect.objectContaining({ reason: "RESOURCE_LIMIT" }));
  });

  it("a dry run gives one diff of all files and changes nothing", async () => {
    const site = await openTools({ a: "x\n", b: "y\n" });
    const dry = await site.ok(
      "multi_edit",
      { edits: [edit("a", "x", "1"), edit("b", "y", "2")], dry_run: true },
      { requestId: "" },
    );
    expect(dry.result).toBe(
      "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+1\ndiff --git a/b b/b\n--- a/b\n+++ b/b\n@@ -1 +1 @@\n-y\n+2\n",
    );
    expect([site.text("a"), site.text("b")]).toEqual(["x\n", "y\n"]);
  });

  it("wrong arguments are refused by their path", async () => {
    const site = await openTools({ a: "x\n" });
    const field = async (args: object): Promise<string> => (await site.call("multi_edit", args)).facts.field;
    expect(await field({ edits: [] })).toBe("args/edits");
    expect(await field({ edits: [edit("a", "x", "y"), { path: "a" }] })).toBe("args/edits/1/old_text");
    expect(await field({ edits: [edit("a", "x", "y", { dry_run: true })] })).toBe("args/edits/0/dry_run");
    expect(await field({ edits: "a" })).toBe("args/edits");
  });

  it("many edits of one file, and a hundred failures, are told within bounds", async () => {
    const lines = Array.from({ length: 2_000 }, (_, n) => `line number ${n};`);
    const site = await openTools({ a: `${lines.join("\n")}\n` });
    const edits = lines.map((line, n) => edit("a", line, `changed ${n};`));
    const done = await site.ok("multi_edit", { edits });
    expect(done.result.split("\n").at(-1)).toBe("... and 1900 more");
    expect(site.text("a")).toBe(`${lines.map((_, n) => `changed ${n};`).join("\n")}\n`);
    const refused = await site.call("multi_edit", { edits });
    expect(refused.facts.edits).toHaveLength(100);
  });
});
