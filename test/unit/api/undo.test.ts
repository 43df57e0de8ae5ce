import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readlinkSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type Caller, SCOPES, systemClock } from "../../../src/daemon/base/index.ts";
import { createDiffer, planUndo, type UndoPlan, type UndoView } from "../../../src/daemon/history/index.ts";
import type { SaveInput } from "../../../src/daemon/workspace/index.ts";
import { atTeardown } from "../../helpers/teardown.ts";
import { type Answer, type ApiSite, caller, fastDir, openApi } from "./site.ts";

let serial = 0;

/** Agents with every scope but undo_others, and one that has it. */
const plain = (name: string): Caller =>
  caller(name, {
    scopes: new Set(SCOPES.filter((scope) => scope !== "undo_others" && scope !== "admin" && scope !== "approve")),
  });
const callers = {
  ada: plain("ada"),
  "ada/tests": plain("ada/tests"),
  bob: plain("bob"),
  fenced: { ...plain("fenced"), paths: ["src"] },
};

function open(directory = fastDir(), requireLease: "never" | "always" = "never"): Promise<ApiSite> {
  return openApi({ directory, callers, requireLease });
}

async function shaAt(site: ApiSite, path: string): Promise<string> {
  const answer = await site.call("ReadPath", { path, content: false });
  return answer.status === 200 ? answer.body.sha256 : "absent";
}

/** Saves edits and gives the checkpoint; `expect` is filled in. */
async function save(site: ApiSite, as: string, edits: object[], requestId = `s-${++serial}`): Promise<string> {
  const filled = [];
  for (const edit of edits as { path: string }[]) filled.push({ expect: await shaAt(site, edit.path), ...edit });
  const answer = await site.call("Save", { request_id: requestId, edits: filled }, { as });
  expect(answer.error).toBeUndefined();
  return answer.body.checkpoint;
}

const write = (site: ApiSite, as: string, path: string, text: string): Promise<string> => save(site, as, [{ path, text }]);

function undo(site: ApiSite, select: object, more: object = {}, as = "owner"): Promise<Answer> {
  return site.call("Undo", { request_id: `u-${++serial}`, select, ...more }, { as });
}

function redo(site: ApiSite, checkpoint: string, more: object = {}, as = "owner"): Promise<Answer> {
  return site.call("Redo", { request_id: `r-${++serial}`, undo: checkpoint, ...more }, { as });
}

const at = (site: ApiSite, path: string): string => readFileSync(join(site.root, path), "latin1");
const there = (site: ApiSite, path: string): boolean => existsSync(join(site.root, path));

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

it("selections that say too little, too much or nothing known are refused", async () => {
  const site = await open();
  const made = await write(site, "ada", "a.txt", "1\n");
  for (const select of [
    {},
    { principal: "ada" },
    { since: "start" },
    { path: "a.txt" },
    { checkpoint: made, since: "start" },
    { checkpoint: made, request_id: "x" },
    { principal: "ada", since: "start", path: "a.txt" },
    { principal: "not a name", since: "start" },
  ]) {
    expect((await undo(site, select)).error).toMatchObject({ reason: "INVALID_REQUEST" });
  }
  expect((await undo(site, { checkpoint: "ck_00000000000000000000" })).error.reason).toBe("ID_NOT_FOUND");
  expect((await undo(site, { request_id: "never" })).error.reason).toBe("ID_NOT_FOUND");
  expect((await redo(site, made)).error).toMatchObject({ reason: "INVALID_REQUEST", facts: { field: "undo" } });
  expect((await undo(site, { path: ".env", checkpoint: made })).error.reason).toBe("PATH_SENSITIVE");
  expect((await undo(site, { checkpoint: made }, { epoch: "77" })).error.reason).toBe("STALE_EPOCH");
  expect((await undo(site, { checkpoint: made }, { incarnation: "in_x" })).error.reason).toBe("STALE_INCARNATION");
  expect((await site.call("Undo", { select: { checkpoint: made } })).error.reason).toBe("REQUEST_ID_REQUIRED");
});

it("a token bound to paths takes back only what lies within them", async () => {
  const site = await open();
  const inside = await write(site, "fenced", "src/a.txt", "1\n");
  expect((await undo(site, { checkpoint: inside }, {}, "fenced")).error).toBeUndefined();
  const outside = await save(site, "owner", [{ path: "b.txt", text: "b\n" }]);
  expect((await undo(site, { checkpoint: outside }, {}, "fenced")).error.reason).toBe("SCOPE_FORBIDDEN");
});

