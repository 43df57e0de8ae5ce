import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { runCommand } from "../../helpers/process.ts";
import { chance } from "../../helpers/random.ts";
import { tempDir } from "../../helpers/temp.ts";
import { hashOf } from "../../kernel/workspace/model.ts";
import { readModel, shown } from "../history/patch-trees.ts";
import { type ApiSite, caller, fastDir, openApi } from "./site.ts";

type Files = Record<string, string | Buffer>;
type FileDiff = Record<string, string | boolean | number>;
interface Page {
  readonly from: string;
  readonly to: string;
  readonly files: FileDiff[];
  readonly next_cursor: string;
  readonly state: { readonly head: string; readonly generation: string };
}

function put(directory: string, files: Files): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), content);
  }
}

const callers = {
  src: caller("src", { paths: ["src"] }),
  other: caller("other"),
};

/** A site whose directory held these files before it was opened: they are its base. */
async function imported(files: Files): Promise<ApiSite> {
  const directory = fastDir();
  put(join(directory, "ws"), files);
  mkdirSync(join(directory, "ws"), { recursive: true });
  const site = await openApi({ directory, engine: { import: true }, callers });
  while (!site.workspace.importProgress().done) await new Promise((resolve) => setImmediate(resolve));
  return site;
}

const diff = async (site: ApiSite, request: object = {}, how = {}): Promise<Page> => {
  const { body, error } = await site.call("Diff", request, how);
  if (error !== undefined) throw new Error(JSON.stringify(error));
  return body as Page;
};
const refusal = async (site: ApiSite, request: object, how = {}) => (await site.call("Diff", request, how)).error?.reason;
const short = (page: Page) =>
  page.files.map(({ status, path, old_path, added_lines, removed_lines, no_patch }) => {
    const name = old_path === "" ? path : `${old_path}→${path}`;
    return `${String(status).slice(12).toLowerCase()} ${name} +${added_lines} -${removed_lines}${no_patch ? ` ${no_patch}` : ""}`;
  });

/** All pages, each asked with `limit`; pieces of a patch joined. */
async function pages(site: ApiSite, request: object, limit: number, between: () => Promise<void> = async () => {}) {
  const files: FileDiff[] = [];
  const tos = new Set<string>();
  let cursor = "";
  let count = 0;
  do {
    const page = await diff(site, { ...request, limit, cursor });
    tos.add(page.to);
    for (const [index, file] of page.files.entries()) {
      const last = files.at(-1);
      if (index === 0 && last?.patch_continues === true) {
        expect(file.path).toBe(last.path);
        last.patch = `${last.patch}${file.patch}`;
        last.patch_continues = file.patch_continues ?? false;
      } else files.push({ ...file });
    }
    cursor = page.next_cursor;
    count += 1;
    await between();
  } while (cursor !== "");
  return { files, tos: [...tos], count };
}

const lines = (count: number, tag = "") => Array.from({ length: count }, (_, n) => `${tag}line ${n}\n`).join("");

