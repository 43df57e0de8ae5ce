import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { hashOf } from "../../kernel/workspace/model.ts";
import { saveInput } from "../../kernel/workspace/site.ts";
import { type ApiSite, caller, openApi } from "./site.ts";

let site: ApiSite;
let ids = 0;
beforeEach(async () => {
  site = await openApi({
    callers: {
      bob: caller("bob", { scopes: new Set(["read", "save", "annotate"]) }),
      src: caller("src", { paths: ["src"], scopes: new Set(["read", "save", "annotate"]) }),
      reader: caller("reader", { scopes: new Set(["read"]) }),
    },
  });
});

const sha = (text: string): string => hashOf(Buffer.from(text));
const save = async (path: string, text: string, was?: string): Promise<string> => {
  const request = { request_id: `s${++ids}`, edits: [{ path, expect: was === undefined ? "absent" : sha(was), text }] };
  return (await site.call("Save", request)).body.checkpoint;
};
const write = async (body: object, how = {}) =>
  (await site.call("WriteAnnotation", { request_id: `w${++ids}`, ...body }, how)).body;
const refused = async (body: object, how = {}) =>
  (await site.call("WriteAnnotation", { request_id: `w${++ids}`, ...body }, how)).error;
const list = async (body: object = {}, how = {}) => (await site.call("ListAnnotations", body, how)).body;
type Listed = {
  id: string;
  text: string;
  anchors: { standing: string; path: string; start_line: string; end_line: string; text: string }[];
};
const texts = async (body: object = {}, how = {}): Promise<string[]> =>
  (await list(body, how)).annotations.map((one: Listed) => one.text);
const standing = async (id: string): Promise<string> => {
  const { annotations } = await list({ thread: id });
  const now = annotations.find((one: Listed) => one.id === id)?.anchors[0];
  return `${now.standing.replace("ANCHOR_STANDING_", "").toLowerCase()} ${now.path}:${now.start_line}-${now.end_line}`;
};

describe("WriteAnnotation", () => {
  it("keeps text, anchors with their lines, and who and when; replays its answer", async () => {
    const head = await save("a.txt", "one\ntwo\nthree\n");
    const request = {
      request_id: "r1",
      text: "look\u202e \x1b[31m",
      evidence_id: "ev_1",
      anchors: [{ path: "a.txt", start_line: 2, end_line: 3, sha256: sha("one\ntwo\nthree\n") }, { path: "a.txt" }],
    };
    const first = (await site.call("WriteAnnotation", request)).body;
    expect(first).toMatchObject({ checkpoint: head, replayed: false, request_id: "r1", thread: first.id });
    expect(first.id).toMatch(/^an_/);
    expect((await site.call("WriteAnnotation", request)).body).toMatchObject({ id: first.id, replayed: true });
    expect((await site.call("WriteAnnotation", { ...request, text: "else" })).error.reason).toBe("REQUEST_ID_REUSED");
    const { annotations } = await list();
    expect(annotations).toHaveLength(1);
    expect(annotations[0]).toMatchObject({
      id: first.id,
      checkpoint: head,
      principal: "owner",
      request_id: "r1",
      text: "look\u202e \x1b[31m",
      thread: first.id,
      reply_to: "",
      corrects: "",
      corrected_by: "",
      evidence_id: "ev_1",
    });
    expect(annotations[0].anchors).toEqual([
      {
        anchor: { path: "a.txt", start_line: "2", end_line: "3", sha256: sha("one\ntwo\nthree\n") },
        standing: "ANCHOR_STANDING_SAME",
        path: "a.txt",
        start_line: "2",
        end_line: "3",
        text: "two\nthree\n",
      },
      {
        anchor: { path: "a.txt", start_line: "0", end_line: "0", sha256: sha("one\ntwo\nthree\n") },
        standing: "ANCHOR_STANDING_SAME",
        path: "a.txt",
        start_line: "0",
        end_line: "0",
        text: "",
      },
    ]);
    expect((await site.call("RequestOutcome", { target_request_id: "r1" })).body).toMatchObject({ outcome: "OUTCOME_COMMITTED" });
    const explained = (await site.call("Explain", { id: first.id })).body;
    expect([explained.kind, explained.facts.text, explained.lineage]).toEqual(["annotation", "look\u202e \x1b[31m", [head]]);
  });

  it("anchors what is on disk at head, recording it first, and any checkpoint by its id", async () => {
    const old = await save("a.txt", "one\n");
    writeFileSync(join(site.root, "a.txt"), "one\ntwo\n");
    const now = await write({ text: "t", anchors: [{ path: "a.txt", start_line: 2, end_line: 2 }] });
    expect(now.checkpoint).not.toBe(old);
    expect(now.state.generation).toBe("2");
    const then = await write({ text: "t", checkpoint: old, anchors: [{ path: "a.txt", start_line: 1, end_line: 1 }] });
    expect(then.checkpoint).toBe(old);
  });

  it("refuses what the checkpoint does not hold, bad lines, too much of anything, and who may not", async () => {
    await save("a.txt", "one\ntwo\n");
    await save("bin", "a\0");
    await save("d/x", "1\n");
    const at = (anchor: object) => refused({ text: "t", anchors: [anchor] });
    expect(await at({ path: "a.txt", sha256: sha("x") })).toMatchObject({
      reason: "STALE_CONTENT",
      facts: { paths: [{ path: "a.txt" }] },
    });
    expect(await at({ path: "a.txt", start_line: 2, end_line: 3 })).toMatchObject({ facts: { field: "anchors[0].end_line" } });
    expect(await at({ path: "a.txt", start_line: 2, end_line: 1 })).toMatchObject({ facts: { field: "anchors[0].end_line" } });
    expect(await at({ path: "a.txt", end_line: 1 })).toMatchObject({ facts: { field: "anchors[0].start_line" } });
    expect(await at({ path: "bin", start_line: 1, end_line: 1 })).toMatchObject({ reason: "INVALID_REQUEST" });
    expect(await at({ path: "a.txt", sha256: "x" })).toMatchObject({ facts: { field: "anchors[0].sha256" } });
    expect(await at({ path: "none" })).toMatchObject({ reason: "PATH_NOT_FOUND" });
    expect(await at({ path: "d" })).toMatchObject({ reason: "NOT_A_FILE" });
    expect(await at({ path: "../x" })).toMatchObject({ reason: "PATH_INVALID" });
    expect(await refused({ text: "" })).toMatchObject({ facts: { field: "text" } });
    expect(await refused({ text: "t", checkpoint: "ck_none" })).toMatchObject({ reason: "ID_NOT_FOUND" });
    expect(await refused({ text: "x".repeat(65_537) })).toMatchObject({ reason: "TOO_LARGE", facts: { field: "text" } });
    expect(
      await write({ text: "x".repeat(65_536), anchors: Array.from({ length: 100 }, () => ({ path: "a.txt" })) }),
    ).toHaveProperty("id");
    expect(await refused({ text: "t", anchors: Array.from({ length: 101 }, () => ({ path: "a.txt" })) })).toMatchObject({
      reason: "TOO_LARGE",
    });
    expect(await refused({ text: "t", evidence_id: "e".repeat(257) })).toMatchObject({ reason: "TOO_LARGE" });
    expect(await refused({ text: "t" }, { as: "reader" })).toMatchObject({ reason: "SCOPE_FORBIDDEN" });
  });

  it("keeps at most 4 KiB of the lines, cut on a line, or on a character where one line is longer", async () => {
    const line = `${"y".repeat(99)}\n`;
    await save("many", line.repeat(60));
    await save("long", `${"é".repeat(3000)}\n`);
    const excerpt = async (path: string, end: number) => {
      const { id } = await write({ text: "t", anchors: [{ path, start_line: 1, end_line: end }] });
      return (await list({ thread: id })).annotations[0].anchors[0].text;
    };
    expect(await excerpt("many", 60)).toBe(line.repeat(40));
    expect(await excerpt("many", 3)).toBe(line.repeat(3));
    expect(await excerpt("long", 1)).toBe("é".repeat(2048));
  });
});