it("an undo is a recorded mutation: replayed, its id not used twice, and known to RequestOutcome", async () => {
  const site = await open();
  await write(site, "ada", "a.txt", "1\n");
  const mine = await write(site, "ada", "a.txt", "2\n");
  const request = { request_id: "u-once", select: { checkpoint: mine } };
  const first = await site.call("Undo", request);
  const again = await site.call("Undo", request);
  expect(again.body).toMatchObject({ replayed: true, checkpoint: first.body.checkpoint, undone: [mine] });
  expect((await site.call("Undo", { ...request, select: { checkpoint: first.body.checkpoint } })).error.reason).toBe(
    "REQUEST_ID_REUSED",
  );
  const outcome = await site.call("RequestOutcome", { target_request_id: "u-once" });
  expect(outcome.body).toMatchObject({ outcome: "OUTCOME_COMMITTED", operation: "Undo" });
});

it("who must hold a lease needs one here as well, and is told so before any conflict", async () => {
  const site = await open(fastDir(), "always");
  const lease = (await site.call("AcquireLease", { request_id: "l-1", paths: [] })).body.lease;
  const fence = { lease_incarnation: lease.lease_incarnation, lease_epoch: lease.lease_epoch };
  const put = async (text: string): Promise<string> => {
    const edits = [{ path: "a.txt", expect: await shaAt(site, "a.txt"), text }];
    return (await site.call("Save", { request_id: `s-${++serial}`, ...fence, edits })).body.checkpoint;
  };
  await put("1\n");
  const mine = await put("2\n");
  await put("3\n");
  expect((await undo(site, { checkpoint: mine })).error.reason).toBe("LEASE_REQUIRED");
  expect((await undo(site, { checkpoint: mine }, fence)).error.reason).toBe("MERGE_CONFLICT");
  expect((await undo(site, { principal: "owner", since: "start" }, fence)).error).toBeUndefined();
  expect(there(site, "a.txt")).toBe(false);
});

it("more paths, or more bytes, than one save takes are refused, naming the limit", async () => {
  const site = await open();
  const made = await save(
    site,
    "ada",
    ["a", "b", "c"].map((path) => ({ path, text: `${path}\n` })),
  );
  const gone = await save(
    site,
    "ada",
    ["a", "b", "c"].map((path) => ({ path, delete: true })),
  );
  const { read: reader, trees } = site.store;
  const differ = createDiffer();
  atTeardown(() => differ.close());
  const view: UndoView = {
    workspace: site.workspace.rowid,
    reader,
    trees,
    differ,
    clock: systemClock,
    current: async (path) => ({ state: trees.get(site.workspace.tree(), path), bytes: async () => undefined }),
  };
  const plan = (id: string, paths: number, bytes: number): Promise<UndoPlan> => {
    const checkpoint = reader.checkpoint(id);
    if (checkpoint === undefined) throw new Error("no such checkpoint");
    return planUndo(view, [{ checkpoint }], false, { paths, bytes });
  };
  expect((await plan(gone, 3, 6)).edits).toHaveLength(3);
  await expect(plan(gone, 2, 6)).rejects.toMatchObject({ reason: "TOO_LARGE", facts: { limit: 2, unit: "entries" } });
  await expect(plan(gone, 1, 6)).rejects.toMatchObject({ reason: "TOO_LARGE", facts: { limit: 1, unit: "entries" } });
  await expect(plan(gone, 3, 5)).rejects.toMatchObject({ reason: "TOO_LARGE", facts: { limit: 5, unit: "bytes" } });
  expect((await plan(made, 3, 0)).paths.map((path) => path.outcome)).toEqual(["no_change", "no_change", "no_change"]);
});

it("a long answer shows the first paths and keeps all of them for Details", async () => {
  const site = await open();
  const edits = Array.from({ length: 1_001 }, (_, index) => ({
    path: `d/${index % 10}/${index}.txt`,
    expect: "absent",
    text: "x",
  }));
  const made = await site.call("Save", { request_id: "wide", edits }, { as: "ada" });
  const undone = await undo(site, { checkpoint: made.body.checkpoint });
  expect(undone.error).toBeUndefined();
  expect(undone.body.paths).toHaveLength(1_000);
  const page = await site.call("Details", { detail_id: undone.body.detail_id, limit: 200 });
  expect(JSON.parse(page.body.text.split("\n")[0])).toMatchObject({ path: "d/0/0.txt", outcome: "reversed", deleted: true });
  const outcome = await site.call("RequestOutcome", { target_request_id: undone.body.request_id });
  expect(outcome.body.response.undo).toMatchObject({ checkpoint: undone.body.checkpoint, detail_id: undone.body.detail_id });
});