describe("Diff", () => {
  test("is what is on disk against the base, found without being told", async () => {
    const site = await imported({ "src/a.txt": "1\n2\n3\n", gone: "x\n", kept: "k\n" });
    expect((await diff(site)).files).toEqual([]);
    put(site.root, { "src/a.txt": "1\ntwo\n3\n", new: "n\n" });
    rmSync(join(site.root, "gone"));
    const page = await diff(site);
    expect(page.to).toBe(site.workspace.state().head);
    expect(page.state).toMatchObject({ head: page.to, generation: String(site.workspace.state().generation) });
    expect(page.from).toBe(site.store.read.workspaces()[0]?.base);
    expect(short(page)).toEqual(["deleted gone +0 -1", "added new +1 -0", "modified src/a.txt +1 -1"]);
    expect(page.files[2]).toEqual({
      path: "src/a.txt",
      status: "DIFF_STATUS_MODIFIED",
      old_path: "",
      old_sha256: hashOf(Buffer.from("1\n2\n3\n")),
      new_sha256: hashOf(Buffer.from("1\ntwo\n3\n")),
      old_size: "6",
      new_size: "8",
      old_executable: false,
      new_executable: false,
      old_kind: "PATH_KIND_FILE",
      new_kind: "PATH_KIND_FILE",
      added_lines: "1",
      removed_lines: "1",
      binary: false,
      similarity: 0,
      patch: "diff --git a/src/a.txt b/src/a.txt\n--- a/src/a.txt\n+++ b/src/a.txt\n@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n",
      patch_continues: false,
      no_patch: "",
    });
  });

  test("every kind of change, and git apply takes it all", async () => {
    const before: Files = {
      moved: lines(30),
      "was executable": "x\n",
      file: "f\n",
      "crlf.txt": "a\r\nb\r\n",
      "no newline": "a",
      "bin/a": "\0\x01",
      "latin1.txt": Buffer.from("gr\xfcn\n", "latin1"),
      dir: "d\n",
    };
    const site = await imported(before);
    const copy = tempDir("apply");
    put(copy, before);
    const at = (name: string) => join(site.root, name);
    renameSync(at("moved"), at("ümlaut\nname"));
    put(site.root, { "ümlaut\nname": lines(29), "crlf.txt": "a\r\nB\r\n", "no newline": "a\nb", empty: "" });
    chmodSync(at("was executable"), 0o755);
    rmSync(at("file"));
    symlinkSync("else where", at("file"));
    rmSync(at("dir"));
    put(site.root, { "dir/below": "e\n" });
    const page = await diff(site);
    expect(short(page)).toEqual([
      "modified crlf.txt +1 -1",
      "deleted dir +0 -1",
      "added dir/below +1 -0",
      "added empty +0 -0",
      "type file +1 -1",
      "modified no newline +2 -1",
      "mode was executable +0 -0",
      "renamed moved→ümlaut\nname +0 -1",
    ]);
    const patch = page.files.map((file) => file.patch).join("");
    const { code, stderr } = await runCommand("git", ["apply", "-"], { cwd: copy, input: patch });
    expect([code, stderr.includes("error")]).toEqual([0, false]);
    expect(shown(readModel(copy))).toEqual(shown(readModel(site.root)));
    put(site.root, { "bin/a": "\0\x02", "latin1.txt": Buffer.from("gr\xfcner\n", "latin1") });
    expect(short(await diff(site, { from: page.to }))).toEqual([
      "modified bin/a +0 -0 binary",
      "modified latin1.txt +0 -0 not_utf8",
    ]);
  });

  test("between any two checkpoints, in both directions, below a prefix", async () => {
    const site = await imported({ "src/a": "1\n", b: "1\n" });
    put(site.root, { "src/a": "2\n" });
    const one = (await diff(site)).to;
    put(site.root, { b: "2\n" });
    const two = (await diff(site)).to;
    expect(short(await diff(site, { from: one, to: two }))).toEqual(["modified b +1 -1"]);
    expect(short(await diff(site, { from: two, to: "base" }))).toEqual(["modified b +1 -1", "modified src/a +1 -1"]);
    expect((await diff(site, { from: "head", to: one })).files[0]?.patch).toContain("-2\n+1\n");
    expect(short(await diff(site, { prefix: "src" }))).toEqual(["modified src/a +1 -1"]);
    expect(short(await diff(site, { prefix: "src/a" }))).toEqual(["modified src/a +1 -1"]);
    expect(short(await diff(site, { prefix: "sr" }))).toEqual([]);
    expect((await diff(site, { from: one, to: one })).files).toEqual([]);
    const { files } = await diff(site, { from: one, summary: true });
    expect(files).toMatchObject([{ added_lines: "1", removed_lines: "1", patch: "", no_patch: "" }]);
    expect(await refusal(site, { from: "ck_nope" })).toBe("ID_NOT_FOUND");
    expect(await refusal(site, { prefix: "../x" })).toBe("PATH_INVALID");
    expect(await refusal(site, { prefix: ".git/config" })).toBe("PATH_SENSITIVE");
    expect(await refusal(site, { context_lines: 1_001 })).toBe("INVALID_REQUEST");
    expect(await refusal(site, { limit: 2_000_000 })).toBe("INVALID_REQUEST");
  });

  test("of two files that could have been renamed, the one a save renamed was", async () => {
    const same = lines(20);
    const site = await imported({ a: same, b: same });
    const sha256 = hashOf(Buffer.from(same));
    const edits = [
      { path: "a", expect: sha256, delete: true },
      { path: "b", expect: sha256, rename_to: "c" },
    ];
    expect((await site.call("Save", { request_id: "r", edits })).error).toBeUndefined();
    expect(short(await diff(site))).toEqual(["deleted a +0 -20", "renamed b→c +0 -0"]);
    // Back again: what a save said of the way there says nothing.
    expect(short(await diff(site, { from: "head", to: "base" }))).toEqual(["renamed c→a +0 -0", "added b +20 -0"]);
  });

  test("context lines: 0, 1 and all of them; left out it is 3", async () => {
    const site = await imported({ a: lines(9) });
    put(site.root, { a: lines(9).replace("line 4", "LINE 4") });
    const context = async (request: object) =>
      String((await diff(site, request)).files[0]?.patch)
        .split("\n")
        .filter((line) => line.startsWith(" ")).length;
    expect(await context({})).toBe(6);
    expect(await context({ context_lines: 0 })).toBe(0);
    expect(await context({ context_lines: 1 })).toBe(2);
    expect(await context({ context_lines: 1_000 })).toBe(8);
  });

  test("before there is a base it is NOT_READY", async () => {
    const site = await openApi();
    expect(await refusal(site, {})).toBe("NOT_READY");
  });

  test("contents that were never kept, and those too large for lines, are said to be", async () => {
    const large = Buffer.alloc(6 * 1024 * 1024, "0123456789abcde\n");
    const site = await imported({ large, huge: Buffer.alloc(9 * 1024 * 1024, "x\n") });
    put(site.root, { large: "small now\n", huge: "small\n" });
    expect(short(await diff(site))).toEqual(["modified huge +0 -0 too_large", "modified large +0 -0 content_not_kept"]);
  });
});

