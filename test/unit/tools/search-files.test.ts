import { createHash } from "node:crypto";
import { mkdirSync, symlinkSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { caller } from "../api/site.ts";
import { type Envelope, openTools, type ToolSite } from "./site.ts";

const IMPORT = { engine: { import: true } };

/** "file:line" of a page in JSON. */
const places = (answer: Envelope): string[] =>
  (JSON.parse(answer.result).results as { file: string; line: number }[]).map(({ file, line }) => `${file}:${line}`);

const json = async (site: ToolSite, args: object) => {
  const answer = await site.ok("search_files", { format: "json", ...args });
  return { ...JSON.parse(answer.result), places: places(answer), next: answer.next_call };
};

describe("search_files", () => {
  test("text, json and filenames tell the same; order is that of bytes, then lines", async () => {
    const site = await openTools(
      { "b.ts": "foo\nbar\nfoo bar\n", "a-b.ts": "foo\n", "a/c.ts": "x\nfoo()\n", "\u{10000}.ts": "foo\n", "\uffee.ts": "foo\n" },
      IMPORT,
    );
    const text = await site.ok("search_files", { pattern: "fo+" });
    expect(text.result).toBe("a-b.ts:1:foo\na/c.ts:2:foo()\nb.ts:1:foo\nb.ts:3:foo bar\n\uffee.ts:1:foo\n\u{10000}.ts:1:foo");
    expect(text.next_call ?? null).toBeNull();
    expect(text.meta).toMatchObject({ truncated: false, total_count: 6, total_count_exact: true, files_searched: 5 });
    const found = await json(site, { pattern: "fo+" });
    expect(found.places).toEqual(["a-b.ts:1", "a/c.ts:2", "b.ts:1", "b.ts:3", "\uffee.ts:1", "\u{10000}.ts:1"]);
    expect(found.results[1]).toEqual({ file: "a/c.ts", line: 2, column: 1, text: "foo()" });
    expect(found).toMatchObject({ truncated: false, total_count: 6, total_count_exact: true, offset: 0 });
    const names = await site.ok("search_files", { pattern: "fo+", format: "filenames" });
    expect(names.result).toBe("a-b.ts: 1 match\na/c.ts: 1 match\nb.ts: 2 matches\n\uffee.ts: 1 match\n\u{10000}.ts: 1 match");
    expect((await site.ok("search_files", { pattern: "nowhere", format: "filenames" })).result).toBe("");
  });

  test("exclusions and protected names hold whatever include says; a path that leads inside is searched", async () => {
    const site = await openTools(
      {
        ".env": "KEY=1\n",
        ".env.local": "KEY=1\n",
        ".ssh/id": "KEY\n",
        ".github/w.yml": "KEY\n",
        "node_modules/m/i.js": "KEY\n",
        "x/vendor/v.go": "KEY\n",
        "build/o.js": "KEY\n",
        "src/build": "KEY\n",
        "a.ts": "KEY\n",
      },
      IMPORT,
    );
    for (const include of [".env", "*", "**", "**/*", ".*", ".env*", "{.env,.github/**}", "**/.ssh/*", "node_modules/**"]) {
      const found = await json(site, { pattern: "KEY", include });
      expect(
        [...found.places].filter((place) => place !== "a.ts:1" && place !== "src/build:1"),
        include,
      ).toEqual([]);
    }
    expect((await json(site, { pattern: "KEY" })).places).toEqual(["a.ts:1", "src/build:1"]);
    expect((await json(site, { pattern: "KEY", path: ".github" })).places).toEqual([".github/w.yml:1"]);
    expect((await json(site, { pattern: "KEY", path: "x/vendor" })).places).toEqual(["x/vendor/v.go:1"]);
    for (const path of [".env", ".ssh", ".ssh/id", "./.env.local", ".git/config"]) {
      const refused = await site.call("search_files", { pattern: "KEY", path });
      expect([path, refused.ok, refused.error_code]).toEqual([path, false, "path_outside_sandbox"]);
    }
    for (const path of ["/etc", "../x"]) expect((await site.call("search_files", { pattern: "a", path })).ok).toBe(false);
  });

  test("a single file as path works, in every format, whatever include and exclusion say", async () => {
    const site = await openTools(
      { "src/a.ts": "one\ntwo\n", "dist/b.js": "two\n", "x:12:y.ts": "12:two\n", "-3-.ts": "two\n" },
      IMPORT,
    );
    expect((await json(site, { pattern: "two", path: "src/a.ts", include: "*.md" })).places).toEqual(["src/a.ts:2"]);
    expect((await site.ok("search_files", { pattern: "two", path: "./src/a.ts" })).result).toBe("src/a.ts:2:two");
    expect((await site.ok("search_files", { pattern: "two", path: "dist/b.js", format: "filenames" })).result).toBe(
      "dist/b.js: 1 match",
    );
    const odd = await json(site, { pattern: "two", path: "." });
    expect(odd.results).toEqual([
      { file: "-3-.ts", line: 1, column: 1, text: "two" },
      { file: "src/a.ts", line: 2, column: 1, text: "two" },
      { file: "x:12:y.ts", line: 1, column: 4, text: "12:two" },
    ]);
  });

  test("one regex dialect: what it cannot read is invalid_regex, with the call that looks for it as it stands", async () => {
    const site = await openTools({ "a.txt": "a(b\nac\nb\n" }, IMPORT);
    expect((await json(site, { pattern: "a(b|c)|^b$" })).places).toEqual(["a.txt:2", "a.txt:3"]);
    const refused = await site.call("search_files", { pattern: "a(b" });
    expect(refused).toMatchObject({ ok: false, error_code: "invalid_regex" });
    expect(refused.next_call).toEqual({ tool: "search_files", arguments: { pattern: "a(b", literal: true } });
    expect((await site.ok("search_files", refused.next_call?.arguments)).result).toBe("a.txt:1:a(b");
    for (const pattern of ["a{,2}b(", "(?=x)", "(a)\\1"]) {
      expect((await site.call("search_files", { pattern })).error_code).toBe("invalid_regex");
      expect((await site.call("search_files", { pattern, path: "nowhere" })).error_code).toBe("invalid_regex");
    }
    // RE2 takes a count without a beginning as it stands: no error, and no backend that thinks otherwise.
    expect((await json(site, { pattern: "a{,2}" })).reason).toBe("pattern_matched_nothing");
  });

  test("zero matches say why: nothing there, nothing recorded there, no match", async () => {
    const site = await openTools({ "a.txt": "a\n" }, IMPORT);
    mkdirSync(join(site.root, "empty"));
    expect(await json(site, { pattern: "zzz" })).toMatchObject({
      results: [],
      total_count: 0,
      reason: "pattern_matched_nothing",
    });
    expect(await json(site, { pattern: "a", path: "nowhere/x" })).toMatchObject({ total_count: 0, reason: "path_not_found" });
    expect(await json(site, { pattern: "a", path: "a.txt/x" })).toMatchObject({ total_count: 0, reason: "path_not_found" });
    expect(await json(site, { pattern: "a", path: "empty" })).toMatchObject({ total_count: 0, reason: "path_is_empty_dir" });
    expect((await site.ok("search_files", { pattern: "zzz" })).meta).toMatchObject({ reason: "pattern_matched_nothing" });
    expect((await site.ok("search_files", { pattern: "zzz" })).result).toBe("");
  });

  test("paging is exact and over the state of the first page, whatever changes meanwhile; every match is reachable", async () => {
    const files = Object.fromEntries(Array.from({ length: 7 }, (_, at) => [`f${at}.txt`, "hit 1\nmiss\nhit 2\nhit 3\n"]));
    const site = await openTools(files, IMPORT);
    const whole = await json(site, { pattern: "hit" });
    expect(whole.total_count).toBe(21);
    for (const max_matches of [1, 2, 3, 20, 21, 22]) {
      let page = await json(site, { pattern: "hit", max_matches });
      expect([max_matches, page.truncated]).toEqual([max_matches, max_matches < 21]);
      const all: string[] = [...page.places];
      while (page.next !== null && page.next !== undefined) {
        expect(page.next.tool).toBe("search_files");
        page = await json(site, page.next.arguments);
        expect(page.total_count).toBe(21);
        all.push(...page.places);
      }
      expect(all).toEqual(whole.places);
    }
    const first = await json(site, { pattern: "hit", max_matches: 4 });
    site.put("f0.txt", "nothing\n");
    site.put("a.txt", "hit\nhit\n");
    const second = await json(site, first.next?.arguments ?? {});
    expect(second.places).toEqual(whole.places.slice(4, 8));
    expect(second.checkpoint).toBe(first.checkpoint);
    expect((await json(site, { pattern: "hit" })).places.slice(0, 2)).toEqual(["a.txt:1", "a.txt:2"]);
    // Names page by file.
    const names = await site.ok("search_files", { pattern: "hit", format: "filenames", max_matches: 2 });
    expect(names.meta).toMatchObject({ truncated: true, offset: 0 });
    expect(names.result.split("\n")).toHaveLength(2);
    expect((await site.ok("search_files", names.next_call?.arguments)).result.split("\n")[0]).toMatch(/^f2/);
    // A cursor is its question's and its caller's.
    const other = { ...first.next?.arguments, pattern: "miss" };
    expect((await site.call("search_files", other)).error_code).toBe("invalid_args");
    expect((await site.call("search_files", { pattern: "hit", cursor: "x" })).error_code).toBe("invalid_args");
  });

  test("a page whose state was given up says so", async () => {
    const site = await openTools({}, { engine: { import: true }, quotaBytes: 2 ** 20 });
    const text = (round: number) => `hit\nhit\n${`${round} ${"x".repeat(50)}\n`.repeat(200)}`;
    let sha: string | undefined;
    const put = async (round: number) => {
      const content = text(round);
      await site.ok("write_file", {
        path: "f.txt",
        content,
        ...(sha === undefined ? { if_absent: true } : { if_checksum: sha }),
      });
      sha = createHash("sha256").update(content).digest("hex");
    };
    for (let round = 0; round < 3; round++) await put(round);
    const first = await json(site, { pattern: "hit", max_matches: 1 });
    for (let round = 3; round < 30; round++) await put(round);
    const { store } = site.api;
    await vi.waitFor(() => expect(store.read.openSaves(1).every(({ state }) => state === "applied")).toBe(true));
    await store.write("durable", { saves: store.read.openSaves(1).map(({ id }) => id) });
    const collected = await site.api.admin("CollectGarbage", { request_id: "g-1", target_bytes: "20000" });
    expect(collected.status).toBe(200);
    const refused = await site.call("search_files", first.next?.arguments);
    expect(refused.ok).toBe(false);
    expect(["history_trimmed", "stale_file"]).toContain(refused.error_code);
    expect((await json(site, { pattern: "hit" })).total_count).toBe(2);
  });

  test("what changed on disk before the call is found, what went is not", async () => {
    const site = await openTools({ "a.txt": "old\n", "gone.txt": "old\n" }, IMPORT);
    expect((await json(site, { pattern: "new" })).total_count).toBe(0);
    site.put("a.txt", "new\n");
    site.put("sub/b.txt", "new\n");
    unlinkSync(join(site.root, "gone.txt"));
    expect((await json(site, { pattern: "new" })).places).toEqual(["a.txt:1", "sub/b.txt:1"]);
    expect((await json(site, { pattern: "old" })).total_count).toBe(0);
  });

  test("context comes as structure, and in text each line once", async () => {
    const site = await openTools({ "a.txt": "1\n2\nx\n4\nx\n6\n7\n8\nx" }, IMPORT);
    const found = await json(site, { pattern: "x", context_lines: 1 });
    expect(found.results).toEqual([
      { file: "a.txt", line: 3, column: 1, text: "x", context_before: ["2"], context_after: ["4"] },
      { file: "a.txt", line: 5, column: 1, text: "x", context_before: ["4"], context_after: ["6"] },
      { file: "a.txt", line: 9, column: 1, text: "x", context_before: ["8"] },
    ]);
    const text = await site.ok("search_files", { pattern: "x", context_lines: 1 });
    expect(text.result.split("\n")).toEqual([
      "a.txt-2-2",
      "a.txt:3:x",
      "a.txt-4-4",
      "a.txt:5:x",
      "a.txt-6-6",
      "--",
      "a.txt-8-8",
      "a.txt:9:x",
    ]);
    expect((await site.call("search_files", { pattern: "x", context_lines: 100 })).ok).toBe(true);
    for (const context_lines of [101, -1, 1.5, "1"])
      expect((await site.call("search_files", { pattern: "x", context_lines })).error_code).toBe("invalid_args");
  });

  test("long lines are cut at a character with the match shown; 50 KiB lines are nothing special", async () => {
    const site = await openTools({ "long.txt": `${"é".repeat(25_000)}needle${"😀".repeat(12_000)}\n` }, IMPORT);
    const { results } = await json(site, { pattern: "needle" });
    expect(results).toEqual([
      {
        file: "long.txt",
        line: 1,
        column: 25_001,
        text: `${"é".repeat(60)}needle${"😀".repeat(134)}`,
        text_start: 24_941,
        text_length: 37_006,
      },
    ]);
    const text = await site.ok("search_files", { pattern: "needle" });
    expect(text.result).toBe(`long.txt:1:…${"é".repeat(60)}needle${"😀".repeat(134)}…`);
  });

  test("every kind of file: binary is passed over and counted, UTF-16 and Latin-1 are read, so are BOM, CRLF, lone CR, no final newline", async () => {
    const site = await openTools(
      {
        "binary.bin": Buffer.from("needle\0"),
        "late-nul.txt": Buffer.from(`needle\n${"a".repeat(8_192)}\0needle`),
        "utf16le.txt": Buffer.from("\ufeffx\nneedle\r\n", "utf16le"),
        "utf16be.txt": Buffer.from("\ufeffneedle\n", "utf16le").swap16(),
        "latin1.txt": Buffer.from("gr\u00fc\u00df needle\n", "latin1"),
        "bom.txt": "\ufeffneedle\n",
        "crlf.txt": "x\r\nneedle\r\n",
        "cr.txt": "x\rneedle\ry",
        "open.txt": "x\nneedle",
        "u2028.txt": "x\u2028needle\fz\n",
        "empty.txt": "",
      },
      IMPORT,
    );
    const found = await json(site, { pattern: "needle" });
    expect(found.places).toEqual([
      "bom.txt:1",
      "cr.txt:1",
      "crlf.txt:2",
      "late-nul.txt:1",
      "late-nul.txt:2",
      "latin1.txt:1",
      "open.txt:2",
      "u2028.txt:1",
      "utf16be.txt:1",
      "utf16le.txt:2",
    ]);
    expect(found.skipped).toEqual({ binary: 1 });
    expect(found.files_searched).toBe(10);
    expect((await json(site, { pattern: "^needle$", include: "{bom,crlf,utf16*,open}.txt" })).total_count).toBe(5);
    expect((await json(site, { pattern: "grüß", literal: true })).places).toEqual(["latin1.txt:1"]);
  });

  test("files too large to be recorded are counted, and searched when they are named", async () => {
    const mib = 1024 * 1024;
    const site = await openTools(
      { "edge.txt": `${"a".repeat(5 * mib - 7)}needle\n`, "over.txt": `${"a\n".repeat((5 * mib) / 2)}needle\nneedle\n` },
      IMPORT,
    );
    const found = await json(site, { pattern: "needle" });
    expect([found.places, found.skipped]).toEqual([["edge.txt:1"], { too_large: 1 }]);
    const named = await json(site, { pattern: "needle", path: "over.txt", max_matches: 1 });
    expect([named.places, named.total_count]).toEqual([[`over.txt:${(5 * mib) / 2 + 1}`], 2]);
    expect((await json(site, named.next?.arguments ?? {})).places).toEqual([`over.txt:${(5 * mib) / 2 + 2}`]);
    site.put("over.txt", `${"b\n".repeat((5 * mib) / 2)}needle\nneedle\n`);
    expect((await site.call("search_files", named.next?.arguments)).error_code).toBe("stale_file");
  });

  test("symlinks: what one inside leads to is searched under its own name, none is followed on the way", async () => {
    const site = await openTools({ "real/a.txt": "needle\n" }, IMPORT);
    symlinkSync("real", join(site.root, "link"));
    symlinkSync("real/a.txt", join(site.root, "file-link"));
    symlinkSync("/etc", join(site.root, "out"));
    expect((await json(site, { pattern: "needle" })).places).toEqual(["real/a.txt:1"]);
    expect((await json(site, { pattern: "needle", path: "link" })).places).toEqual(["real/a.txt:1"]);
    expect((await site.call("search_files", { pattern: "root", path: "out" })).error_code).toBe("path_outside_sandbox");
  });

  test("a caller with path prefixes finds only what is below them", async () => {
    const site = await openTools(
      { "src/a.txt": "needle\n", "srcfoo/a.txt": "needle\n", "docs/a.txt": "needle\n" },
      {
        ...IMPORT,
        callers: { ann: caller("ann", { paths: ["src"] }) },
      },
    );
    const ask = async (args: object) => site.call("search_files", { pattern: "needle", format: "json", ...args }, { as: "ann" });
    expect(places(await ask({}))).toEqual(["src/a.txt:1"]);
    expect((await ask({})).meta).toMatchObject({ total_count: 1, files_searched: 1 });
    expect((await ask({ path: "docs" })).ok).toBe(false);
    expect((await ask({ path: "docs/a.txt" })).ok).toBe(false);
    expect((await ask({ path: "docs/nowhere" })).ok).toBe(false);
    expect((await site.call("find_files", { pattern: "*" }, { as: "ann" })).result).toContain('"files":["src/a.txt"]');
  });

  test("arguments: wrong types, unknown ones, empty patterns and globs that are too much are invalid_args", async () => {
    const site = await openTools({ "a.txt": "a\n" }, IMPORT);
    for (const args of [
      {},
      { pattern: "" },
      { pattern: 1 },
      { pattern: "a", literal: "yes" },
      { pattern: "a", max_matches: -1 },
      { pattern: "a", offset: -1 },
      { pattern: "a", format: "xml" },
      { pattern: "a", query: "a" },
      { pattern: "a", include: "{a,b}".repeat(9) },
      { pattern: "a".repeat(65_537) },
    ])
      expect((await site.call("search_files", args)).error_code, JSON.stringify(args).slice(0, 60)).toBe("invalid_args");
    expect((await json(site, { pattern: "a", max_matches: 0 })).total_count).toBe(1);
    expect((await json(site, { pattern: "a", offset: 1 })).places).toEqual([]);
    expect((await json(site, { pattern: "a".repeat(65_536), literal: true })).total_count).toBe(0);
  });
});
