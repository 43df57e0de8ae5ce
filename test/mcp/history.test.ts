import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/clients/sdk/index.ts";
import { runCommand } from "../helpers/process.ts";
import { tempDir } from "../helpers/temp.ts";
import { type Bridge, startBridge } from "./bridge.ts";
import { type Site, startSite } from "./setup.ts";

const PAGE_BYTES = 25_000;

let site: Site;
let ada: Bridge;
let ben: Bridge;
beforeAll(async () => {
  site = await startSite();
  ada = startBridge(["--host", site.host, "--root", site.root]);
  ben = startBridge(["--host", site.host, "--root", site.root]);
  await ada.initialize("2025-11-25", "ada");
  await ben.initialize("2025-11-25", "ben");
});

const TEN = Array.from({ length: 10 }, (_, at) => `line ${at + 1}\n`).join("");

/** Saves one file over what is there now and gives the answer. */
async function save(who: Bridge, path: string, text: string, more: object = {}): Promise<JsonObject> {
  const { json } = await who.tool("gin_read", { path, content: false });
  const expectation = typeof json.sha256 === "string" && json.sha256 !== "" ? json.sha256 : "absent";
  const saved = await who.tool("gin_save", { edits: [{ path, expect: expectation, text }], ...more });
  expect(saved.isError, saved.texts[0]).toBe(false);
  return saved.json;
}

const disk = (path: string): string => readFileSync(join(site.root, path), "utf8");

describe("gin_diff", () => {
  it("gives a patch that git apply takes, and a summary without", async () => {
    const first = await save(ada, "diff.txt", TEN);
    const second = await save(ada, "diff.txt", TEN.replace("line 5", "LINE 5"));
    const { json } = await ben.tool("gin_diff", { from: first.checkpoint, to: second.checkpoint, context_lines: 1 });
    const [file] = json.files as JsonObject[];
    expect(file).toMatchObject({ path: "diff.txt", status: "DIFF_STATUS_MODIFIED", added_lines: "1", removed_lines: "1" });
    const dir = tempDir("apply");
    writeFileSync(join(dir, "diff.txt"), TEN);
    const applied = await runCommand("git", ["apply", "-"], { cwd: dir, input: String(file?.patch) });
    expect(applied.code, applied.stderr).toBe(0);
    expect(readFileSync(join(dir, "diff.txt"), "utf8")).toBe(TEN.replace("line 5", "LINE 5"));
    const summary = await ben.tool("gin_diff", { from: first.checkpoint, prefix: "diff.txt", summary: true });
    expect(summary.json).toMatchObject({ files: [{ path: "diff.txt", patch: "" }] });
  });

  it("has pages of at most 25 kB that together hold every file and every patch", async () => {
    const before = (await ada.tool("gin_context")).json.state as JsonObject;
    mkdirSync(join(site.root, "many"));
    const names = Array.from({ length: 120 }, (_, at) => `many/${String(at).padStart(3, "0")}-${'"'.repeat(60)}`);
    const edits = names.map((path) => ({ path, expect: "absent", text: '"quoted"\n'.repeat(30) }));
    await ada.tool("gin_save", {
      edits: [...edits, { path: "many/zz-long", expect: "absent", text: `${'\\"'.repeat(30_000)}\n` }],
    });
    for (const summary of [false, true]) {
      const found = new Map<string, string>();
      let cursor = "";
      do {
        const page = await ben.tool("gin_diff", { from: before.head, prefix: "many", summary, ...(cursor !== "" && { cursor }) });
        expect(page.isError).toBe(false);
        expect(Buffer.byteLength(page.texts[0] ?? "")).toBeLessThanOrEqual(PAGE_BYTES);
        expect(page.json).not.toHaveProperty("cut");
        for (const file of page.json.files as JsonObject[]) {
          found.set(String(file.path), (found.get(String(file.path)) ?? "") + String(file.patch));
        }
        cursor = String(page.json.next_cursor);
      } while (cursor !== "");
      expect([...found.keys()]).toEqual([...names, "many/zz-long"].sort());
      if (!summary) expect(found.get("many/zz-long")).toContain('\\"'.repeat(30_000));
    }
  });
});

