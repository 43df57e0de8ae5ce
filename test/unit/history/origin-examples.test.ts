import { beforeAll, describe, expect, it } from "vitest";
import { merge3 } from "../../../src/daemon/history/index.ts";
import { openStore, type Store } from "../../../src/daemon/store/index.ts";
import { atTeardown } from "../../helpers/teardown.ts";
import { tempDir } from "../../helpers/temp.ts";
import { Story } from "./storyline.ts";

// The ten worked examples: what api.md says of origin, one case each. `?` is unknown; ids are named by the step that made them.

let store: Store;
let count = 0;

beforeAll(async () => {
  store = await openStore({ directory: `${tempDir("origin")}/data`, inline: true });
  atTeardown(() => store.close());
});

const begin = (): Promise<Story> => Story.begin(store, `ws_${++count}`);
const lines = (...all: string[]): string => all.map((line) => `${line}\n`).join("");

describe("worked examples of origin", () => {
  it("1 insert: new lines take the checkpoint, the others keep theirs", async () => {
    const story = await begin();
    const imported = await story.tell({ f: lines("a", "b") }, { cause: "import", principal: "" });
    const saved = await story.tell({ f: lines("a", "x", "y", "b") }, { principal: "bob" });
    expect(await story.spans("f")).toEqual([`1-1 ${imported}`, `2-3 ${saved}`, `4-4 ${imported}`]);
    const { spans, lineCount } = await story.file("f");
    expect(lineCount).toBe(4);
    expect(spans.map(({ origin }) => [origin?.principal, origin?.cause, origin?.generation])).toEqual([
      ["", "import", 1],
      ["bob", "save", 2],
      ["", "import", 1],
    ]);
  });

  it("2 change and delete: a changed line is new, what is left keeps its origin", async () => {
    const story = await begin();
    const first = await story.tell({ f: lines("a", "b", "c", "d") });
    const changed = await story.tell({ f: lines("a", "B", "c", "d") });
    expect(await story.spans("f")).toEqual([`1-1 ${first}`, `2-2 ${changed}`, `3-4 ${first}`]);
    await story.tell({ f: lines("B", "d") });
    expect(await story.spans("f")).toEqual([`1-1 ${changed}`, `2-2 ${first}`]);
    // And each earlier state still says what it said.
    expect(await story.spans("f", 1)).toEqual([`1-4 ${first}`]);
  });

  it("3 undo: a line brought back has the origin it had", async () => {
    const story = await begin();
    const first = await story.tell({ f: lines("a", "b", "c") });
    const theirs = await story.tell({ f: lines("a", "b", "c", "d") });
    const bad = await story.tell({ f: lines("a", "d") });
    const later = await story.tell({ f: lines("a", "d", "e") });
    await story.tell({ f: lines("a", "b", "c", "d", "e") }, { cause: "undo", undoes: [bad] });
    expect(await story.spans("f")).toEqual([`1-3 ${first}`, `4-4 ${theirs}`, `5-5 ${later}`]);
  });

  it("4 redo: lines have the origin they had in what is done again", async () => {
    const story = await begin();
    const first = await story.tell({ f: lines("a", "b") });
    const done = await story.tell({ f: lines("a", "x", "y", "b") });
    const undo = await story.tell({ f: lines("a", "b") }, { cause: "undo", undoes: [done] });
    expect(await story.spans("f")).toEqual([`1-2 ${first}`]);
    await story.tell({ f: lines("a", "x", "y", "b") }, { cause: "redo", undoes: [undo] });
    expect(await story.spans("f")).toEqual([`1-1 ${first}`, `2-3 ${done}`, `4-4 ${first}`]);
  });

  it("5 merge save: each side keeps its own", async () => {
    const story = await begin();
    const base = lines("a", "b", "c", "d", "e");
    const first = await story.tell({ f: base });
    const theirs = lines("A", "b", "c", "d", "e");
    const one = await story.tell({ f: theirs }, { principal: "agent-1" });
    const merged = merge3(Buffer.from(base), Buffer.from(lines("a", "b", "c", "d", "E")), Buffer.from(theirs));
    if (!merged.clean) throw new Error("the merge must be clean");
    const two = await story.tell({ f: Buffer.from(merged.bytes).toString() }, { principal: "agent-2" });
    expect(await story.spans("f")).toEqual([`1-1 ${one}`, `2-4 ${first}`, `5-5 ${two}`]);
  });

  it("6 rename: keeps all, also with an edit in the same save, and there and back", async () => {
    const story = await begin();
    const first = await story.tell({ a: lines("1", "2") });
    const second = await story.tell({ a: lines("1", "2", "3") });
    await story.tell({ a: null, b: lines("1", "2", "3") }, { renames: { b: "a" } });
    expect(await story.spans("b")).toEqual([`1-2 ${first}`, `3-3 ${second}`]);
    const edited = await story.tell({ b: null, c: lines("0", "1", "2", "3") }, { renames: { c: "b" } });
    expect(await story.spans("c")).toEqual([`1-1 ${edited}`, `2-3 ${first}`, `4-4 ${second}`]);
    await story.tell({ c: null, a: lines("0", "1", "2", "3") }, { renames: { a: "c" } });
    expect(await story.spans("a")).toEqual([`1-1 ${edited}`, `2-3 ${first}`, `4-4 ${second}`]);
    const other = await story.tell({ x: lines("x") });
    await story.tell({ a: lines("x"), x: lines("0", "1", "2", "3") }, { renames: { a: "x", x: "a" } });
    expect(await story.spans("a")).toEqual([`1-1 ${other}`]);
    expect(await story.spans("x")).toEqual([`1-1 ${edited}`, `2-3 ${first}`, `4-4 ${second}`]);
  });

  it("7 outside edit: external, also when the file comes back to an earlier content", async () => {
    const story = await begin();
    const first = await story.tell({ f: lines("a", "b") });
    await story.tell({ f: lines("a") });
    const outside = await story.tell({ f: lines("a", "b") }, { cause: "external", principal: "" });
    expect(await story.spans("f")).toEqual([`1-1 ${first}`, `2-2 ${outside}`]);
    const { spans } = await story.file("f");
    expect([spans[1]?.origin?.cause, spans[1]?.origin?.principal]).toEqual(["external", ""]);
  });

  it("8 a moved block is new", async () => {
    const story = await begin();
    const first = await story.tell({ f: lines("a", "b", "c", "d", "e", "f") });
    const moved = await story.tell({ f: lines("c", "d", "e", "f", "a", "b") });
    expect(await story.spans("f")).toEqual([`1-4 ${first}`, `5-6 ${moved}`]);
  });

  it("9 a changed line end or last newline changes its line", async () => {
    const story = await begin();
    const first = await story.tell({ f: "a\nb\nc" });
    const ended = await story.tell({ f: "a\nb\nc\n" });
    expect(await story.spans("f")).toEqual([`1-2 ${first}`, `3-3 ${ended}`]);
    const crlf = await story.tell({ f: "a\nb\r\nc\n" });
    expect(await story.spans("f")).toEqual([`1-1 ${first}`, `2-2 ${crlf}`, `3-3 ${ended}`]);
  });

  it("10 binary flip: what is not text is one span; undone, the lines are those they were", async () => {
    const story = await begin();
    const first = await story.tell({ f: lines("a", "b") });
    const second = await story.tell({ f: lines("a", "b", "c") });
    const binary = await story.tell({ f: "a\0b\n" });
    expect(await story.spans("f")).toEqual([`0-0 ${binary}`]);
    const mode = await story.tell({ f: "a\0b\n" }, { modes: { f: true } });
    expect(await story.spans("f")).toEqual([`0-0 ${binary}`]);
    await story.tell({ f: lines("a", "b", "c") }, { cause: "undo", undoes: [mode, binary] });
    expect(await story.spans("f")).toEqual([`1-2 ${first}`, `3-3 ${second}`]);
    const text = await story.tell({ f: "a\0b\n" });
    expect(await story.spans("f")).toEqual([`0-0 ${text}`]);
    const again = await story.tell({ f: lines("a", "b", "c") });
    expect(await story.spans("f")).toEqual([`1-3 ${again}`]);
    expect((await story.file("f", 3)).lineCount).toBe(0);
  });
});

