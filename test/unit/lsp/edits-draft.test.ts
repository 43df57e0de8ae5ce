import { describe, expect, it } from "vitest";
import { GinError } from "../../../src/daemon/base/index.ts";
import { Draft, type DraftFiles } from "../../../src/daemon/lsp/edits/draft.ts";
import { indentationOf } from "../../../src/daemon/lsp/edits/indentation.ts";
import { operationsOf } from "../../../src/daemon/lsp/edits/operations.ts";
import { type Replacement, splice } from "../../../src/daemon/lsp/edits/splice.ts";
import { createText } from "../../../src/daemon/lsp/mirror/index.ts";
import type { Encoding } from "../../../src/daemon/lsp/session/types.ts";
import { sha } from "../../helpers/lsp/disk-workspace.ts";

const refuse = (message: string): GinError => new GinError("LSP_REFUSED", message);
const at = (line: number, character: number, endLine = line, endCharacter = character): Replacement["range"] => ({
  start: { line, character },
  end: { line: endLine, character: endCharacter },
});
const put = (range: Replacement["range"], newText: string): Replacement => ({ range, newText });
const made = (text: string, replacements: readonly Replacement[], encoding: Encoding = "utf-16"): string =>
  splice(createText(text, sha(text)), replacements, encoding, refuse).text;

describe("replacements in a text", () => {
  it.each([
    ["a byte order mark stays", "\ufeffab\n", [put(at(0, 0, 0, 1), "X")], "\ufeffXb\n"],
    ["CRLF stays where LF is put in", "a\r\nb\r\n", [put(at(1, 0, 1, 1), "x\ny")], "a\r\nx\ny\r\n"],
    ["a lone CR ends a line", "a\rb\rc", [put(at(2, 0, 2, 1), "x")], "a\rb\rx"],
    ["no last line end is added", "a\nb", [put(at(1, 1), "!")], "a\nb!"],
    ["one line past the end is the end", "a\n", [put(at(1, 0), "b")], "a\nb"],
    ["a whole text by the largest numbers", "a\nb\n", [put(at(0, 0, 2 ** 31 - 1, 0), "z")], "z"],
    ["form feeds and U+2028 end no line", "a\f\u2028b\nc", [put(at(1, 0, 1, 1), "x")], "a\f\u2028b\nx"],
    ["insertions at one place keep their order", "ab", [put(at(0, 1), "1"), put(at(0, 1), "2")], "a12b"],
    ["an insertion comes before what begins there", "ab", [put(at(0, 1), "1"), put(at(0, 1, 0, 2), "B")], "a1B"],
    ["any order of places", "abc", [put(at(0, 2, 0, 3), "C"), put(at(0, 0, 0, 1), "A")], "AbC"],
  ])("%s", (_name, text, replacements, after) => {
    expect(made(text, replacements)).toBe(after);
  });

  it.each([
    ["overlap", [put(at(0, 0, 0, 2), "x"), put(at(0, 1, 0, 3), "y")]],
    ["are given twice", [put(at(0, 0, 0, 2), "x"), put(at(0, 0, 0, 2), "x")]],
    ["lie beyond a line's end", [put(at(0, 4), "x")]],
    ["lie beyond the last line", [put(at(7, 0), "x")]],
    ["end before they begin", [put(at(0, 2, 0, 1), "x")]],
    ["lie inside of a character", [put(at(1, 1), "x")]],
    ["hold half of a character", [put(at(0, 0), "\ud83d")]],
  ])("are refused when they %s", (_name, replacements) => {
    expect(() => made("abc\n😀\n", replacements)).toThrowError(expect.objectContaining({ reason: "LSP_REFUSED" }));
  });

  it("are made where they were meant, whatever the text and the encoding", () => {
    const seed = Number(process.env["GIN_TEST_SEED"] ?? Date.now() % 1_000_000);
    let state = seed;
    const random = (below: number): number => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
      return (state >> 8) % below;
    };
    const pieces = ["a", "bc", "é", "€", "😀", "\n", "\r\n", "\r", "\t", "\u2028", "e\u0301", " "];
    const units = (text: string, encoding: Encoding): number =>
      encoding === "utf-8" ? Buffer.byteLength(text) : encoding === "utf-16" ? text.length : [...text].length;
    for (let round = 0; round < 300; round++) {
      const mark = random(4) === 0 ? "\ufeff" : "";
      const body = Array.from({ length: random(40) }, () => pieces[random(pieces.length)]).join("");
      const encoding = (["utf-8", "utf-16", "utf-32"] as const)[random(3)] ?? "utf-16";
      const position = (offset: number): Replacement["range"]["start"] => {
        const lines = body.slice(0, offset).split(/\r\n|\r|\n/);
        return { line: lines.length - 1, character: units(lines.at(-1) ?? "", encoding) };
      };
      const bounds = Array.from({ length: body.length + 1 }, (_, offset) => offset).filter(
        (offset) => !/[\udc00-\udfff]/.test(body[offset] ?? "") && body.slice(offset - 1, offset + 1) !== "\r\n",
      );
      const cuts = [...new Set(Array.from({ length: 2 * random(5) }, () => bounds[random(bounds.length)] ?? 0))].sort(
        (a, b) => a - b,
      );
      let expected = body;
      const replacements: Replacement[] = [];
      for (let index = cuts.length - (cuts.length % 2) - 2; index >= 0; index -= 2) {
        const [from = 0, to = 0] = cuts.slice(index, index + 2);
        const newText = Array.from({ length: random(3) }, () => pieces[random(pieces.length)]).join("");
        expected = expected.slice(0, from) + newText + expected.slice(to);
        replacements.push({ range: { start: position(from), end: position(to) }, newText });
      }
      expect(made(mark + body, replacements, encoding), `seed ${seed}, round ${round}, ${encoding}`).toBe(mark + expected);
    }
  });
});

