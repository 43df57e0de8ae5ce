import { createHash } from "node:crypto";
import { chmodSync, existsSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { caller } from "../api/site.ts";
import { openTools, type ToolSite } from "./site.ts";

const sha = (text: string): string => createHash("sha256").update(text).digest("hex");

// biome-ignore lint/suspicious/noExplicitAny: tests look into the list's JSON
async function list(site: ToolSite, args: object = {}, options: object = {}): Promise<any> {
  return JSON.parse((await site.ok("undo", { action: "list", ...args }, { requestId: "", ...options })).result);
}

/** Ids of what a list shows. */
async function listed(site: ToolSite, options: object = {}): Promise<string[]> {
  return (await list(site, {}, options)).entries.map((one: { id: string }) => one.id);
}

async function edited(site: ToolSite, path: string, old_text: string, new_text: string, options = {}): Promise<string> {
  return (await site.ok("edit_file", { path, old_text, new_text }, options)).checkpoint;
}

describe("undo list", () => {
  it("shows the caller's own changes, newest first, and what became of them", async () => {
    const site = await openTools({ a: "1\n" }, { callers: { other: caller("other") } });
    const first = await edited(site, "a", "1", "2");
    await edited(site, "a", "2", "3", { as: "other" });
    const made = (await site.ok("write_file", { path: "b", content: "x", if_absent: true })).checkpoint;
    const answer = await list(site);
    expect(answer).toMatchObject({ count: 2, total: 2, totalExact: true });
    expect(answer.entries).toEqual([
      expect.objectContaining({ id: made, target: "b", op: "create", created: true, cause: "tool", undone: "no" }),
      expect.objectContaining({ id: first, target: "a", op: "update", size: 2, hash: sha("1\n"), pathCount: 1 }),
    ]);
    expect(await listed(site, { as: "other" })).toHaveLength(1);
  });

  it("gives at most limit entries; 1 and 1000 are bounds", async () => {
    const site = await openTools({ a: "0\n" });
    for (let n = 0; n < 3; n += 1) await edited(site, "a", String(n), String(n + 1));
    expect(await list(site, { limit: 2 })).toMatchObject({ count: 2, total: 3 });
    expect(await list(site, { limit: 1000 })).toMatchObject({ count: 3, total: 3 });
    expect((await site.call("undo", { action: "list", limit: 0 })).error_code).toBe("invalid_args");
    expect((await site.call("undo", { action: "list", limit: 1001 })).error_code).toBe("invalid_args");
  });

  it("an empty history is an empty list", async () => {
    const site = await openTools();
    expect(await list(site)).toEqual({
      entries: [],
      count: 0,
      total: 0,
      totalExact: true,
    });
  });
});

describe("undo preview and restore", () => {
  it("preview shows the diff and the exact call that restores", async () => {
    const site = await openTools({ a: "1\n2\n3\n" });
    const id = await edited(site, "a", "2", "two");
    const preview = await site.ok("undo", { action: "preview", id }, { requestId: "" });
    expect(preview.result).toBe("diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n 1\n-two\n+2\n 3\n");
    expect(preview.next_call).toEqual({
      tool: "undo",
      arguments: { action: "restore", id, if_checksum: sha("1\ntwo\n3\n") },
    });
    expect(site.text("a")).toBe("1\ntwo\n3\n");
    const restored = await site.ok("undo", preview.next_call?.arguments);
    expect(restored.result).toBe(`restored ${id}: 1 file\nM a`);
    expect(site.text("a")).toBe("1\n2\n3\n");
    expect(site.api.store.read.checkpoint(restored.checkpoint)).toMatchObject({ cause: "undo" });
  });

  it("restore must be told what is there: a checksum for what is, if_absent for what is not", async () => {
    const site = await openTools({ a: "1\n", b: "1\n" });
    const changed = await edited(site, "a", "1", "2");
    const removed = (await site.ok("apply_patch", { patch: "*** Begin Patch\n*** Delete File: b\n*** End Patch" })).checkpoint;
    const made = (await site.ok("write_file", { path: "c", content: "c", if_absent: true })).checkpoint;
    const code = async (args: object): Promise<[string, string]> => {
      const answer = await site.call("undo", { action: "restore", ...args });
      return [answer.error_code, answer.facts?.field ?? ""];
    };
    expect(await code({ id: changed })).toEqual(["invalid_args", "args/if_checksum"]);
    expect(await code({ id: removed })).toEqual(["invalid_args", "args/if_absent"]);
    expect(await code({ id: changed, if_checksum: sha("1\n"), if_absent: true })).toEqual(["invalid_args", "args/if_absent"]);
    expect((await code({ id: changed, if_absent: true }))[0]).toBe("stale_file");
    expect((await code({ id: removed, if_checksum: sha("1\n") }))[0]).toBe("stale_file");
    const stale = await site.call("undo", { action: "restore", id: changed, if_checksum: sha("q") });
    expect(stale.facts.paths).toEqual([{ path: "a", current_sha256: sha("2\n"), merge: "conflict", current_text: "2\n" }]);
    await site.ok("undo", { action: "restore", id: changed, if_checksum: sha("2\n").toUpperCase() });
    await site.ok("undo", { action: "restore", id: removed, if_absent: true });
    expect((await site.ok("undo", { action: "preview", id: made }, { requestId: "" })).result).toBe("would delete c\n");
    await site.ok("undo", { action: "restore", id: made, if_checksum: sha("c") });
    expect([site.text("a"), site.text("b"), existsSync(join(site.root, "c"))]).toEqual(["1\n", "1\n", false]);
  });

  it("takes a whole call back, file mode included, with a checksum for each file", async () => {
    const site = await openTools({ a: "a\n", b: "b\n" });
    chmodSync(join(site.root, "b"), 0o755);
    const patch = "*** Begin Patch\n*** Update File: a\n-a\n+A\n*** Delete File: b\n*** Add File: c\n+c\n*** End Patch";
    const id = (await site.ok("apply_patch", { patch })).checkpoint;
    const alone = await site.call("undo", { action: "restore", id, if_checksum: sha("A\n") });
    expect(alone.facts.field).toBe("args/if_checksums");
    const { next_call } = await site.ok("undo", { action: "preview", id }, { requestId: "" });
    expect(next_call?.arguments.if_checksums).toEqual({ a: sha("A\n"), b: "absent", c: sha("c\n") });
    const done = await site.ok("undo", next_call?.arguments);
    expect(done.result).toBe(`restored ${id}: 3 files\nM a\nA b\nD c`);
    expect([site.text("a"), site.text("b"), existsSync(join(site.root, "c"))]).toEqual(["a\n", "b\n", false]);
    expect(statSync(join(site.root, "b")).mode & 0o777).toBe(0o755);
  });

  it("later work stays; what stands in the way is told, and may be left", async () => {
    const site = await openTools({ a: "1\n2\n3\n4\n5\n6\n7\n", b: "x\n" });
    const edits = [
      { path: "a", old_text: "1", new_text: "one" },
      { path: "b", old_text: "x", new_text: "y" },
    ];
    const id = (await site.ok("multi_edit", { edits })).checkpoint;
    await edited(site, "a", "7", "seven");
    await edited(site, "b", "y", "z");
    const preview = await site.ok("undo", { action: "preview", id }, { requestId: "" });
    expect(preview.meta.clean).toBe(false);
    expect(preview.result).toMatch(/\ncannot take b back: content\n$/);
    const refused = await site.call("undo", { action: "restore", id, if_checksum: sha(site.text("a")) });
    expect(refused).toMatchObject({ error_code: "merge_conflict", facts: { paths: [{ path: "b", conflict: "content" }] } });
    expect(refused.next_call).toMatchObject({ tool: "undo", arguments: { skip_conflicts: true } });
    const left = await site.ok("undo", preview.next_call?.arguments);
    expect(left.result).toBe(`restored ${id}: 1 file\nM a\nleft b: content`);
    expect([site.text("a"), site.text("b")]).toEqual(["1\n2\n3\n4\n5\n6\nseven\n", "z\n"]);
  });

  it("an edit from outside is recorded first and kept", async () => {
    const site = await openTools({ a: "1\n2\n3\n4\n5\n" });
    const id = await edited(site, "a", "1", "one");
    site.put("a", "one\n2\n3\n4\nfive\n");
    await site.ok("undo", { action: "restore", id, if_checksum: sha("one\n2\n3\n4\nfive\n") });
    expect(site.text("a")).toBe("1\n2\n3\n4\nfive\n");
    rmSync(join(site.root, "a"));
    const again = await site.ok("undo", { action: "preview", id }, { requestId: "" });
    expect(again.result).toBe("cannot take a back: delete_modify\n");
  });

  it("what was restored says so, and restoring it again changes nothing", async () => {
    const site = await openTools({ a: "1\n" });
    const id = await edited(site, "a", "1", "2");
    await site.ok("undo", { action: "restore", id, if_checksum: sha("2\n") });
    const { entries } = await list(site);
    expect(entries.map((one: { cause: string; undone: string }) => [one.cause, one.undone])).toEqual([
      ["undo", "no"],
      ["tool", "yes"],
    ]);
    const again = await site.ok("undo", { action: "restore", id, if_checksum: sha("1\n") });
    expect([again.result, again.checkpoint]).toEqual(["nothing to take back: it is as it was", ""]);
  });
});

describe("undo redo", () => {
  it("makes what was taken back again; only an undo can be redone", async () => {
    const site = await openTools({ a: "1\n" });
    const id = await edited(site, "a", "1", "2");
    const undone = (await site.ok("undo", { action: "restore", id, if_checksum: sha("2\n") })).checkpoint;
    expect((await site.call("undo", { action: "redo", id, if_checksum: sha("1\n") })).error).toBe(
      "args/id: names a checkpoint of cause tool, not an undo",
    );
    const preview = await site.ok("undo", { action: "preview", id: undone }, { requestId: "" });
    expect(preview.next_call?.arguments).toEqual({ action: "redo", id: undone, if_checksum: sha("1\n") });
    const redone = await site.ok("undo", preview.next_call?.arguments);
    expect(redone.result).toBe(`redid ${undone}: 1 file\nM a`);
    expect(site.api.store.read.checkpoint(redone.checkpoint)).toMatchObject({ cause: "redo" });
    expect(site.text("a")).toBe("2\n");
  });
});

describe("undo ids", () => {
  it("takes a unique start of 8 characters, with or without ck_; shorter and ambiguous ones are refused", async () => {
    const site = await openTools({ a: "1\n" });
    const id = await edited(site, "a", "1", "2");
    const preview = (given: string) => site.call("undo", { action: "preview", id: given }, { requestId: "" });
    expect((await preview(id.slice(0, 12))).meta.id).toBe(id);
    expect((await preview(id.slice(3, 12))).meta.id).toBe(id);
    expect((await preview(id.slice(0, 7))).error_code).toBe("invalid_args");
    expect((await preview("ck_zzzzzzzzzzzz")).error_code).toBe("id_not_found");
    expect((await preview("")).error_code).toBe("invalid_args");
    expect((await site.call("undo", { action: "restore" })).error).toBe("args/id: is needed");
  });

  it("others' work needs its whole id and the right to take it back; an import cannot be taken back", async () => {
    const few = caller("few", { scopes: new Set(["read", "save"]) as never });
    const site = await openTools({ a: "1\n" }, { callers: { few } });
    const id = await edited(site, "a", "1", "2");
    const as = { as: "few", requestId: "" };
    const whole = await site.call("undo", { action: "preview", id }, as).catch(String);
    expect(JSON.stringify(whole)).toMatch(/scope_forbidden/i);
    expect((await site.call("undo", { action: "preview", id: id.slice(0, 12) }, as)).error_code).toBe("id_not_found");
    const imported = site.api.store.read.checkpoints({ workspace: 1, cause: "import", limit: 1 })[0]?.id ?? "";
    expect((await site.call("undo", { action: "preview", id: imported }, { requestId: "" })).error_code).toBe("unsupported");
  });
});

describe("undo clear", () => {
  it("hides the caller's own entries only, for good, and leaves history", async () => {
    const site = await openTools({ a: "1\n" }, { callers: { other: caller("other") } });
    const mine = await edited(site, "a", "1", "2");
    const theirs = await edited(site, "a", "2", "3", { as: "other" });
    const cleared = await site.ok("undo", { action: "clear" }, { requestId: "c" });
    expect(cleared.meta).toEqual({ cleared: 1 });
    expect(await site.ok("undo", { action: "clear" }, { requestId: "c" })).toMatchObject({
      replayed: true,
      meta: { cleared: 1 },
    });
    expect([await listed(site), await listed(site, { as: "other" })]).toEqual([[], [theirs]]);
    expect((await site.call("undo", { action: "preview", id: mine }, { requestId: "" })).error_code).toBe("id_not_found");
    const later = await edited(site, "a", "3", "4");
    expect(await listed(site)).toEqual([later]);
    expect(site.api.store.read.checkpoint(mine)?.id).toBe(mine);
    const { directory } = site.api;
    await site.api.close();
    const again = await openTools({}, { directory });
    expect(await listed(again)).toEqual([later]);
  });

  it("needs a request id; list and preview need none, nor the right to save", async () => {
    const reader = caller("reader", { scopes: new Set(["read"]) as never });
    const site = await openTools({}, { callers: { reader } });
    expect((await site.call("undo", { action: "clear" }, { requestId: "" })).error_code).toBe("request_id_required");
    expect(await listed(site, { as: "reader" })).toEqual([]);
    const clearing = await site.call("undo", { action: "clear" }, { as: "reader" }).catch(String);
    expect(JSON.stringify(clearing)).toMatch(/scope_forbidden/i);
  });
});