describe("gin_origin", () => {
  it("tells who wrote which line of a file, and the last change of a directory's entries", async () => {
    await save(ada, "who/f.txt", TEN);
    await save(ben, "who/f.txt", TEN.replace("line 7\n", "by ben\n"), { message: "seven", request_id: "ben-7" });
    const { json } = await ada.tool("gin_origin", { path: "who/f.txt" });
    const spans = (json.spans as JsonObject[]).map((span) => [
      span.start_line,
      span.end_line,
      (span.origin as JsonObject).principal,
    ]);
    expect(spans).toEqual([
      ["1", "6", "mcp-ada"],
      ["7", "7", "mcp-ben"],
      ["8", "10", "mcp-ada"],
    ]);
    const line = await ada.tool("gin_origin", { path: "who/f.txt", start_line: 7, end_line: 7 });
    expect(line.json).toMatchObject({
      spans: [{ start_line: "7", origin: { request_id: "ben-7", message: "seven", cause: "CAUSE_SAVE", unknown: false } }],
    });
    const folder = await ada.tool("gin_origin", { path: "who" });
    expect(folder.json).toMatchObject({ entries: [{ name: "f.txt", origin: { principal: "mcp-ben" } }] });
  });
});

describe("long answers", () => {
  it("origins and notes have pages of at most 25 kB that together hold every entry", async () => {
    const lines = Array.from({ length: 240 }, (_, at) => `line ${at}\n`);
    await save(ada, "striped.txt", lines.join(""));
    const striped = lines.map((line, at) => (at % 2 === 0 ? line : `ben ${at}\n`));
    await save(ben, "striped.txt", striped.join(""), { message: '"'.repeat(200) });
    for (const at of Array(60).keys()) {
      await ada.tool("gin_annotate", { text: `${at} ${'"'.repeat(600)}`, anchors: [{ path: "striped.txt" }] });
    }
    for (const [tool, list, count] of [
      ["gin_origin", "spans", 240],
      ["gin_annotations", "annotations", 60],
    ] as const) {
      let found = 0;
      let cursor = "";
      do {
        const page = await ben.tool(tool, { path: "striped.txt", limit: 1000, ...(cursor !== "" && { cursor }) });
        expect(page.isError, page.texts[0]).toBe(false);
        expect(Buffer.byteLength(page.texts[0] ?? "")).toBeLessThanOrEqual(PAGE_BYTES);
        expect(page.json).not.toHaveProperty("cut");
        found += (page.json[list] as JsonObject[]).length;
        cursor = String(page.json.next_cursor);
      } while (cursor !== "");
      expect([tool, found]).toEqual([tool, count]);
    }
  });

  it("one note that is too long alone is cut, says so, and shows what fits", async () => {
    const written = await ada.tool("gin_annotate", { text: "\u{1f600}".repeat(15_000) });
    const { texts, json } = await ben.tool("gin_annotations", { checkpoint: written.json.checkpoint, limit: 1 });
    expect(Buffer.byteLength(texts[0] ?? "")).toBeLessThanOrEqual(PAGE_BYTES);
    expect(json.cut).toEqual(["annotations[0].text"]);
    const [note] = json.annotations as JsonObject[];
    expect(note?.text).toMatch(/^(\u{1f600}){2000,}… \(cut\)$/u);
  });
});