/** Files of a tree; those below "ignored/" are on disk only. */
function draftOf(files: Readonly<Record<string, string | Uint8Array>>) {
  const source: DraftFiles = {
    hashAt: (path) => {
      const content = path.startsWith("ignored/") ? undefined : files[path];
      return content === undefined ? undefined : sha(content);
    },
    below: (directory) => Object.keys(files).filter((path) => path.startsWith(`${directory}/`)),
    text: async (path) => {
      const content = files[path];
      return typeof content === "string" ? createText(content, sha(content)) : undefined;
    },
    ignored: async (path) => path.startsWith("ignored/") && files[path] !== undefined,
  };
  return new Draft(source, "utf-16", refuse);
}
const plain = { overwrite: false, ignoreIfExists: false };
const shown = (draft: Draft) =>
  draft.done().edits.map(({ content, ...edit }) => ({
    ...edit,
    ...(content === undefined ? {} : { text: Buffer.from(content).toString() }),
  }));

describe("a draft of an edit", () => {
  it("is one edit a path, which expects the content it was worked out for", async () => {
    const draft = draftOf({ "a.ts": "one two\r\n", "b.ts": "x" });
    await draft.edit("a.ts", [put(at(0, 0, 0, 3), "1"), put(at(0, 4, 0, 7), "2")]);
    await draft.edit("b.ts", [put(at(0, 0, 0, 1), "x")]);
    expect(shown(draft)).toEqual([{ path: "a.ts", expect: sha("one two\r\n"), text: "1 2\r\n" }]);
    const change = (from: number, to: number, newText: string) => ({
      span: { start: { line: 1, character: from }, end: { line: 1, character: to } },
      newText,
    });
    expect(draft.done().files).toEqual([
      {
        path: "a.ts",
        renamedTo: "",
        deleted: false,
        created: false,
        before: sha("one two\r\n"),
        changes: [change(1, 4, "1"), change(5, 8, "2")],
      },
    ]);
  });

  it("makes a change and a move of one file together, in either order", async () => {
    const first = draftOf({ "a.ts": "a" });
    await first.edit("a.ts", [put(at(0, 0, 0, 1), "b")]);
    await first.rename("a.ts", "c.ts", plain);
    const second = draftOf({ "a.ts": "a" });
    await second.rename("a.ts", "c.ts", plain);
    await second.edit("c.ts", [put(at(0, 0, 0, 1), "b")]);
    const expected = [{ path: "a.ts", expect: sha("a"), renameTo: "c.ts", text: "b" }];
    expect([shown(first), shown(second)]).toEqual([expected, expected]);
  });

  it("follows moves through other names, swaps, and what is made, filled and moved", async () => {
    const draft = draftOf({ "a.ts": "a", "b.ts": "b" });
    await draft.rename("a.ts", "between.ts", plain);
    await draft.rename("b.ts", "a.ts", plain);
    await draft.rename("between.ts", "b.ts", plain);
    await draft.create("new.ts", plain);
    await draft.edit("new.ts", [put(at(0, 0), "n")]);
    await draft.rename("new.ts", "newer.ts", plain);
    expect(shown(draft)).toEqual([
      { path: "b.ts", expect: sha("b"), renameTo: "a.ts" },
      { path: "a.ts", expect: sha("a"), renameTo: "b.ts" },
      { path: "newer.ts", expect: "absent", text: "n" },
    ]);
  });

  it("makes way for what is moved or made over a file, where the options say so", async () => {
    const draft = draftOf({ "a.ts": "a", "b.ts": "b", "c.ts": "c" });
    await draft.rename("a.ts", "b.ts", { overwrite: true, ignoreIfExists: true });
    await draft.create("c.ts", { overwrite: true, ignoreIfExists: false });
    expect(shown(draft)).toEqual([
      { path: "a.ts", expect: sha("a"), renameTo: "b.ts" },
      { path: "b.ts", expect: sha("b"), delete: true },
      { path: "c.ts", expect: sha("c"), text: "" },
    ]);
    const ignoring = draftOf({ "a.ts": "a", "b.ts": "b" });
    await ignoring.rename("a.ts", "b.ts", { overwrite: false, ignoreIfExists: true });
    await ignoring.create("b.ts", { overwrite: false, ignoreIfExists: true });
    await ignoring.delete("gone.ts", { recursive: false, ignoreIfNotExists: true });
    expect(shown(ignoring)).toEqual([]);
  });

  it("moves and deletes directories file by file", async () => {
    const draft = draftOf({ "d/a.ts": "a", "d/e/b.ts": "b", "old/c.ts": "c" });
    await draft.rename("d", "f", plain);
    await draft.delete("old", { recursive: true, ignoreIfNotExists: false });
    expect(shown(draft)).toEqual([
      { path: "d/a.ts", expect: sha("a"), renameTo: "f/a.ts" },
      { path: "d/e/b.ts", expect: sha("b"), renameTo: "f/e/b.ts" },
      { path: "old/c.ts", expect: sha("c"), delete: true },
    ]);
  });

  it.each<readonly [string, (draft: Draft) => Promise<void>]>([
    ["makes what is there", (draft) => draft.create("a.ts", plain)],
    ["moves over what is there", (draft) => draft.rename("b.ts", "a.ts", plain)],
    ["moves what is not there", (draft) => draft.rename("none.ts", "c.ts", plain)],
    ["changes what is not there", (draft) => draft.edit("none.ts", [put(at(0, 0), "x")])],
    ["deletes what is not there", (draft) => draft.delete("none.ts", { recursive: false, ignoreIfNotExists: false })],
    ["deletes a directory that is not empty", (draft) => draft.delete("d", { recursive: false, ignoreIfNotExists: true })],
    ["makes a file where a directory is", (draft) => draft.create("d", { overwrite: true, ignoreIfExists: false })],
    ["moves a directory into itself", (draft) => draft.rename("d", "d/e", plain)],
    ["changes an ignored file", (draft) => draft.edit("ignored/x.ts", [put(at(0, 0), "x")])],
    ["changes what is no text", (draft) => draft.edit("latin1.ts", [put(at(0, 0), "x")])],
    [
      "puts something else where it moved a file away",
      async (draft) => {
        await draft.rename("a.ts", "c.ts", plain);
        await draft.create("a.ts", plain);
        await draft.edit("a.ts", [put(at(0, 0), "x")]);
        draft.done();
      },
    ],
  ])("is refused by name when it %s", async (_name, work) => {
    const files = { "a.ts": "a", "b.ts": "b", "d/f.ts": "f", "ignored/x.ts": "x", "latin1.ts": Buffer.from([0xe9]) };
    await expect(work(draftOf(files))).rejects.toMatchObject({
      reason: "LSP_REFUSED",
      message: expect.stringMatching(/a\.ts|b\.ts|none\.ts|\bd\b|ignored\/x\.ts|latin1\.ts/),
    });
  });
});

