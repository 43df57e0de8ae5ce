import { symlinkSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openTools, type ToolSite } from "./site.ts";

const list = async (site: ToolSite, args: object) => JSON.parse((await site.ok("list_dir", args)).result);

describe("list_dir", () => {
  it("depth N is N levels, at the root too, clamped to 1 and 10", async () => {
    const deep = `${Array.from({ length: 12 }, (_, at) => `d${at + 1}`).join("/")}/f`;
    const site = await openTools({ [deep]: "x" });
    const depthOf = (paths: string[]): number => Math.max(...paths.map((path) => path.replace(/\/$/, "").split("/").length));
    for (const [asked, listed] of [
      [1, 1],
      [2, 2],
      [3, 3],
      [10, 10],
      [99, 10],
      [0, 3],
    ]) {
      expect([asked, depthOf((await list(site, { path: ".", depth: asked })).entries)]).toEqual([asked, listed]);
    }
    expect((await list(site, {})).entries).toEqual(["d1/", "d1/d2/", "d1/d2/d3/"]);
    expect((await list(site, { path: "d1", depth: 1 })).entries).toEqual(["d1/d2/"]);
  });

  it("is sorted over the whole tree, leaves out hidden names and what others made, and never follows a symlink", async () => {
    const site = await openTools({
      "a/x": "",
      "a.b": "",
      Z: "",
      ".hidden/x": "",
      ".env": "",
      "node_modules/m/x": "",
      "vendor/x": "",
      "src/build/x": "",
      "src/dist": "",
      "src/[a]-b.txt": "",
    });
    symlinkSync("/etc", join(site.root, "link"));
    expect(await list(site, {})).toEqual({
      entries: ["Z", "a.b", "a/", "a/x", "link", "src/", "src/[a]-b.txt", "src/dist"],
      truncated: false,
      total_count: 8,
      total_count_exact: true,
      offset: 0,
    });
  });

  it.each([
    [4, false],
    [5, false],
    [6, true],
  ])("of %i files a page of 5 is cut: %s", async (count, truncated) => {
    const site = await openTools(Object.fromEntries(Array.from({ length: count }, (_, at) => [`f${at}`, ""])));
    const answer = await site.ok("list_dir", { max_entries: 5 });
    expect(JSON.parse(answer.result)).toMatchObject({ truncated, total_count: count });
    expect(answer.next_call === undefined).toBe(!truncated);
  });

  it("pages cover every entry once and go on exactly", async () => {
    const names = Array.from({ length: 23 }, (_, at) => `f${String(at).padStart(2, "0")}`);
    const site = await openTools(Object.fromEntries(names.map((name) => [name, ""])));
    const seen: string[] = [];
    let args: object | undefined = { max_entries: 5 };
    while (args !== undefined) {
      const { result, next_call } = await site.ok("list_dir", args);
      const page = JSON.parse(result);
      expect(page.offset).toBe(seen.length);
      seen.push(...page.entries);
      expect(page.next_call).toEqual(next_call);
      args = next_call?.arguments;
    }
    expect(seen).toEqual(names);
    expect((await list(site, { offset: 20 })).entries).toEqual(names.slice(20));
    expect((await list(site, { offset: 99 })).entries).toEqual([]);
  });

  it("a page of a tree that has changed since is refused, not mixed up", async () => {
    const site = await openTools({ a: "", b: "", c: "" });
    const { next_call } = await site.ok("list_dir", { max_entries: 2 });
    site.put("aa", "");
    expect(await site.call("list_dir", next_call?.arguments)).toMatchObject({ ok: false, error_code: "stale_file" });
  });

  it("a time filter takes files written strictly after it, and leaves directories", async () => {
    const site = await openTools({ "d/old": "", "d/new": "" });
    utimesSync(join(site.root, "d/old"), 1_700_000_000.5, 1_700_000_000.5);
    utimesSync(join(site.root, "d/new"), 1_700_000_001, 1_700_000_001);
    const listed = async (args: object) => (await list(site, args)).entries;
    expect(await listed({ changed_since: 1_700_000_000.5 })).toEqual(["d/", "d/new"]);
    expect(await listed({ changed_since: 1_700_000_000.25 })).toEqual(["d/", "d/new", "d/old"]);
    expect(await listed({ changed_after: "2023-11-14T22:13:20.499999999Z" })).toEqual(["d/", "d/new", "d/old"]);
    expect(await listed({ changed_after: "2023-11-14T23:13:20.5+01:00" })).toEqual(["d/", "d/new"]);
    expect(await listed({ changed_after: "2023-11-14T22:13:21Z", changed_since: 1 })).toEqual(["d/"]);
    for (const time of ["yesterday", "2023-13-01T00:00:00Z", "2023-11-14 22:13:20"]) {
      expect(await site.call("list_dir", { changed_after: time })).toMatchObject({
        error_code: "invalid_args",
        facts: { field: "args/changed_after" },
      });
    }
  });

  it("what is no directory, missing, outside or out of bounds has its code", async () => {
    const site = await openTools({ "a.txt": "", ".git/x": "" });
    for (const [args, code] of [
      [{ path: "a.txt" }, "invalid_args"],
      [{ path: "gone" }, "file_not_found"],
      [{ path: ".git" }, "path_outside_sandbox"],
      [{ path: "/" }, "invalid_args"],
      [{ path: ".." }, "invalid_args"],
      [{ max_entries: 0 }, "invalid_args"],
      [{ max_entries: 10_001 }, "invalid_args"],
      [{ depth: -1 }, "invalid_args"],
      [{ offset: -1 }, "invalid_args"],
    ] as const) {
      expect([args, (await site.call("list_dir", args)).error_code]).toEqual([args, code]);
    }
    expect((await site.call("list_dir", { depth: -1 })).error).toContain("must be non-negative");
  });
});