it("what is saved between plan and save makes the plan anew; who is overtaken every time is told", async () => {
  let meanwhile: (() => Promise<void>) | undefined;
  const site = await openApi({
    callers,
    requireLease: "never",
    wrap: (workspace) =>
      new Proxy(workspace, {
        get(target, name) {
          const value: unknown = Reflect.get(target, name);
          if (typeof value !== "function") return value;
          if (name !== "save") return value.bind(target);
          return async (input: SaveInput) => {
            if (input.cause === "undo") await meanwhile?.();
            return target.save(input);
          };
        },
      }),
  });
  await write(site, "ada", "a.txt", "1\n2\n3\n4\n");
  const mine = await write(site, "ada", "a.txt", "1\nX\n3\n4\n");
  let left = 2;
  meanwhile = async () => {
    if (left-- > 0) await write(site, "bob", "a.txt", at(site, "a.txt").replace(/4.*\n/, `4 ${left}\n`));
  };
  const undone = await undo(site, { checkpoint: mine });
  expect(undone.error).toBeUndefined();
  expect(at(site, "a.txt")).toBe("1\n2\n3\n4 0\n");
  left = 100;
  const again = await undo(site, { checkpoint: undone.body.checkpoint });
  expect([again.error.reason, left]).toEqual(["STALE_CONTENT", 95]);
  left = 1;
  meanwhile = async () => {
    if (left-- > 0) await write(site, "bob", "a.txt", at(site, "a.txt").replace("2\n", "bob\n"));
  };
  expect((await undo(site, { checkpoint: undone.body.checkpoint })).error.reason).toBe("MERGE_CONFLICT");
  expect(at(site, "a.txt")).toContain("bob\n");
});

it("other calls are answered while large texts are merged", async () => {
  const site = await open();
  await write(site, "owner", "small.txt", "s\n");
  const line = (index: number): string => `line ${index} of a text that is merged elsewhere\n`;
  const text = (first: string, last: string): string =>
    [first, ...Array.from({ length: 60_000 }, (_, index) => line(index)), last].join("");
  await write(site, "ada", "large.txt", text("first\n", "last\n"));
  const mine = await write(site, "ada", "large.txt", text("FIRST\n", "last\n"));
  await write(site, "bob", "large.txt", text("FIRST\n", "LAST\n"));
  let done = false;
  const undone = undo(site, { checkpoint: mine }).finally(() => (done = true));
  let reads = 0;
  while (!done) {
    expect((await site.call("ReadPath", { path: "small.txt" })).status).toBe(200);
    reads += 1;
  }
  expect((await undone).error).toBeUndefined();
  expect(at(site, "large.txt")).toBe(text("first\n", "LAST\n"));
  expect(reads).toBeGreaterThan(2);
});

it("a file that flips between text and binary comes back either way", async () => {
  const site = await open();
  const put = (as: string, bytes: string): Promise<string> =>
    save(site, as, [{ path: "f", data: Buffer.from(bytes, "latin1").toString("base64") }]);
  const contents = ["text\n", "\0bin", "text again\n", "\0bin\0", ""];
  const ids: string[] = [];
  for (const content of contents) ids.push(await put("ada", content));
  for (let at_ = contents.length - 1; at_ > 0; at_ -= 1) {
    expect((await undo(site, { checkpoint: ids[at_] })).error).toBeUndefined();
    expect(at(site, "f")).toBe(contents[at_ - 1]);
  }
  for (const content of contents.slice(1)) await put("ada", content);
  await write(site, "bob", "other", "x\n");
  expect((await undo(site, { principal: "ada", since: ids[0] })).error).toBeUndefined();
  expect(at(site, "f")).toBe("text\n");
});

/** An edit that expects a symlink to lead somewhere. */
function linkExpect(edit: object, target: string): object {
  return { ...edit, expect: createHash("sha256").update(target).digest("hex") };
}
