import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { caller } from "../api/site.ts";
import { openTools, type ToolSite } from "./site.ts";

/** What a call is refused with, in the envelope or before it. */
async function refusedWith(site: ToolSite, tool: string, args: object, as: string): Promise<string> {
  try {
    const answer = await site.call(tool, args, { as });
    return answer.ok ? "ok" : answer.error_code;
  } catch (thrown) {
    return /SCOPE_FORBIDDEN|scope_forbidden/.test(String(thrown)) ? "scope_forbidden" : String(thrown);
  }
}

const patchOf = (path: string): object => ({ patch: `*** Begin Patch\n*** Update File: ${path}\n-x\n+y\n*** End Patch` });
const sum = "0".repeat(64);

describe("what a caller may not touch", () => {
  const few = caller("few", { paths: ["src"] });
  const files = { "src/a": "x\n", "srcs/a": "x\n", "lib/a": "x\n" };

  it.each([
    ["edit_file", { path: "lib/a", old_text: "x", new_text: "y" }],
    ["edit_file", { path: "srcs/a", old_text: "x", new_text: "y" }],
    ["edit_file", { path: "lib/gone", old_text: "x", new_text: "y" }],
    [
      "multi_edit",
      {
        edits: [
          { path: "src/a", old_text: "x", new_text: "y" },
          { path: "lib/a", old_text: "x", new_text: "y" },
        ],
      },
    ],
    ["write_file", { path: "lib/a", content: "y", if_checksum: sum }],
    ["write_file", { path: "lib/new", content: "y", if_absent: true }],
    ["apply_patch", patchOf("lib/a")],
    ["apply_patch", { patch: "*** Begin Patch\n*** Update File: src/a\n*** Move to: lib/b\n*** End Patch" }],
    ["search_replace", { pattern: "x", replacement: "y", files: "lib/a" }],
  ])("is not touched by %s, and nothing of it is told", async (tool, args) => {
    const site = await openTools(files, { callers: { few } });
    expect(await refusedWith(site, tool, args, "few")).toBe("scope_forbidden");
    expect(await refusedWith(site, tool, { ...args, dry_run: true }, "few")).toBe("scope_forbidden");
    expect([site.text("src/a"), site.text("lib/a"), existsSync(join(site.root, "lib/b"))]).toEqual(["x\n", "x\n", false]);
  });

  it("search_replace over a directory changes only what may be touched; undo shows no other path", async () => {
    const site = await openTools(files, { callers: { few }, engine: { import: true } });
    const done = await site.ok("search_replace", { pattern: "x", replacement: "y", files: "." }, { as: "few" });
    expect(done.meta.files.map((one: { path: string }) => one.path)).toEqual(["src/a"]);
    expect([site.text("src/a"), site.text("lib/a")]).toEqual(["y\n", "x\n"]);
    const list = JSON.parse((await site.ok("undo", { action: "list" }, { as: "few" })).result);
    expect(list.entries).toMatchObject([{ target: "src/a", paths: ["src/a"] }]);
  });

  it("search_replace does not tell which names outside are directories", async () => {
    const site = await openTools(files, { callers: { few }, engine: { import: true } });
    const asked = async (files: string) =>
      refusedWith(site, "search_replace", { pattern: "x", replacement: "y", files, dry_run: true }, "few");
    expect([await asked("lib"), await asked("lib/a"), await asked("nowhere")]).toEqual(Array(3).fill("scope_forbidden"));
  });

  it("whoever may touch a/b only is told nothing of a file a: not that it is there, not its text, in no tool", async () => {
    const deep = caller("deep", { paths: ["a/b", "d/b"] });
    const site = await openTools(
      { a: "needle\n", "d/b/in.txt": "needle\n", "d/out.txt": "needle\n" },
      { callers: { deep }, engine: { import: true } },
    );
    site.put(".gitignore", "ignored\nlarge\n");
    site.put("ignored/x", "x\n");
    for (const path of ["a", "nowhere", "ignored"]) {
      for (const [tool, args] of [
        ["search_files", { pattern: "needle", path }],
        ["find_files", { pattern: "*", path }],
        ["search_replace", { pattern: "needle", replacement: "y", files: path, dry_run: true }],
        ["list_dir", { path }],
        ["stat_file", { path }],
      ] as const)
        expect([tool, path, await refusedWith(site, tool, args, "deep")]).toEqual([tool, path, "scope_forbidden"]);
    }
    const found = await site.ok("search_files", { pattern: "needle", path: "d", format: "filenames" }, { as: "deep" });
    expect(found.result).toBe("d/b/in.txt: 1 match");
  });

  it("a caller that must hold a lease is told so by each tool, and nothing is changed", async () => {
    const site = await openTools({ a: "x\n" }, { requireLease: "always" });
    for (const [tool, args] of [
      ["edit_file", { path: "a", old_text: "x", new_text: "y" }],
      ["multi_edit", { edits: [{ path: "a", old_text: "x", new_text: "y" }] }],
      ["write_file", { path: "b", content: "y", if_absent: true }],
      ["apply_patch", patchOf("a")],
      ["search_replace", { pattern: "x", replacement: "y", files: "a" }],
    ] as const) {
      expect([tool, await refusedWith(site, tool, args, "owner")]).toEqual([tool, "lease_required"]);
    }
    expect([site.text("a"), existsSync(join(site.root, "b"))]).toEqual(["x\n", false]);
  });
});
