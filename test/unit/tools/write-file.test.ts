import { createHash } from "node:crypto";
import { existsSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { caller } from "../api/site.ts";
import { openTools } from "./site.ts";

const sha = (text: string): string => createHash("sha256").update(text).digest("hex");

describe("write_file", () => {
  it("makes a new file with its directories, and says bytes and path", async () => {
    const site = await openTools();
    const done = await site.ok("write_file", { path: "deep/er/a.txt", content: "größe\r\n", if_absent: true });
    expect(done.result).toBe("wrote 9 bytes to deep/er/a.txt");
    expect(done.meta).toMatchObject({ path: "deep/er/a.txt", bytes: 9, sha256: sha("größe\r\n"), created: true });
    expect(done.meta.diff).toContain("new file mode 100644\n--- /dev/null\n+++ b/deep/er/a.txt\n");
    expect(site.text("deep/er/a.txt")).toBe("größe\r\n");
  });

  it("a file that is there needs if_checksum, one that is not needs if_absent, never both", async () => {
    const site = await openTools({ a: "x\n" });
    const refused = async (args: object): Promise<[string, string]> => {
      const { error_code, error } = await site.call("write_file", { content: "y", ...args });
      return [error_code, error];
    };
    expect(await refused({ path: "a" })).toEqual(["invalid_args", "args/if_checksum: is needed: a is there already"]);
    expect(await refused({ path: "new" })).toEqual(["invalid_args", "args/if_absent: is needed: new is not there"]);
    expect(await refused({ path: "new", if_absent: false })).toEqual([
      "invalid_args",
      "args/if_absent: is needed: new is not there",
    ]);
    expect((await refused({ path: "a", if_absent: true, if_checksum: sha("x\n") }))[0]).toBe("invalid_args");
    expect((await refused({ path: "new", if_checksum: sha("x\n") }))[0]).toBe("stale_file");
    expect((await refused({ path: "a", if_absent: true }))[0]).toBe("stale_file");
    expect((await refused({ path: "a", if_checksum: sha("q") }))[0]).toBe("stale_file");
    expect((await refused({ path: ".", if_absent: true }))[0]).toBe("invalid_args");
    expect((await refused({ path: ".env", if_absent: true }))[0]).toBe("path_outside_sandbox");
    expect([site.text("a"), existsSync(join(site.root, "new"))]).toEqual(["x\n", false]);
  });

  it("replaces with the right checksum in any case, keeping the mode; the same content makes no checkpoint", async () => {
    const site = await openTools({ a: "x\n" });
    await site.ok("write_file", { path: "a", content: "yy", if_checksum: sha("x\n").toUpperCase() });
    expect(site.text("a")).toBe("yy");
    const same = await site.ok("write_file", { path: "a", content: "yy", if_checksum: sha("yy") });
    expect([same.result, same.checkpoint]).toEqual(["wrote 2 bytes to a (no changes: it had this content)", ""]);
    expect(statSync(join(site.root, "a")).mode & 0o777).toBe(0o644);
  });

  it("writes through a link inside, and refuses one that leads out", async () => {
    const site = await openTools({ a: "x\n" });
    symlinkSync("a", join(site.root, "in"));
    symlinkSync("/etc", join(site.root, "out"));
    await site.ok("write_file", { path: "in", content: "y\n", if_checksum: sha("x\n") });
    expect(site.text("a")).toBe("y\n");
    expect((await site.call("write_file", { path: "out/new", content: "", if_absent: true })).error_code).toBe(
      "path_outside_sandbox",
    );
  });

  it("a stale file brings its text, and merges when that is asked", async () => {
    const site = await openTools({ a: "1\n2\n3\n" });
    await site.ok("edit_file", { path: "a", old_text: "3", new_text: "three" });
    const args = { path: "a", content: "one\n2\n3\n", if_checksum: sha("1\n2\n3\n") };
    const refused = await site.call("write_file", args);
    expect(refused).toMatchObject({
      error_code: "stale_file",
      facts: { paths: [{ current_text: "1\n2\nthree\n", merge: "clean" }] },
      next_call: { tool: "write_file", arguments: { ...args, on_conflict: "merge" } },
    });
    const merged = await site.ok("write_file", { ...args, on_conflict: "merge" });
    expect(merged.meta).toMatchObject({ merged: true, sha256: sha("one\n2\nthree\n") });
    expect(site.text("a")).toBe("one\n2\nthree\n");
  });

  it("a checksum of what stood elsewhere is no base of a merge: nothing of it can be had by its hash", async () => {
    const few = caller("few", { paths: ["mine"] });
    const secret = "1\nsecret\n3\n4\n5\n6\n7\n8\n9\n";
    const site = await openTools({ "mine/a": "x\n", secret }, { callers: { few }, engine: { import: true } });
    await site.ok("search_files", { pattern: "x" });
    expect(site.api.store.read.hasObject(sha(secret))).toBe(true);
    for (const more of [{}, { on_conflict: "merge" }, { dry_run: true }, { dry_run: true, on_conflict: "merge" }]) {
      const asked = await site.call(
        "write_file",
        { path: "mine/a", content: "y\n", if_checksum: sha(secret), ...more },
        { as: "few" },
      );
      expect(asked).toMatchObject({ error_code: "stale_file", facts: { paths: [{ merge: "base_unavailable" }] } });
      expect(JSON.stringify(asked)).not.toContain("secret");
    }
    expect(site.text("mine/a")).toBe("x\n");
  });

  it("dry runs: would create, no changes, a diff; a checksum that was given counts, none is needed", async () => {
    const site = await openTools({ a: "x\n" });
    const dry = (args: object) => site.call("write_file", { dry_run: true, ...args }, { requestId: "" });
    expect((await dry({ path: "n", content: "größe" })).result).toBe("[dry-run] would create n (7 bytes)");
    expect((await dry({ path: "a", content: "x\n" })).result).toBe("no changes");
    expect((await dry({ path: "a", content: "y\n" })).result).toMatch(/^diff --git a\/a b\/a\n/);
    expect((await dry({ path: "a", content: "y\n", if_checksum: sha("q") })).error_code).toBe("stale_file");
    expect((await dry({ path: "a", content: "y\n", if_absent: true })).error_code).toBe("stale_file");
    expect((await dry({ path: "n", content: "y\n", if_checksum: sha("q") })).error_code).toBe("stale_file");
    expect([site.text("a"), existsSync(join(site.root, "n"))]).toEqual(["x\n", false]);
  });

  it("an empty file made by others after the look is not overwritten", async () => {
    const site = await openTools();
    const both = await Promise.all([
      site.call("write_file", { path: "a", content: "one", if_absent: true }),
      site.call("write_file", { path: "a", content: "two", if_absent: true }),
    ]);
    expect(both.map((one) => one.ok).sort()).toEqual([false, true]);
    expect(both.find((one) => !one.ok)?.error_code).toBe("stale_file");
    expect(site.text("a")).toBe(both[0]?.ok === true ? "one" : "two");
  });
});