describe("threads and corrections", () => {
  it("answers join the thread; a correction is by the same principal and names what it corrects", async () => {
    await save("a.txt", "one\n");
    const first = await write({ text: "first" });
    const reply = await write({ text: "reply", reply_to: first.id }, { as: "bob" });
    const deeper = await write({ text: "deeper", reply_to: reply.id });
    const fixed = await write({ text: "fixed", corrects: first.id });
    const fixedAgain = await write({ text: "fixed again", corrects: first.id });
    await write({ text: "elsewhere" });
    expect([reply.thread, deeper.thread, fixed.thread]).toEqual([first.id, first.id, first.id]);
    const { annotations } = await list({ thread: deeper.id });
    expect(annotations.map((one: Listed) => one.text)).toEqual(["first", "reply", "deeper", "fixed", "fixed again"]);
    expect(annotations[0].corrected_by).toBe(fixedAgain.id);
    expect(annotations[3]).toMatchObject({ corrects: first.id, reply_to: "" });
    expect(await refused({ text: "x", corrects: reply.id })).toMatchObject({ reason: "SCOPE_FORBIDDEN" });
    expect(await refused({ text: "x", corrects: first.id, reply_to: first.id })).toMatchObject({ facts: { field: "corrects" } });
    expect(await refused({ text: "x", reply_to: "an_none" })).toMatchObject({ reason: "ID_NOT_FOUND" });
  });
});