describe("gin_annotate and gin_annotations", () => {
  it("a note follows its lines; replies and corrections make a thread", async () => {
    const saved = await save(ada, "note.txt", TEN);
    const sha256 = ((saved.paths as JsonObject[])[0] as JsonObject).sha256;
    const anchors = [{ path: "note.txt", start_line: 4, end_line: 5, sha256 }];
    const note = await ada.tool("gin_annotate", { text: "why four", anchors, evidence_id: "run-12", request_id: "n-1" });
    expect(note.json.id).toMatch(/^an_/);
    const again = await ada.tool("gin_annotate", { text: "why four", anchors, evidence_id: "run-12", request_id: "n-1" });
    expect(again.json).toMatchObject({ id: note.json.id, replayed: true });
    await ben.tool("gin_annotate", { text: "because", reply_to: note.json.id });
    await ada.tool("gin_annotate", { text: "why four and five", corrects: note.json.id, anchors });
    await save(ben, "note.txt", `new first line\n${TEN}`);
    const listed = await ben.tool("gin_annotations", { path: "note.txt" });
    expect(listed.json.annotations).toContainEqual(
      expect.objectContaining({
        text: "why four",
        principal: "mcp-ada",
        evidence_id: "run-12",
        anchors: [expect.objectContaining({ standing: "ANCHOR_STANDING_MOVED", start_line: "5", end_line: "6" })],
      }),
    );
    const thread = await ben.tool("gin_annotations", { thread: note.json.id });
    expect((thread.json.annotations as JsonObject[]).map((one) => one.text)).toEqual([
      "why four",
      "because",
      "why four and five",
    ]);
  });

  it("an anchor to other content is refused, and the id of the refusal can be asked about", async () => {
    const anchors = [{ path: "a.txt", start_line: 1, end_line: 1, sha256: "0".repeat(64) }];
    const refused = await ada.tool("gin_annotate", { text: "x", anchors });
    expect(refused.isError).toBe(true);
    const { request_id: id } = JSON.parse(refused.texts[1] ?? "") as { request_id: string };
    const outcome = await ada.tool("gin_call", { request: { request_outcome: { target_request_id: id } } });
    expect(outcome.json).toMatchObject({ request_outcome: { outcome: "OUTCOME_REJECTED" } });
  });
});

describe("undo and redo by gin_call", () => {
  it("an agent takes its request back, another's line stays; redo brings it again", async () => {
    await save(ada, "undo.txt", TEN);
    const changed = TEN.replace("line 2\n", "by ada\n");
    await save(ada, "undo.txt", changed, { request_id: "ada-2" });
    await save(ben, "undo.txt", changed.replace("line 9\n", "by ben\n"), { request_id: "ben-9" });
    const preview = await ada.tool("gin_call", { request: { undo: { select: { request_id: "ada-2" }, preview: true } } });
    expect(preview.json).toMatchObject({ undo: { preview: true, clean: true } });
    expect(disk("undo.txt")).toBe(changed.replace("line 9\n", "by ben\n"));
    const undone = await ada.tool("gin_call", { request: { undo: { select: { request_id: "ada-2" } } }, request_id: "ada-3" });
    expect(undone.json).toMatchObject({ undo: { request_id: "ada-3", clean: true, paths: [{ path: "undo.txt" }] } });
    expect(disk("undo.txt")).toBe(TEN.replace("line 9\n", "by ben\n"));
    const undo = (undone.json.undo as JsonObject).checkpoint;
    const redone = await ada.tool("gin_call", { request: { redo: { undo } } });
    expect(redone.json).toMatchObject({ redo: { clean: true } });
    expect(disk("undo.txt")).toBe(changed.replace("line 9\n", "by ben\n"));
  });

  it("later work in the same line is a conflict, said as data", async () => {
    await save(ada, "clash.txt", TEN);
    await save(ada, "clash.txt", TEN.replace("line 2", "ada 2"), { request_id: "ada-clash" });
    await save(ben, "clash.txt", TEN.replace("line 2", "ben 2"));
    const { isError, json } = await ada.tool("gin_call", { request: { undo: { select: { request_id: "ada-clash" } } } });
    expect(isError).toBe(true);
    expect(json).toMatchObject({ error: { reason: "MERGE_CONFLICT" } });
    expect(disk("clash.txt")).toBe(TEN.replace("line 2", "ben 2"));
  });
});
