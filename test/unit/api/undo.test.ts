import { mkdirSync, readlinkSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { fastDir, openApi } from "./site.ts";
import { at, callers, linkExpect, open, redo, save, shaAt, there, undo, write } from "./undo-site.ts";

it("one checkpoint of one agent is taken back between two others' work, and brought again", async () => {
  const site = await open();
  await write(site, "ada", "a.txt", "1\n2\n3\n4\n5\n");
  const mine = await write(site, "ada", "a.txt", "1\nTWO\n3\n4\n5\n");
  await write(site, "bob", "a.txt", "0\n1\nTWO\n3\n4\nFIVE\n");
  const preview = await site.call("Undo", { select: { checkpoint: mine }, preview: true });
  expect(preview.body).toMatchObject({ preview: true, clean: true, checkpoint: "", undone: [mine] });
  expect(at(site, "a.txt")).toBe("0\n1\nTWO\n3\n4\nFIVE\n");
  const undone = await undo(site, { checkpoint: mine });
  expect(undone.error).toBeUndefined();
  expect(undone.body).toMatchObject({ clean: true, no_change: false, undone: [mine] });
  expect(undone.body.paths).toMatchObject([{ path: "a.txt", outcome: "UNDONE_OUTCOME_REVERSED", deleted: false }]);
  expect(at(site, "a.txt")).toBe("0\n1\n2\n3\n4\nFIVE\n");
  const log = await site.call("ListCheckpoints", { limit: 1 });
  expect(log.body.checkpoints[0]).toMatchObject({ id: undone.body.checkpoint, cause: "CAUSE_UNDO", principal: "owner" });
  const again = await redo(site, undone.body.checkpoint);
  expect(again.body.undone).toEqual([undone.body.checkpoint]);
  expect(at(site, "a.txt")).toBe("0\n1\nTWO\n3\n4\nFIVE\n");
  const back = await undo(site, { checkpoint: again.body.checkpoint });
  expect(back.error).toBeUndefined();
  expect(at(site, "a.txt")).toBe("0\n1\n2\n3\n4\nFIVE\n");
});

it("later work inside a hunk is a conflict that names who stands there, and nothing changes", async () => {
  const site = await open();
  await write(site, "ada", "a.txt", "1\n2\n3\n");
  const mine = await write(site, "ada", "a.txt", "1\nX\nY\n3\n");
  const theirs = await write(site, "bob", "a.txt", "1\nX\nmine now\n3\n");
  await write(site, "ada", "b.txt", "b\n");
  const refused = await undo(site, { checkpoint: mine });
  expect(refused.error).toMatchObject({ reason: "MERGE_CONFLICT", facts: { path_count: 1 } });
  expect(refused.error.facts.paths).toEqual([
    {
      path: "a.txt",
      conflict: "content",
      checkpoint: theirs,
      changed_by: "bob",
      hunks: [
        {
          current_lines: [2, 3],
          undone: "X\nY\n",
          current: "X\nmine now\n",
          wanted: "2\n",
          checkpoint: theirs,
          changed_by: "bob",
        },
      ],
    },
  ]);
  expect(at(site, "a.txt")).toBe("1\nX\nmine now\n3\n");
  const preview = await site.call("Undo", { select: { checkpoint: mine }, preview: true });
  expect(preview.body).toMatchObject({ clean: false, paths: [{ outcome: "UNDONE_OUTCOME_CONFLICT", conflict: "content" }] });
  expect(preview.body.paths[0].conflicts[0]).toMatchObject({ start_line: "2", end_line: "3", principal: "bob" });
});

it("skip_conflicts takes back what merges, and a later undo takes the rest", async () => {
  const site = await open();
  await save(site, "ada", [
    { path: "a.txt", text: "a\n" },
    { path: "b.txt", text: "b\n" },
  ]);
  const mine = await save(site, "ada", [
    { path: "a.txt", text: "A\n" },
    { path: "b.txt", text: "B\n" },
  ]);
  const theirs = await write(site, "bob", "b.txt", "bob's\n");
  expect((await undo(site, { checkpoint: mine })).error).toMatchObject({
    reason: "MERGE_CONFLICT",
    next_call: { undo: { skip_conflicts: true } },
  });
  const partly = await undo(site, { principal: "ada", since: mine.replace(/.*/, "start") }, { skip_conflicts: true });
  expect(partly.error).toBeUndefined();
  expect(partly.body.clean).toBe(false);
  // The making of both files conflicts with b.txt's later line alone.
  expect(there(site, "a.txt")).toBe(false);
  expect(at(site, "b.txt")).toBe("bob's\n");
  expect(partly.body.paths).toMatchObject([
    { path: "a.txt", outcome: "UNDONE_OUTCOME_REVERSED", deleted: true },
    { path: "b.txt", outcome: "UNDONE_OUTCOME_SKIPPED" },
  ]);
  expect((await undo(site, { checkpoint: theirs })).error).toBeUndefined();
  const rest = await undo(site, { principal: "ada", since: "start" });
  expect(rest.error).toBeUndefined();
  expect(rest.body.paths).toMatchObject([{ path: "b.txt", deleted: true }]);
  expect(there(site, "b.txt")).toBe(false);
});

it("a principal's work since a point is folded newest first, its sub-agents' with it; the others' stays", async () => {
  const site = await open();
  await write(site, "owner", "a.txt", "1\n2\n3\n4\n5\n6\n7\n");
  const since = await write(site, "ada", "a.txt", "1\nA\n3\n4\n5\n6\n7\n");
  await write(site, "bob", "a.txt", "1\nA\n3\nB\n5\n6\n7\n");
  await write(site, "ada", "a.txt", "1\nAA\n3\nB\n5\n6\n7\n");
  await write(site, "ada/tests", "a.txt", "1\nAA\n3\nB\n5\nT\n7\n");
  await write(site, "bob", "c.txt", "c\n");
  await write(site, "ada", "new.txt", "new\n");
  const after = await undo(site, { principal: "ada", since }, {}, "ada");
  expect(after.error).toBeUndefined();
  expect(at(site, "a.txt")).toBe("1\nA\n3\nB\n5\n6\n7\n");
  expect(there(site, "new.txt")).toBe(false);
  const all = await undo(site, { principal: "ada", since: "start" });
  expect(all.body.undone).toEqual([since]);
  expect(at(site, "a.txt")).toBe("1\n2\n3\nB\n5\n6\n7\n");
  expect(at(site, "c.txt")).toBe("c\n");
  const none = await undo(site, { principal: "ada", since: "start" });
  expect(none.body).toMatchObject({ no_change: true, undone: [], paths: [] });
  // The undo itself is taken back by its checkpoint, and then the work counts again.
  expect((await undo(site, { checkpoint: all.body.checkpoint })).error).toBeUndefined();
  expect(at(site, "a.txt")).toBe("1\nA\n3\nB\n5\n6\n7\n");
  expect((await undo(site, { principal: "ada", since: "start" })).body.undone).toEqual([since]);
  expect(at(site, "a.txt")).toBe("1\n2\n3\nB\n5\n6\n7\n");
});

it("since takes a time, a checkpoint or start, and nothing else", async () => {
  const site = await open();
  await write(site, "ada", "a.txt", "1\n");
  const future = await undo(site, { principal: "ada", since: "2999-01-01T00:00:00Z" });
  expect(future.body).toMatchObject({ no_change: true });
  for (const since of ["yesterday", "2026-13-40", "now"]) {
    expect((await undo(site, { principal: "ada", since })).error).toMatchObject({
      reason: "INVALID_REQUEST",
      facts: { field: "select.since" },
    });
  }
  expect((await undo(site, { principal: "ada", since: "2020-01-01T00:00:00+02:00" })).body.no_change).toBe(false);
  expect(there(site, "a.txt")).toBe(false);
});

it("a request is taken back by its id, after a restart too", async () => {
  const directory = fastDir();
  const site = await open(directory);
  await write(site, "ada", "a.txt", "1\n2\n");
  await save(site, "ada", [{ path: "a.txt", text: "1\nx\n" }], "the-one");
  await write(site, "bob", "b.txt", "b\n");
  expect((await undo(site, { request_id: "the-one" }, {}, "bob")).error.reason).toBe("ID_NOT_FOUND");
  await site.close();
  const later = await open(directory);
  const undone = await undo(later, { request_id: "the-one", principal: "ada" });
  expect(undone.error).toBeUndefined();
  expect(at(later, "a.txt")).toBe("1\n2\n");
  await later.close();
  const last = await open(directory);
  const again = await redo(last, undone.body.checkpoint);
  expect(again.error).toBeUndefined();
  expect(at(last, "a.txt")).toBe("1\nx\n");
  const explained = await last.call("Explain", { id: undone.body.checkpoint });
  expect(explained.body.facts).toMatchObject({ undoes: [expect.stringMatching(/^ck_/)], undone_by: [again.body.checkpoint] });
});

it("others' work needs undo_others; one's own and one's sub-agents' does not", async () => {
  const site = await open();
  await write(site, "owner", "a.txt", "1\n2\n3\n");
  const ada = await write(site, "ada", "a.txt", "1\nA\n3\n");
  const sub = await write(site, "ada/tests", "b.txt", "b\n");
  const refused = await undo(site, { checkpoint: ada }, {}, "bob");
  expect(refused.error).toMatchObject({ reason: "SCOPE_FORBIDDEN", facts: { scope: "undo_others" } });
  expect((await undo(site, { checkpoint: ada }, {}, "ada/tests")).error.reason).toBe("SCOPE_FORBIDDEN");
  expect((await undo(site, { checkpoint: sub }, {}, "ada")).error).toBeUndefined();
  const mine = await undo(site, { checkpoint: ada }, {}, "ada");
  expect(mine.error).toBeUndefined();
  expect((await redo(site, mine.body.checkpoint, {}, "bob")).error.reason).toBe("SCOPE_FORBIDDEN");
  expect((await undo(site, { path: "a.txt", checkpoint: ada }, {}, "bob")).error.reason).toBe("SCOPE_FORBIDDEN");
});

it("an import cannot be undone, an outside edit only by its checkpoint and with undo_others", async () => {
  const site = await open();
  writeFileSync(join(site.root, "found.txt"), "1\n2\n");
  await site.call("ReadPath", { path: "found.txt" });
  const [imported] = (await site.call("ListCheckpoints", { limit: 1 })).body.checkpoints;
  expect(imported.cause).toBe("CAUSE_IMPORT");
  expect((await undo(site, { checkpoint: imported.id })).error).toMatchObject({ reason: "UNSUPPORTED" });
  writeFileSync(join(site.root, "found.txt"), "1\nedited outside\n");
  await site.call("ReadPath", { path: "found.txt" });
  const [external] = (await site.call("ListCheckpoints", { limit: 1 })).body.checkpoints;
  expect(external.cause).toBe("CAUSE_EXTERNAL");
  expect((await undo(site, { checkpoint: external.id }, {}, "ada")).error.reason).toBe("SCOPE_FORBIDDEN");
  expect((await undo(site, { checkpoint: external.id })).error).toBeUndefined();
  expect(at(site, "found.txt")).toBe("1\n2\n");
});

it("an outside edit nobody noticed yet counts as later work", async () => {
  const site = await open();
  await write(site, "ada", "a.txt", "1\n2\n3\n4\n");
  const mine = await write(site, "ada", "a.txt", "1\nX\n3\n4\n");
  writeFileSync(join(site.root, "a.txt"), "1\nX\n3\nmine\n");
  expect((await undo(site, { checkpoint: mine })).error).toBeUndefined();
  expect(at(site, "a.txt")).toBe("1\n2\n3\nmine\n");
  const other = await write(site, "ada", "a.txt", "1\nY\n3\nmine\n");
  writeFileSync(join(site.root, "a.txt"), "1\nZ\n3\nmine\n");
  const refused = await undo(site, { checkpoint: other });
  expect(refused.error.facts.paths[0].hunks[0]).toMatchObject({ current: "Z\n", changed_by: "unknown" });
  expect(at(site, "a.txt")).toBe("1\nZ\n3\nmine\n");
});

it("creations, deletions, modes and renames come back, edits after a rename stay", async () => {
  const site = await open();
  await save(site, "ada", [
    { path: "a.txt", text: "1\n2\n3\n" },
    { path: "gone.txt", text: "gone\n" },
    { path: "run.sh", text: "#!/bin/sh\n", executable: true },
  ]);
  const renamed = await save(site, "ada", [
    { path: "a.txt", rename_to: "dir/b.txt", text: "1\ntwo\n3\n" },
    { path: "gone.txt", delete: true },
    { path: "run.sh", executable: false },
    { path: "made.txt", text: "made\n" },
  ]);
  await write(site, "bob", "dir/b.txt", "1\ntwo\n3\nbob\n");
  const undone = await undo(site, { checkpoint: renamed });
  expect(undone.error).toBeUndefined();
  expect(at(site, "a.txt")).toBe("1\n2\n3\nbob\n");
  expect(there(site, "dir/b.txt")).toBe(false);
  expect(at(site, "gone.txt")).toBe("gone\n");
  expect(there(site, "made.txt")).toBe(false);
  expect(statSync(join(site.root, "run.sh")).mode & 0o100).toBe(0o100);
  expect(undone.body.paths).toMatchObject([
    { path: "dir/b.txt", renamed_to: "a.txt", outcome: "UNDONE_OUTCOME_REVERSED" },
    { path: "gone.txt", deleted: false },
    { path: "made.txt", deleted: true },
    { path: "run.sh", executable: true },
  ]);
  // An edit from before a rename is taken back under the new name.
  expect((await redo(site, undone.body.checkpoint)).error).toBeUndefined();
  expect(at(site, "dir/b.txt")).toBe("1\ntwo\n3\nbob\n");
  expect(there(site, "a.txt")).toBe(false);
  expect(there(site, "gone.txt")).toBe(false);
  expect(at(site, "made.txt")).toBe("made\n");
  expect(statSync(join(site.root, "run.sh")).mode & 0o100).toBe(0);
});

it("an edit made before somebody's rename is taken back under the new name", async () => {
  const site = await open();
  await write(site, "ada", "a.txt", "1\n2\n3\n4\n");
  const mine = await write(site, "ada", "a.txt", "1\nX\n3\n4\n");
  await save(site, "bob", [{ path: "a.txt", rename_to: "b.txt" }]);
  await write(site, "bob", "b.txt", "1\nX\n3\n4\nbob\n");
  await write(site, "bob", "a.txt", "another file\n");
  expect((await undo(site, { checkpoint: mine })).error).toBeUndefined();
  expect(at(site, "b.txt")).toBe("1\n2\n3\n4\nbob\n");
  expect(at(site, "a.txt")).toBe("another file\n");
});

it("a swap of names is swapped back, and a name that is taken or changed again is a conflict", async () => {
  const site = await open();
  await save(site, "ada", [
    { path: "a.txt", text: "a\n" },
    { path: "b.txt", text: "b\n" },
  ]);
  const swap = await save(site, "ada", [
    { path: "a.txt", rename_to: "b.txt" },
    { path: "b.txt", rename_to: "a.txt" },
  ]);
  expect(at(site, "a.txt")).toBe("b\n");
  const swapped = await undo(site, { checkpoint: swap });
  expect(swapped.error).toBeUndefined();
  expect([at(site, "a.txt"), at(site, "b.txt")]).toEqual(["a\n", "b\n"]);
  const moved = await save(site, "ada", [{ path: "a.txt", rename_to: "c.txt" }]);
  const taken = await write(site, "bob", "a.txt", "bob's a\n");
  expect((await undo(site, { checkpoint: moved })).error.facts.paths).toMatchObject([
    { path: "c.txt", conflict: "occupied", changed_by: "bob" },
  ]);
  await undo(site, { checkpoint: taken });
  await save(site, "bob", [{ path: "c.txt", rename_to: "d.txt" }]);
  expect((await undo(site, { checkpoint: moved })).error.facts.paths).toMatchObject([
    { path: "d.txt", conflict: "renamed", changed_by: "bob" },
  ]);
  await save(site, "bob", [{ path: "d.txt", rename_to: "a.txt" }]);
  expect((await undo(site, { checkpoint: moved })).body).toMatchObject({ no_change: true });
  const both = await save(site, "ada", [{ path: "a.txt", rename_to: "e.txt", text: "e\n" }]);
  await save(site, "bob", [{ path: "e.txt", rename_to: "a.txt" }]);
  expect((await undo(site, { checkpoint: both })).error).toBeUndefined();
  expect(at(site, "a.txt")).toBe("a\n");
  const last = await save(site, "ada", [{ path: "a.txt", rename_to: "f.txt" }]);
  await save(site, "bob", [{ path: "f.txt", delete: true }]);
  expect((await undo(site, { checkpoint: last })).error.facts.paths).toMatchObject([
    { path: "f.txt", conflict: "delete_modify" },
  ]);
});

it("what others changed in a file one made, or did with a file one deleted, is never taken along", async () => {
  const site = await open();
  const made = await write(site, "ada", "a.txt", "1\n");
  await write(site, "bob", "a.txt", "1\nbob\n");
  expect((await undo(site, { checkpoint: made })).error.facts.paths).toMatchObject([
    { path: "a.txt", conflict: "delete_modify", changed_by: "bob" },
  ]);
  const deleted = await save(site, "ada", [{ path: "a.txt", delete: true }]);
  await write(site, "bob", "a.txt", "bob's own\n");
  expect((await undo(site, { checkpoint: deleted })).error.facts.paths).toMatchObject([{ path: "a.txt" }]);
  const edited = await write(site, "ada", "b.txt", "1\n");
  const second = await write(site, "ada", "b.txt", "2\n");
  await save(site, "bob", [{ path: "b.txt", delete: true }]);
  expect((await undo(site, { checkpoint: second })).error.facts.paths).toMatchObject([{ conflict: "delete_modify" }]);
  expect((await undo(site, { checkpoint: edited })).body).toMatchObject({ no_change: true });
});

it("binary comes back only while it is what the undone work made", async () => {
  const site = await open();
  const data = (bytes: string): string => Buffer.from(bytes, "latin1").toString("base64");
  await save(site, "ada", [{ path: "a.bin", data: data("\0one\xff") }]);
  const second = await save(site, "ada", [{ path: "a.bin", data: data("\0two\xff") }]);
  expect((await undo(site, { checkpoint: second })).error).toBeUndefined();
  expect(at(site, "a.bin")).toBe("\0one\xff");
  const third = await save(site, "ada", [{ path: "a.bin", data: data("text now\n") }]);
  await save(site, "bob", [{ path: "a.bin", data: data("text now\nand more\n") }]);
  expect((await undo(site, { checkpoint: third })).error.facts.paths).toMatchObject([{ conflict: "binary", changed_by: "bob" }]);
});

it("bytes nobody can read as UTF-8, lone CR, BOM, CRLF and a missing last newline come back as they were", async () => {
  const site = await open();
  const cases: [string, string, string, string][] = [
    ["crlf", "1\r\n2\r\n3\r\n", "1\r\nx\r\n3\r\n", "1\r\nx\r\n3\r\nlater\r\n"],
    ["no-end", "1\n2\n3", "1\nx\n3", "0\n1\nx\n3"],
    ["end-lost", "1\n2\n3\n", "1\n2\n3", "0\n1\n2\n3"],
    ["lone-cr", "1\r2\r3\n4\n5\n", "1\r2\r3!\n4\n5\n", "1\r2\r3!\n4\n5\nlater\n"],
    ["bom", "\xef\xbb\xbf1\n2\n3\n", "1\n2\n3\n", "1\n2\n3\nlater\n"],
    ["latin-1", "caf\xe9\nb\nc\n", "caf\xe8\nb\nc\n", "caf\xe8\nb\nc\nsp\xe4ter\n"],
  ];
  for (const [name, before, made, now] of cases) {
    const put = (as: string, text: string): Promise<string> =>
      save(site, as, [{ path: name, data: Buffer.from(text, "latin1").toString("base64") }]);
    await put("ada", before);
    const mine = await put("ada", made);
    await put("bob", now);
    const undone = await undo(site, { checkpoint: mine });
    expect([name, undone.error]).toEqual([name, undefined]);
    const wanted = now.startsWith("0\n") ? `0\n${before}` : before + now.slice(made.length);
    expect([name, at(site, name)]).toEqual([name, wanted]);
    expect((await redo(site, undone.body.checkpoint)).error).toBeUndefined();
    expect([name, at(site, name)]).toEqual([name, now]);
  }
});

it("symlinks come back, gone, made or led elsewhere", async () => {
  const site = await open();
  await write(site, "owner", "target.txt", "t\n");
  await save(site, "owner", [{ path: "link", link: "target.txt" }]);
  const gone = await save(
    site,
    "owner",
    [{ path: "link", expect: undefined, delete: true }].map((edit) => linkExpect(edit, "target.txt")),
  );
  const undone = await undo(site, { checkpoint: gone });
  expect(undone.error).toBeUndefined();
  expect(readlinkSync(join(site.root, "link"))).toBe("target.txt");
  const led = await save(site, "owner", [linkExpect({ path: "link", link: "elsewhere" }, "target.txt")]);
  expect((await undo(site, { checkpoint: led })).error).toBeUndefined();
  expect(readlinkSync(join(site.root, "link"))).toBe("target.txt");
  expect((await redo(site, undone.body.checkpoint)).error).toBeUndefined();
  expect(there(site, "link")).toBe(false);
  symlinkSync("target.txt", join(site.root, "other"));
  expect((await undo(site, { checkpoint: gone })).error).toBeUndefined();
});

it("a file in place of a link, and a link in place of a file, are told apart", async () => {
  const site = await open();
  await write(site, "owner", "target.txt", "t\n");
  await write(site, "owner", "a", "file\n");
  const file = await shaAt(site, "a");
  const made = await save(site, "owner", [{ path: "a", expect: file, link: "target.txt" }]);
  // No save puts a file where a link stands: it would write through it.
  expect((await undo(site, { checkpoint: made })).error.facts.paths).toMatchObject([{ path: "a", conflict: "kind" }]);
  expect([readlinkSync(join(site.root, "a")), at(site, "target.txt")]).toEqual(["target.txt", "t\n"]);
});

it("a path, or all below one, becomes what it was at a checkpoint, in one checkpoint", async () => {
  const site = await open();
  await save(site, "ada", [
    { path: "src/a.txt", text: "a\n" },
    { path: "src/b.txt", text: "b\n" },
    { path: "other.txt", text: "o\n" },
  ]);
  const then = (await site.call("Context", {})).body.state.head;
  await write(site, "ada", "src/a.txt", "A\n");
  await write(site, "bob", "src/a.txt", "B\n");
  await save(site, "bob", [{ path: "src/b.txt", delete: true }]);
  await write(site, "bob", "src/c.txt", "c\n");
  await write(site, "bob", "other.txt", "O\n");
  mkdirSync(join(site.root, "src/deep"));
  writeFileSync(join(site.root, "src/deep/old.txt"), "was there, nobody looked\n");
  await site.call("ReadPath", { path: "src/deep/old.txt" });
  const one = await undo(site, { path: "src/a.txt", checkpoint: then });
  expect(one.error).toBeUndefined();
  expect(at(site, "src/a.txt")).toBe("a\n");
  expect(there(site, "src/b.txt")).toBe(false);
  const all = await undo(site, { path: "src", checkpoint: then });
  expect(all.error).toBeUndefined();
  expect(all.body.paths.map((path: { path: string }) => path.path)).toEqual(["src/b.txt", "src/c.txt"]);
  expect(at(site, "src/b.txt")).toBe("b\n");
  expect(there(site, "src/c.txt")).toBe(false);
  expect(at(site, "src/deep/old.txt")).toBe("was there, nobody looked\n");
  expect(at(site, "other.txt")).toBe("O\n");
  const again = await undo(site, { path: "src", checkpoint: then });
  expect(again.body).toMatchObject({ no_change: true });
  expect((await redo(site, all.body.checkpoint)).error).toBeUndefined();
  expect(there(site, "src/b.txt")).toBe(false);
  expect(at(site, "src/c.txt")).toBe("c\n");
  expect((await undo(site, { path: ".", checkpoint: then })).error).toBeUndefined();
  expect([at(site, "other.txt"), at(site, "src/b.txt"), there(site, "src/c.txt")]).toEqual(["o\n", "b\n", false]);
});

it("content that is not kept is said so", async () => {
  const site = await open();
  const path = join(site.root, "big.bin");
  writeFileSync(path, Buffer.alloc(6 * 1024 * 1024, 1));
  await site.call("ReadPath", { path: "big.bin", content: false });
  writeFileSync(path, "small\n");
  await site.call("ReadPath", { path: "big.bin" });
  const [external] = (await site.call("ListCheckpoints", { limit: 1 })).body.checkpoints;
  const refused = await undo(site, { checkpoint: external.id });
  expect(refused.error).toMatchObject({ reason: "CONTENT_NOT_KEPT", facts: { path: "big.bin" } });
  expect(at(site, "big.bin")).toBe("small\n");
});

it("after gc what is kept comes back, and what was given up is said so", async () => {
  const site = await openApi({ callers, requireLease: "never", quotaBytes: 2 ** 20 });
  const text = (round: number): string => `first ${round}\n${`${round} ${"x".repeat(50)}\n`.repeat(200)}`;
  const ids: string[] = [];
  for (let round = 0; round < 30; round += 1) ids.push(await write(site, "ada", "a.txt", text(round)));
  await site.store.write("durable", { saves: site.store.read.openSaves(1).map(({ id }) => id) });
  expect((await site.admin("CollectGarbage", { request_id: "gc", target_bytes: "50000" })).error).toBeUndefined();
  const { keptFrom } = site.store.read.workspace(1) ?? { keptFrom: 0 };
  const log = site.store.read.checkpoints({ workspace: 1, limit: 100 });
  const thinned = log.find(({ generation }) => generation < keptFrom);
  const told = ["CONTENT_NOT_KEPT", "HISTORY_TRIMMED", "ID_NOT_FOUND"];
  expect(told).toContain((await undo(site, { checkpoint: thinned?.id ?? ids[0] })).error.reason);
  expect(told.slice(1)).toContain((await undo(site, { path: "a.txt", checkpoint: thinned?.id ?? ids[0] })).error.reason);
  expect(at(site, "a.txt")).toBe(text(29));
  const since = log.find(({ generation }) => generation === keptFrom + 1);
  expect((await undo(site, { principal: "ada", since: since?.id })).error).toBeUndefined();
  expect(at(site, "a.txt")).toBe(text(ids.indexOf(since?.id ?? "")));
});
