import { mkdirSync, writeFileSync } from "node:fs";
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
      bob: caller("bob", { scopes: new Set(["read", "save"]) }),
      src: caller("src", { paths: ["src"], scopes: new Set(["read", "save"]) }),
    },
  });
});

const sha = (text: string): string => hashOf(Buffer.from(text));
const save = async (path: string, text: string, was: string | undefined, as = "owner"): Promise<string> => {
  const request = {
    request_id: `s${++ids}`,
    message: `m${ids}`,
    edits: [{ path, expect: was === undefined ? "absent" : sha(was), text }],
  };
  return (await site.call("Save", request, { as })).body.checkpoint;
};
const origin = async (body: object, how = {}) => (await site.call("Origin", body, how)).body;
const refusal = async (body: object, how = {}) => (await site.call("Origin", body, how)).error;
type Span = { start_line: string; end_line: string; origin: { checkpoint: string; unknown: boolean } };
const brief = ({ spans }: { spans: Span[] }): string[] =>
  spans.map((span) => `${span.start_line}-${span.end_line} ${span.origin.checkpoint}`);

describe("Origin of a file", () => {
  it("says which checkpoint each line comes from, and all that is known of it", async () => {
    const first = await save("a.txt", "one\ntwo\n", undefined);
    const second = await save("a.txt", "one\nTWO\nthree\n", "one\ntwo\n", "bob");
    const answer = await origin({ path: "a.txt" });
    expect(brief(answer)).toEqual([`1-1 ${first}`, `2-3 ${second}`]);
    expect(answer).toMatchObject({
      path: "a.txt",
      kind: "PATH_KIND_FILE",
      checkpoint: second,
      sha256: sha("one\nTWO\nthree\n"),
      line_count: "3",
      next_cursor: "",
      state: { generation: "2", head: second },
    });
    expect(answer.spans[1].origin).toMatchObject({
      cause: "CAUSE_SAVE",
      principal: "bob",
      request_id: "s2",
      message: "m2",
      generation: "2",
      unknown: false,
    });
    expect(Date.parse(answer.spans[1].origin.time)).toBeGreaterThan(0);
    expect(brief(await origin({ path: "a.txt", snapshot: first }))).toEqual([`1-2 ${first}`]);
  });

  it("records an outside change of the path first, and an unrecorded file as imported", async () => {
    writeFileSync(join(site.root, "new.txt"), "x\n");
    const imported = await origin({ path: "new.txt" });
    expect(imported.spans[0].origin).toMatchObject({ cause: "CAUSE_IMPORT", principal: "", unknown: false });
    writeFileSync(join(site.root, "new.txt"), "x\ny\n");
    const edited = await origin({ path: "new.txt" });
    expect(edited.spans.map((span: { origin: { cause: string } }) => span.origin.cause)).toEqual([
      "CAUSE_IMPORT",
      "CAUSE_EXTERNAL",
    ]);
    expect(edited.state.generation).toBe("2");
  });

  it("keeps origin through an undo that the engine saved", async () => {
    const first = await save("a.txt", "one\ntwo\nthree\n", undefined);
    const cut = await save("a.txt", "one\nthree\n", "one\ntwo\nthree\n", "bob");
    await site.workspace.save(
      saveInput(site, "u1", [{ path: "a.txt", expect: sha("one\nthree\n"), content: Buffer.from("one\ntwo\nthree\n") }], {
        cause: "undo",
        undoes: [cut],
      }),
    );
    expect(brief(await origin({ path: "a.txt" }))).toEqual([`1-3 ${first}`]);
  });

  it("gives lines asked for, in pages that stay with the checkpoint they began at", async () => {
    let was: string | undefined;
    let text = "";
    const made: string[] = [];
    for (let line = 1; line <= 7; line += 1) {
      text = `${was ?? ""}${line}\n`;
      made.push(await save("a.txt", text, was));
      was = text;
    }
    expect(brief(await origin({ path: "a.txt", start_line: 3, end_line: 4 }))).toEqual([`3-3 ${made[2]}`, `4-4 ${made[3]}`]);
    expect(brief(await origin({ path: "a.txt", start_line: 7, end_line: 99 }))).toEqual([`7-7 ${made[6]}`]);
    expect(brief(await origin({ path: "a.txt", start_line: 8 }))).toEqual([]);
    const page = await origin({ path: "a.txt", limit: 3 });
    expect(brief(page)).toHaveLength(3);
    await save("a.txt", "other\n", was);
    const next = await origin({ path: "a.txt", limit: 3, cursor: page.next_cursor });
    expect(brief(next)).toEqual([`4-4 ${made[3]}`, `5-5 ${made[4]}`, `6-6 ${made[5]}`]);
    expect(next.checkpoint).toBe(page.checkpoint);
    const last = await origin({ path: "a.txt", limit: 3, cursor: next.next_cursor });
    expect([brief(last), last.next_cursor]).toEqual([[`7-7 ${made[6]}`], ""]);
    expect(await refusal({ path: "a.txt", limit: 3, start_line: 2, cursor: page.next_cursor })).toMatchObject({
      reason: "INVALID_CURSOR",
    });
  });

  it("has one span of lines 0 to 0 for what is not text, and no lines to ask for", async () => {
    const made = await save("bin", "a\0b", undefined);
    expect(brief(await origin({ path: "bin" }))).toEqual([`0-0 ${made}`]);
    expect(await refusal({ path: "bin", start_line: 1 })).toMatchObject({
      reason: "INVALID_REQUEST",
      facts: { field: "start_line" },
    });
  });

  it("refuses bad lines, unknown snapshots and absent paths", async () => {
    await save("a.txt", "1\n", undefined);
    expect(await refusal({ path: "a.txt", start_line: 3, end_line: 2 })).toMatchObject({ facts: { field: "end_line" } });
    expect(await refusal({ path: "a.txt", snapshot: "ck_none" })).toMatchObject({ reason: "ID_NOT_FOUND" });
    expect(await refusal({ path: "none" })).toMatchObject({ reason: "PATH_NOT_FOUND" });
    expect(await refusal({ path: "a.txt", limit: 1001 })).toMatchObject({ reason: "INVALID_REQUEST" });
  });

  it("answers a token for its own paths only", async () => {
    await save("src/a", "1\n", undefined);
    await save("b", "1\n", undefined);
    expect(brief(await origin({ path: "src/a" }, { as: "src" }))).toHaveLength(1);
    expect((await origin({ path: "src" }, { as: "src" })).entries).toHaveLength(1);
    for (const path of ["b", "", "srcx"]) {
      expect(await refusal({ path }, { as: "src" }), path).toMatchObject({ reason: "SCOPE_FORBIDDEN" });
    }
  });
});