describe("a WorkspaceEdit", () => {
  it("is its documentChanges where there are any, else its changes", () => {
    const changes = { "file:///a": [put(at(0, 0), "x")] };
    expect(operationsOf({ changes }, refuse)).toMatchObject([{ kind: "edit", uri: "file:///a", version: null }]);
    const documentChanges = [{ textDocument: { uri: "file:///b", version: 3 }, edits: [put(at(0, 0), "y")] }];
    expect(operationsOf({ changes, documentChanges }, refuse)).toMatchObject([{ kind: "edit", uri: "file:///b", version: 3 }]);
  });

  it.each([
    null,
    [],
    { changes: [] },
    { documentChanges: {} },
    { documentChanges: [{ kind: "chmod", uri: "file:///a" }] },
    { documentChanges: [{ kind: "create" }] },
    { documentChanges: [{ edits: [] }] },
    { changes: { "file:///a": [{ range: at(0, 0) }] } },
    {
      changes: { "file:///a": [{ newText: "x", range: { start: { line: -1, character: 0 }, end: { line: 0, character: 0 } } }] },
    },
    { changes: { "file:///a": [{ newText: { value: "x" }, range: at(0, 0) }] } },
  ])("is refused whole when a part of it is not understood: %j", (edit) => {
    expect(() => operationsOf(edit, refuse)).toThrowError(expect.objectContaining({ reason: "LSP_REFUSED" }));
  });
});

it("texts are indented as their own lines are", () => {
  expect(indentationOf("a\n  b\n    c\n  d\n")).toEqual({ tabSize: 2, insertSpaces: true });
  expect(indentationOf("a {\r\n\tb\r\n\t\tc\r\n}\r\n")).toEqual({ tabSize: 4, insertSpaces: false });
  expect(indentationOf("def a():\n    b\n    if c:\n        d\n")).toEqual({ tabSize: 4, insertSpaces: true });
  expect(indentationOf("/**\n * a\n */\nf {\n   x\n}\n")).toEqual({ tabSize: 3, insertSpaces: true });
  expect(indentationOf("a\nb\n")).toEqual({ tabSize: 4, insertSpaces: true });
});
