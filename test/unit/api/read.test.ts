import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { CAPTURE_BYTES } from "../../../src/daemon/workspace/index.ts";
import { chance } from "../../helpers/random.ts";
import { hashOf } from "../../kernel/workspace/model.ts";
import { type ApiSite, caller, openApi } from "./site.ts";

let site: ApiSite;
beforeEach(async () => {
  site = await openApi({ callers: { src: caller("src", { paths: ["src"] }) } });
});

const put = (path: string, bytes: string | Uint8Array): string => {
  mkdirSync(join(site.root, path, ".."), { recursive: true });
  writeFileSync(join(site.root, path), bytes);
  return hashOf(Buffer.from(bytes));
};
const read = async (body: object, how = {}) => site.call("ReadPath", body, how);
const reason = async (body: object, how = {}) => (await read(body, how)).error?.reason;

/** Every page of a file, each as bytes. */
async function pages(body: object): Promise<Buffer[]> {
  const all: Buffer[] = [];
  let cursor = "";
  do {
    const page = (await read({ ...body, cursor })).body;
    expect(Number(page.offset)).toBe(Buffer.concat(all).byteLength);
    all.push(page.text === undefined ? Buffer.from(page.data, "base64") : Buffer.from(page.text));
    cursor = page.next_cursor;
  } while (cursor !== "");
  return all;
}