describe("Origin of a directory", () => {
  it("gives the last change of each entry or of anything below it, in pages and in the past", async () => {
    const top = await save("top.txt", "1\n", undefined);
    const deep = await save("dir/deep/a", "1\n", undefined);
    const beside = await save("dir/b", "1\n", undefined, "bob");
    const again = await save("dir/deep/a", "2\n", "1\n");
    const dot = await save("dir.txt", "1\n", undefined);
    const entries = async (body: object): Promise<string[]> =>
      (await origin(body)).entries.map((one: { name: string; kind: string; origin: { checkpoint: string } }) =>
        [one.name, one.kind.replace("PATH_KIND_", ""), one.origin.checkpoint].join(" "),
      );
    expect(await entries({ path: "" })).toEqual([`dir DIRECTORY ${again}`, `dir.txt FILE ${dot}`, `top.txt FILE ${top}`]);
    expect(await entries({ path: "dir" })).toEqual([`b FILE ${beside}`, `deep DIRECTORY ${again}`]);
    expect(await entries({ path: "dir", snapshot: beside })).toEqual([`b FILE ${beside}`, `deep DIRECTORY ${deep}`]);
    const page = await origin({ path: ".", limit: 2 });
    expect(page.entries).toHaveLength(2);
    const rest = await origin({ path: ".", limit: 2, cursor: page.next_cursor });
    expect([rest.entries.map((one: { name: string }) => one.name), rest.next_cursor]).toEqual([["top.txt"], ""]);
  });

  it("counts a deletion below as a change, and knows directories that hold nothing recorded", async () => {
    await save("dir/a", "1\n", undefined);
    await save("dir/b", "1\n", undefined);
    const gone = (await site.call("Save", { request_id: "d", edits: [{ path: "dir/a", expect: sha("1\n"), delete: true }] })).body
      .checkpoint;
    expect((await origin({ path: "." })).entries[0].origin.checkpoint).toBe(gone);
    mkdirSync(join(site.root, "empty"));
    expect(await origin({ path: "empty" })).toMatchObject({ kind: "PATH_KIND_DIRECTORY", entries: [] });
  });
});