describe("pages of a diff", () => {
  test("join to the whole, at every size, while the workspace moves on", async () => {
    const random = chance("diff pages");
    const wide = (tag: string) => Array.from({ length: 400 }, (_, n) => `${tag} 日本語 \u{1f600} ${n}\n`).join("");
    const files = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`d${n % 4}/f${n}`, `${lines(20)}${n}\n`]));
    const site = await imported({ ...files, wide: wide("a"), line: "x".repeat(50) });
    put(site.root, Object.fromEntries(Object.keys(files).map((path) => [path, files[path]?.replace("line 7", "seven") ?? ""])));
    put(site.root, { wide: wide("b"), line: "\u{1f600}".repeat(50) });
    const whole = await pages(site, {}, 1_048_576);
    expect(whole).toMatchObject({ count: 1, tos: [site.workspace.state().head] });
    expect(whole.files).toHaveLength(32);
    for (const limit of [1_000, 4_096, 25_000, 200 + random.int(30_000)]) {
      let n = 0;
      const paged = await pages(site, { to: "head" }, limit, async () => {
        put(site.root, { [`later${limit}-${n++}`]: "x\n" });
        await diff(site, { from: "head", to: "head" });
      });
      expect(paged.count).toBeGreaterThan(1);
      // A cursor over head speaks of what head was at page one; only the first page of each round sees earlier rounds' files.
      expect(paged.tos).toHaveLength(1);
      expect(paged.files.filter((file) => !String(file.path).startsWith("later"))).toEqual(whole.files);
    }
    // Even where a page holds less than a code point.
    const tiny = await pages(site, { to: whole.tos[0], prefix: "line", context_lines: 0 }, 1);
    expect(tiny.files.map((file) => file.patch)).toEqual([whole.files.find((file) => file.path === "line")?.patch]);
  });

  test("a cursor opens only its own query for its own caller", async () => {
    const site = await imported({ a: "1\n", b: "1\n" });
    put(site.root, { a: "2\n", b: "2\n" });
    const { next_cursor: cursor, to } = await diff(site, { limit: 1 });
    expect(cursor).not.toBe("");
    for (const request of [
      { cursor, to },
      { cursor, prefix: "a" },
      { cursor, summary: true },
      { cursor, context_lines: 1 },
      { cursor: `${cursor}A` },
    ])
      expect(await refusal(site, request)).toBe("INVALID_CURSOR");
    expect(await refusal(site, { cursor }, { as: "other" })).toBe("INVALID_CURSOR");
    expect((await diff(site, { cursor, limit: 1 })).files[0]?.path).toBe("a");
  });
});