describe("files at head", () => {
  it("tells a file's facts, and its text as it is", async () => {
    const cases: [string, string | Buffer, object][] = [
      ["lf", "a\nb\n", { encoding: "utf-8", line_ending: "lf", bom: false, line_count: "2", text: "a\nb\n" }],
      ["open", "a\nb", { line_ending: "lf", line_count: "2" }],
      ["crlf", "a\r\nb\r\n", { line_ending: "crlf", line_count: "2", text: "a\r\nb\r\n" }],
      ["mixed", "a\r\nb\n", { line_ending: "mixed", line_count: "2" }],
      ["none", "a", { line_ending: "none", line_count: "1" }],
      ["empty", "", { encoding: "utf-8", line_ending: "none", line_count: "0", size: "0", text: "" }],
      ["bom", "\ufeffa\n", { bom: true, text: "\ufeffa\n", size: "5" }],
      ["cr", "a\rb\r", { line_ending: "none", line_count: "1" }],
      ["nul", "a\0b\n", { encoding: "utf-8", text: "a\0b\n" }],
      ["bin", Buffer.from([0xff, 0x0a, 0xfe]), { encoding: "binary", line_ending: "none", line_count: "0", data: "/wr+" }],
    ];
    for (const [name, bytes, facts] of cases) {
      const sha256 = put(name, bytes);
      const { body } = await read({ path: name });
      expect(body, name).toMatchObject({
        path: name,
        kind: "PATH_KIND_FILE",
        sha256,
        executable: false,
        unchanged: false,
        next_cursor: "",
        ...facts,
      });
      expect("text" in body !== "data" in body, name).toBe(true);
      expect(body.checkpoint, name).toBe(body.state.head);
    }
    chmodSync(join(site.root, "lf"), 0o755);
    expect((await read({ path: "lf" })).body.executable).toBe(true);
  });

  it("answers without bytes when they are not wanted or known", async () => {
    const sha = put("a", "x\n");
    const known = (await read({ path: "a", if_hash: sha })).body;
    expect([known.unchanged, "text" in known, known.sha256]).toEqual([true, false, sha]);
    const other = (await read({ path: "a", if_hash: hashOf(Buffer.from("y")) })).body;
    expect([other.unchanged, other.text]).toEqual([false, "x\n"]);
    const facts = (await read({ path: "a", content: false })).body;
    expect(["text" in facts, facts.line_count, facts.size]).toEqual([false, "1", "2"]);
    expect(await reason({ path: "a", if_hash: "ABC" })).toBe("INVALID_REQUEST");
  });

  it("pages by bytes without splitting a code point, for every small limit", async () => {
    const text = "aé€😀\r\nz";
    put("a", text);
    for (const limit of [1, 2, 3, 4, 5, 7, 100]) {
      const all = await pages({ path: "a", limit });
      expect(Buffer.concat(all).toString(), String(limit)).toBe(text);
      for (const page of all) expect(Buffer.from(page.toString()).equals(page), `${limit}: ${page}`).toBe(true);
      for (const page of all) expect(page.byteLength <= Math.max(limit, 4)).toBe(true);
    }
    const bytes = Buffer.from([0xff, 0xc3, 0xa9, 0xf0, 0x9f]);
    put("b", bytes);
    expect((await pages({ path: "b", limit: 2 })).map((page) => page.byteLength)).toEqual([2, 2, 1]);
  });

  it("pages random texts to the same bytes, with the first line of each page right", async () => {
    const roll = chance("api pages");
    for (let round = 0; round < 10; round += 1) {
      const letters = ["a", "\n", "\r\n", "é", "😀", "€"];
      const text = Array.from({ length: 200 }, () => roll.pick(letters)).join("");
      put("a", text);
      let [cursor, seen] = ["", ""];
      do {
        const page = (await read({ path: "a", cursor, limit: 1 + roll.int(90) })).body;
        expect(Number(page.first_line)).toBe(seen.split("\n").length);
        seen += page.text;
        cursor = page.next_cursor;
      } while (cursor !== "");
      expect(seen).toBe(text);
    }
  });

  it("takes a default page of 25,000 bytes and at most a mebibyte", async () => {
    put("a", "x".repeat(60_000));
    expect((await pages({ path: "a" })).map((page) => page.byteLength)).toEqual([25_000, 25_000, 10_000]);
    expect((await read({ path: "a", limit: 1_048_576 })).status).toBe(200);
    expect((await read({ path: "a", limit: 1_048_577 })).error).toMatchObject({
      reason: "INVALID_REQUEST",
      facts: { field: "limit", limit: 1_048_576 },
    });
  });

  it("reads ranges of lines, and pages inside them", async () => {
    put("a", "1\n2\r\n3\n4");
    const range = async (start_line: number, end_line: number) => (await read({ path: "a", start_line, end_line })).body;
    expect((await range(2, 3)).text).toBe("2\r\n3\n");
    expect((await range(2, 3)).first_line).toBe("2");
    expect((await range(0, 1)).text).toBe("1\n");
    expect((await range(3, 0)).text).toBe("3\n4");
    expect((await range(4, 4)).text).toBe("4");
    expect((await range(9, 12)).text).toBe("");
    const pieces: string[] = [];
    let cursor = "";
    do {
      const page = (await read({ path: "a", start_line: 2, end_line: 3, limit: 2, cursor })).body;
      pieces.push(page.text);
      cursor = page.next_cursor;
    } while (cursor !== "");
    expect(pieces).toEqual(["2\r", "\n3", "\n"]);
    expect((await read({ path: "a", start_line: 3, end_line: 2 })).error.facts.field).toBe("end_line");
    put("b", Buffer.from([0xff]));
    expect((await read({ path: "b", start_line: 1 })).error.facts.field).toBe("start_line");
  });

  it("goes on with page one's content although the file changes, because it is kept", async () => {
    put("a", "old ".repeat(10));
    const first = (await read({ path: "a", limit: 10 })).body;
    put("a", "new ".repeat(10));
    const second = (await read({ path: "a", limit: 100, cursor: first.next_cursor })).body;
    expect(first.text + second.text).toBe("old ".repeat(10));
    expect(second.checkpoint).toBe(first.checkpoint);
  });

  it("reads a file too large to hold in pieces, and says CURSOR_EXPIRED when it changed", async () => {
    const line = "0123456789abcde\n";
    const text = line.repeat(CAPTURE_BYTES / line.length + 1);
    const sha256 = put("large", text);
    const first = (await read({ path: "large", limit: 1_048_576 })).body;
    expect(first).toMatchObject({
      sha256,
      size: String(text.length),
      encoding: "utf-8",
      line_ending: "lf",
      line_count: String(text.length / 16),
    });
    const second = (await read({ path: "large", limit: 16, cursor: first.next_cursor })).body;
    expect([second.text, second.offset, second.first_line]).toEqual([line, "1048576", "65537"]);
    const last = (await read({ path: "large", start_line: text.length / 16 })).body;
    expect(last.text).toBe(line);
    writeFileSync(join(site.root, "large"), `X${text.slice(1)}`);
    expect((await read({ path: "large", cursor: second.next_cursor })).error).toMatchObject({
      reason: "CURSOR_EXPIRED",
      facts: { path: "large" },
    });
  });
});