describe("anchors as they stand now", () => {
  it("same, moved, changed, gone, and back by undo", async () => {
    const was = "a\nb\nc\nd\n";
    await save("f", was);
    const { id } = await write({ text: "t", anchors: [{ path: "f", start_line: 2, end_line: 3 }] });
    expect(await standing(id)).toBe("same f:2-3");
    await save("f", "0\na\nb\nc\nd\n", was);
    expect(await standing(id)).toBe("moved f:3-4");
    await save("f", "0\na\nb\nC\nd\n", "0\na\nb\nc\nd\n");
    expect(await standing(id)).toBe("changed f:3-3");
    const gone = await save("f", "0\n", "0\na\nb\nC\nd\n");
    expect(await standing(id)).toBe("gone :0-0");
    await site.workspace.save(
      saveInput(site, "u", [{ path: "f", expect: sha("0\n"), content: Buffer.from("0\na\nb\nC\nd\n") }], {
        cause: "undo",
        undoes: [gone],
      }),
    );
    expect(await standing(id)).toBe("changed f:3-3");
  });

  it("the second of three identical lines stays the second", async () => {
    const was = "x\nx\nx\n";
    await save("f", was);
    const { id } = await write({ text: "t", anchors: [{ path: "f", start_line: 2, end_line: 2 }] });
    await save("f", "top\nx\nx\nx\n", was);
    expect(await standing(id)).toBe("moved f:3-3");
    await save("f", "top\nx\nx\nx\nend\n", "top\nx\nx\nx\n");
    expect(await standing(id)).toBe("moved f:3-3");
    await save("f", "x\nx\nx\nend\n", "top\nx\nx\nx\nend\n");
    expect(await standing(id)).toBe("same f:2-2");
  });

  it("follows renames, and finds what is anchored by the old name and the new", async () => {
    await save("old.txt", "a\nb\n");
    const { id } = await write({ text: "on b", anchors: [{ path: "old.txt", start_line: 2, end_line: 2 }] });
    const whole = await write({ text: "whole", anchors: [{ path: "old.txt" }] });
    await site.call("Save", { request_id: "mv", edits: [{ path: "old.txt", expect: sha("a\nb\n"), rename_to: "sub/new.txt" }] });
    expect(await standing(id)).toBe("moved sub/new.txt:2-2");
    expect(await standing(whole.id)).toBe("moved sub/new.txt:0-0");
    expect(await texts({ path: "sub" })).toEqual(["whole", "on b"]);
    expect(await texts({ path: "sub/new.txt" })).toEqual(["whole", "on b"]);
    expect(await texts({ path: "old.txt" })).toEqual(["whole", "on b"]);
    expect(await texts({ path: "other" })).toEqual([]);
    await save("sub/new.txt", "a\n", "a\nb\n");
    expect([await standing(id), await standing(whole.id)]).toEqual(["gone :0-0", "changed sub/new.txt:0-0"]);
  });
});

describe("ListAnnotations", () => {
  it("by checkpoint and path, newest first, in pages", async () => {
    const one = await save("src/a", "1\n");
    for (let number = 1; number <= 5; number += 1)
      await write({ text: `n${number}`, checkpoint: one, anchors: [{ path: "src/a" }] });
    await save("b", "1\n");
    await write({ text: "on b", anchors: [{ path: "b" }] });
    expect(await texts()).toEqual(["on b", "n5", "n4", "n3", "n2", "n1"]);
    expect(await texts({ checkpoint: one })).toEqual(["n5", "n4", "n3", "n2", "n1"]);
    expect(await texts({ path: "src" })).toEqual(["n5", "n4", "n3", "n2", "n1"]);
    const page = await list({ path: "src", limit: 2 });
    const next = await list({ path: "src", limit: 2, cursor: page.next_cursor });
    const last = await list({ path: "src", limit: 2, cursor: next.next_cursor });
    expect([page, next, last].map(({ annotations }) => annotations.map((each: Listed) => each.text))).toEqual([
      ["n5", "n4"],
      ["n3", "n2"],
      ["n1"],
    ]);
    expect(last.next_cursor).toBe("");
    const error = (await site.call("ListAnnotations", { path: "b", checkpoint: one })).error;
    expect(error).toMatchObject({ reason: "INVALID_REQUEST" });
    expect((await site.call("ListAnnotations", { thread: "an_none" })).error).toMatchObject({ reason: "ID_NOT_FOUND" });
  });

  it("shows a token only what is on its paths, threads included", async () => {
    await save("src/a", "1\n");
    await save("b", "1\n");
    const hidden = await write({ text: "hidden", anchors: [{ path: "b" }] });
    await write({ text: "hidden reply", reply_to: hidden.id });
    const both = await write({ text: "both", anchors: [{ path: "src/a" }, { path: "b" }] });
    await write({ text: "reply", reply_to: both.id });
    await write({ text: "no anchor" });
    expect(await texts({}, { as: "src" })).toEqual(["no anchor", "reply", "both"]);
    const { annotations } = await list({ thread: both.id }, { as: "src" });
    expect(annotations[0].anchors.map((one: { path: string }) => one.path)).toEqual(["src/a"]);
    expect((await site.call("ListAnnotations", { thread: hidden.id }, { as: "src" })).error.reason).toBe("ID_NOT_FOUND");
    expect((await site.call("Explain", { id: hidden.id }, { as: "src" })).error.reason).toBe("ID_NOT_FOUND");
    expect(await refused({ text: "x", reply_to: hidden.id }, { as: "src" })).toMatchObject({ reason: "ID_NOT_FOUND" });
    expect(await refused({ text: "x", anchors: [{ path: "b" }] }, { as: "src" })).toMatchObject({ reason: "SCOPE_FORBIDDEN" });
  });
});