test("a token's path prefixes hide the rest, renames across them included", async () => {
  const site = await imported({ "src/a": "1\n", "secret/b": lines(20), c: "1\n" });
  put(site.root, { "src/a": "2\n", c: "2\n" });
  renameSync(join(site.root, "secret/b"), join(site.root, "src/b"));
  expect(short(await diff(site))).toEqual(["modified c +1 -1", "modified src/a +1 -1", "renamed secret/b→src/b +0 -0"]);
  expect(short(await diff(site, {}, { as: "src" }))).toEqual(["modified src/a +1 -1", "added src/b +20 -0"]);
  expect(await refusal(site, { prefix: "secret" }, { as: "src" })).toBe("SCOPE_FORBIDDEN");
});

/** Milliseconds this thread has been running: unlike the clock's, they do not pass while others have the processor. */
function busyMs(): number {
  const schedstat = "/proc/thread-self/schedstat";
  return existsSync(schedstat) ? Number(readFileSync(schedstat, "utf8").split(" ")[0]) / 1e6 : performance.now();
}

describe("a large diff", () => {
  const unlike = (seed: string) => {
    const random = chance(`large diff ${seed}`);
    return Array.from({ length: 120_000 }, () => `${random.int(40_000)} some words of code\n`).join("");
  };

  test("holds up no small read, and stops when its caller does", async () => {
    const site = await imported({ big: unlike("a"), small: "s\n" });
    put(site.root, { big: unlike("b") });
    const from = (await diff(site, { summary: true, prefix: "small" })).from;
    const longest: number[] = [];
    // A pause that comes once is the collector's; what we do ourselves comes every time.
    for (const context_lines of [1, 2, 3]) {
      const running = diff(site, { to: site.workspace.state().head, context_lines });
      let done = false;
      void running.finally(() => {
        done = true;
      });
      let most = 0;
      while (!done) {
        const started = busyMs();
        await site.call("ReadPath", { path: "small", snapshot: from });
        most = Math.max(most, busyMs() - started);
      }
      longest.push(most);
      expect(Number((await running).files[0]?.added_lines)).toBeGreaterThan(1_000);
    }
    console.log(`large diff: longest read beside each run in ms: ${longest.map((ms) => ms.toFixed(1)).join(", ")}`);
    // The figure is 20 ms; a test fails at five times it.
    expect(Math.min(...longest)).toBeLessThan(100);
    const started = performance.now();
    const stopped = await site.call("Diff", { to: "head", context_lines: 7 }, { timeoutMs: 100 });
    expect(stopped.error?.reason).toBe("DEADLINE_EXCEEDED");
    expect(performance.now() - started).toBeLessThan(350 * 5);
    // The thread that was at it was replaced.
    expect((await diff(site, { context_lines: 1 })).files).toHaveLength(1);
  });
});