describe("corners of origin", () => {
  it("an undone deletion brings the file back with its lines, an undone creation is gone", async () => {
    const story = await begin();
    const first = await story.tell({ f: lines("a") });
    const second = await story.tell({ f: lines("a", "b") });
    const gone = await story.tell({ f: null });
    await story.tell({ f: lines("a", "b") }, { cause: "undo", undoes: [gone] });
    expect(await story.spans("f")).toEqual([`1-1 ${first}`, `2-2 ${second}`]);
  });

  it("an undo of a change made before a rename restores under the new name", async () => {
    const story = await begin();
    const first = await story.tell({ a: lines("1", "2", "3") });
    const cut = await story.tell({ a: lines("1", "3") });
    await story.tell({ a: null, b: lines("1", "3") }, { renames: { b: "a" } });
    await story.tell({ b: lines("1", "2", "3") }, { cause: "undo", undoes: [cut] });
    expect(await story.spans("b")).toEqual([`1-3 ${first}`]);
  });

  it("an undone rename restores, told as a rename or not", async () => {
    for (const renames of [{ a: "b" }, {}]) {
      const story = await begin();
      const first = await story.tell({ a: lines("1", "2") });
      const renamed = await story.tell({ a: null, b: lines("1", "2") }, { renames: { b: "a" } });
      await story.tell({ a: lines("1", "2"), b: null }, { cause: "undo", undoes: [renamed], renames });
      expect(await story.spans("a")).toEqual([`1-2 ${first}`]);
    }
  });

  it("a selection of several gives back the origin before all of them, not that of one that is undone as well", async () => {
    const story = await begin();
    const first = await story.tell({ f: lines("k", "x", "m") });
    const one = await story.tell({ f: lines("k", "y", "m") });
    const two = await story.tell({ f: lines("k", "x", "m") });
    const three = await story.tell({ f: lines("k", "m") });
    await story.tell({ f: lines("k", "x", "m") }, { cause: "undo", undoes: [three, two, one] });
    expect(await story.spans("f")).toEqual([`1-3 ${first}`]);
  });

  it("an undo never claims what it brought itself", async () => {
    const story = await begin();
    const first = await story.tell({ f: lines("a", "b") });
    const cut = await story.tell({ f: lines("a") });
    const undo = await story.tell({ f: lines("new", "a", "b") }, { cause: "undo", undoes: [cut] });
    expect(await story.spans("f")).toEqual([`1-1 ${undo}`, `2-3 ${first}`]);
  });

  it("an empty file has no spans; a file made and deleted and made again is new", async () => {
    const story = await begin();
    await story.tell({ f: "" });
    expect(await story.spans("f")).toEqual([]);
    await story.tell({ f: null });
    const again = await story.tell({ f: lines("a") });
    expect(await story.spans("f")).toEqual([`1-1 ${again}`]);
  });
});