describe("directories and links", () => {
  it("lists in byte order, protected names without contents, and pages", async () => {
    for (const name of ["b", "a/x", "é", "Z"]) put(name, name);
    put(".git/config", "secret");
    symlinkSync("b", join(site.root, "link"));
    await read({ path: "b" });
    const { body } = await read({ path: "." });
    expect(body.kind).toBe("PATH_KIND_DIRECTORY");
    expect(body.entries.map((entry: { name: string; kind: string }) => `${entry.name} ${entry.kind.slice(10)}`)).toEqual([
      ".git DIRECTORY",
      "Z FILE",
      "a DIRECTORY",
      "b FILE",
      "link SYMLINK",
      "é FILE",
    ]);
    expect(
      body.entries.filter((entry: { sensitive: boolean }) => entry.sensitive).map((entry: { name: string }) => entry.name),
    ).toEqual([".git"]);
    expect(body.entries.find((entry: { name: string }) => entry.name === "b").sha256).toBe(hashOf(Buffer.from("b")));
    const names: string[] = [];
    let cursor = "";
    do {
      const page = (await read({ path: "", limit: 2, cursor })).body;
      expect(page.entries.length).toBe(2);
      names.push(...page.entries.map((entry: { name: string }) => entry.name));
      cursor = page.next_cursor;
    } while (cursor !== "");
    expect(names).toEqual([".git", "Z", "a", "b", "link", "é"]);
    const first = (await read({ path: "", limit: 2 })).body;
    put("new", "");
    expect(await reason({ path: "", limit: 2, cursor: first.next_cursor })).toBe("CURSOR_EXPIRED");
    expect(await reason({ path: "", limit: 1_001 })).toBe("INVALID_REQUEST");
  });

  it("refuses bad paths with their own reasons", async () => {
    put("file", "x");
    put(".env", "K=v");
    symlinkSync("/etc/passwd", join(site.root, "out"));
    execFileSync("mkfifo", [join(site.root, "fifo")]);
    const cases: [string, string][] = [
      ["/etc/passwd", "PATH_INVALID"],
      ["../x", "PATH_INVALID"],
      ["a//b", "PATH_INVALID"],
      ["a\0b", "PATH_INVALID"],
      ["x".repeat(5_000), "PATH_INVALID"],
      ["missing", "PATH_NOT_FOUND"],
      ["file/under", "NOT_A_DIRECTORY"],
      [".git/config", "PATH_SENSITIVE"],
      [".env", "PATH_SENSITIVE"],
      ["out", "PATH_OUTSIDE_WORKSPACE"],
      ["fifo", "NOT_A_FILE"],
    ];
    for (const [path, wanted] of cases) expect(await reason({ path }), path).toBe(wanted);
  });

  it("keeps a token to its path prefixes, component by component, canonical paths included", async () => {
    put("src/a", "a");
    put("srcfoo", "b");
    put("secret", "c");
    symlinkSync("../secret", join(site.root, "src/link"));
    expect((await read({ path: "src/a" }, { as: "src" })).status).toBe(200);
    expect((await read({ path: "src" }, { as: "src" })).status).toBe(200);
    for (const path of ["srcfoo", "secret", "", "src/link"])
      expect(await reason({ path }, { as: "src" }), path).toBe("SCOPE_FORBIDDEN");
    const page = (await read({ path: "secret", limit: 0 })).body;
    expect(page.text).toBe("c");
  });
});

