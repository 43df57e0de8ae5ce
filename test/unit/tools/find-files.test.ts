import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { findFiles } from "../../../src/daemon/tools/search/find-files.ts";
import { openTools, type ToolSite } from "./site.ts";

const IMPORT = { engine: { import: true } };

const find = async (site: ToolSite, args: object) => {
  const answer = await site.ok("find_files", args);
  return { ...JSON.parse(answer.result), next: answer.next_call };
};

describe("find_files", () => {
  test("globs mean what they mean everywhere; excluded, hidden and protected names are pruned at every depth", async () => {
    const site = await openTools(
      {
        "a.ts": "",
        "src/b.ts": "",
        "src/deep/c.ts": "",
        "src/[id].ts": "",
        "-rf": "",
        "--x/-y.ts": "",
        ".hidden/d.ts": "",
        "src/.h.ts": "",
        "vendor/e.ts": "",
        "src/dist/f.ts": "",
        "dist.ts": "",
        ".env": "A=1",
        ".git-not/x.ts": "",
      },
      IMPORT,
    );
    symlinkSync("a.ts", join(site.root, "link.ts"));
    const files = async (pattern: string, path?: string) =>
      (await find(site, path === undefined ? { pattern } : { pattern, path })).files;
    expect(await files("*.ts")).toEqual(["--x/-y.ts", "a.ts", "dist.ts", "src/[id].ts", "src/b.ts", "src/deep/c.ts"]);
    expect(await files("src/*.ts")).toEqual(["src/[id].ts", "src/b.ts"]);
    expect(await files("src/**/*.ts")).toEqual(["src/[id].ts", "src/b.ts", "src/deep/c.ts"]);
    expect(await files("*.ts", "src/deep")).toEqual(["src/deep/c.ts"]);
    expect(await files("deep/*", "src")).toEqual(["src/deep/c.ts"]);
    expect(await files("src/*", "src")).toEqual([]);
    expect(await files("\\[id].ts")).toEqual(["src/[id].ts"]);
    expect(await files("-*")).toEqual(["-rf", "--x/-y.ts"].sort());
    expect(await files("*", ".hidden")).toEqual([".hidden/d.ts"]);
    expect(await files("*.ts", "src/dist")).toEqual(["src/dist/f.ts"]);
    expect(await files(".env")).toEqual([]);
    expect(await files("{a,dist}.ts", ".")).toEqual(["a.ts", "dist.ts"]);
    expect(await files("*.ts", "src/b.ts")).toEqual(["src/b.ts"]);
    expect(await files("*.js", "src/b.ts")).toEqual([]);
    expect((await site.call("find_files", { pattern: "*", path: ".env" })).error_code).toBe("path_outside_sandbox");
  });

  test("exactly limit files is not truncated; pages are exact and of the first page's state", async () => {
    const site = await openTools(Object.fromEntries(Array.from({ length: 5 }, (_, at) => [`f${at}.txt`, "x"])), IMPORT);
    for (const [limit, truncated] of [
      [4, true],
      [5, false],
      [6, false],
    ] as const) {
      const page = await find(site, { pattern: "*", limit });
      expect([page.truncated, page.total_count, page.total_count_exact, page.limit_used]).toEqual([truncated, 5, true, limit]);
    }
    const first = await find(site, { pattern: "*", limit: 2 });
    expect(first).toMatchObject({ files: ["f0.txt", "f1.txt"], offset: 0, backend: "native", next_call: first.next });
    site.put("a.txt", "x");
    const second = await find(site, first.next.arguments);
    expect(second).toMatchObject({ files: ["f2.txt", "f3.txt"], offset: 2, total_count: 5, checkpoint: first.checkpoint });
    const third = await find(site, second.next.arguments);
    expect([third.files, third.truncated, third.next ?? null]).toEqual([["f4.txt"], false, null]);
    expect((await find(site, { pattern: "*" })).files[0]).toBe("a.txt");
  });

  test("nothing found says why", async () => {
    const site = await openTools({ "a.txt": "" }, IMPORT);
    mkdirSync(join(site.root, "empty"));
    expect(await find(site, { pattern: "*.md" })).toMatchObject({ files: [], total_count: 0, reason: "pattern_matched_nothing" });
    expect(await find(site, { pattern: "*", path: "nowhere" })).toMatchObject({ reason: "path_not_found" });
    expect(await find(site, { pattern: "*", path: "empty" })).toMatchObject({ reason: "path_is_empty_dir" });
  });

  test("the hint names next_call where there is one, and nothing else past the last place a page may begin at", async () => {
    const page = async (offset: number) => {
      const context = {
        workspace: { rowid: 1, state: () => ({ head: "ck" }), tree: () => "tree" },
        caller: { paths: undefined },
        authorise: () => {},
        cursors: { open: () => ({ path: "", checkpoint: "ck" }), seal: () => "sealed" },
        search: { files: async () => ({ files: ["a", "b"], total: 200_000 }) },
      };
      const { result } = await findFiles.run({ pattern: "*", limit: 2, offset }, context as never);
      return JSON.parse(result ?? "") as { hint: string; next_call?: unknown; truncated: boolean };
    };
    const last = await page(99_998);
    expect([last.hint, last.next_call !== undefined]).toEqual([
      "2 of 200000 shown; make next_call for more, or narrow path or pattern",
      true,
    ]);
    const past = await page(99_999);
    expect([past.hint, past.next_call, past.truncated]).toEqual([
      "2 of 200000 shown; narrow path or pattern for the others",
      undefined,
      true,
    ]);
  });

  test("limits at their edges, wrong and unknown arguments", async () => {
    const site = await openTools({ "a.txt": "" }, IMPORT);
    for (const args of [
      {},
      { pattern: "" },
      { pattern: "*", limit: 0 },
      { pattern: "*", limit: -1 },
      { pattern: "*", offset: -1 },
      { pattern: "*", offset: 100_001 },
      { pattern: "*", max: 1 },
      { pattern: "x".repeat(4_097) },
    ])
      expect((await site.call("find_files", args)).error_code, JSON.stringify(args).slice(0, 60)).toBe("invalid_args");
    expect((await find(site, { pattern: "*", limit: 1, offset: 100_000 })).files).toEqual([]);
    expect((await find(site, { pattern: "x".repeat(4_096) })).files).toEqual([]);
  });
});