describe("snapshots", () => {
  it("reads base, published and any checkpoint, files and directories, whatever is on disk now", async () => {
    const sha = put("dir/a", "one\n");
    await read({ path: "dir/a" });
    const saved = await site.call("Save", {
      request_id: "s",
      edits: [
        { path: "dir/a", expect: sha, delete: true },
        { path: "b", expect: "absent", text: "b" },
      ],
    });
    const checkpoints = (await site.call("ListCheckpoints", {})).body.checkpoints;
    const before = checkpoints.at(-1).id;
    expect((await read({ path: "dir/a", snapshot: before })).body).toMatchObject({
      text: "one\n",
      checkpoint: before,
      sha256: sha,
      state: saved.body.state,
    });
    expect((await read({ path: "", snapshot: before })).body.entries).toMatchObject([
      { name: "dir", kind: "PATH_KIND_DIRECTORY" },
    ]);
    expect((await read({ path: "dir", snapshot: before })).body.entries).toMatchObject([{ name: "a", sha256: sha }]);
    expect(await reason({ path: "dir/a", snapshot: "head" })).toBe("PATH_NOT_FOUND");
    expect(await reason({ path: "dir/a", snapshot: saved.body.checkpoint })).toBe("PATH_NOT_FOUND");
    expect((await read({ path: "b", snapshot: saved.body.checkpoint, limit: 1 })).body.text).toBe("b");
    expect(await reason({ path: "b", snapshot: "ck_nothing" })).toBe("ID_NOT_FOUND");
    expect(await reason({ path: ".git/config", snapshot: before })).toBe("PATH_SENSITIVE");
    expect(await reason({ path: "../x", snapshot: before })).toBe("PATH_INVALID");
    expect(await reason({ path: "dir/a", snapshot: before }, { as: "src" })).toBe("SCOPE_FORBIDDEN");
    const base = await read({ path: "", snapshot: "base" });
    const published = await read({ path: "", snapshot: "published" });
    expect(published.body.entries ?? published.error.reason).toEqual(base.body.entries ?? base.error.reason);
  });
});

describe("cursors", () => {
  it("refuses altered ones, and those of another query, caller or operation", async () => {
    put("a", "x".repeat(100));
    put("b", "x".repeat(100));
    const { next_cursor: cursor } = (await read({ path: "a", limit: 10 })).body;
    expect((await read({ path: "a", limit: 50, cursor })).body.offset).toBe("10");
    for (let index = 0; index < cursor.length; index += 1) {
      const altered = cursor.slice(0, index) + (cursor[index] === "A" ? "B" : "A") + cursor.slice(index + 1);
      expect(await reason({ path: "a", cursor: altered }), String(index)).toBe("INVALID_CURSOR");
    }
    for (const wrong of [cursor.slice(0, -1), `${cursor}A`, ` ${cursor}`, "x", "!!!!", cursor.toUpperCase()]) {
      expect(await reason({ path: "a", cursor: wrong }), wrong).toBe("INVALID_CURSOR");
    }
    expect(await reason({ path: "b", cursor })).toBe("INVALID_CURSOR");
    expect(await reason({ path: "a", cursor, start_line: 1 })).toBe("INVALID_CURSOR");
    expect(await reason({ path: "a", cursor, snapshot: "base" })).not.toBeUndefined();
    expect(await reason({ path: "a", cursor }, { as: "src" })).toBe("INVALID_CURSOR");
    expect((await site.call("ListLeases", { cursor })).error.reason).toBe("INVALID_CURSOR");
  });
});
