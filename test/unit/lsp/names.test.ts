import { describe, expect, it } from "vitest";
import { matches, namePathOf, namesIn, nearest, sameName } from "../../../src/daemon/lsp/queries/name-path.ts";
import { flattened, outlineOf } from "../../../src/daemon/lsp/queries/outline.ts";
import { wordAround, wordAt } from "../../../src/daemon/lsp/queries/words.ts";

describe("a name path", () => {
  it("fits what ends in it, or what is all of it behind a slash", () => {
    const path = ["Outer", "Inner", "run"];
    const fits = (symbol: string) => matches(namePathOf(symbol), path);
    expect(["run", "Inner/run", "Outer/Inner/run", "/Outer/Inner/run", "run[0]"].map(fits)).toEqual([
      true,
      true,
      true,
      true,
      true,
    ]);
    expect(["Run", "Outer/run", "/run", "/Inner/run", "un", "Inner", "", "/", "x/Outer/Inner/run"].map(fits)).toEqual(
      Array.from({ length: 9 }, () => false),
    );
  });

  it("may number those of one name", () => {
    expect(namePathOf("/A/b[12]")).toEqual({ names: ["A", "b"], whole: true, index: 12 });
    expect(namePathOf("b[]")).toEqual({ names: ["b[]"], whole: false, index: undefined });
    expect(namePathOf("[3]")).toEqual({ names: ["[3]"], whole: false, index: undefined });
  });

  it("knows the names that servers decorate", () => {
    expect(namesIn("(*Server).Close")).toEqual(["Server", "Close"]);
    expect(namesIn("(List[T]).Push")).toEqual(["List", "Push"]);
    expect(namesIn("(x)")).toEqual(["(x)"]);
    for (const [asked, name] of [
      ["area", "area(int, int)"],
      ["Box", "Box<T>"],
      ["key", '"key"'],
      ["<anonymous>", "<anonymous>"],
      ["operator()", "operator()"],
    ] as const) {
      expect(sameName(asked, name)).toBe(true);
    }
    expect(sameName("int", "area(int, int)")).toBe(false);
    // A slash that is part of a name.
    expect(matches(namePathOf("GET /users/list"), ["routes", "GET /users/list"])).toBe(true);
  });

  it("that fits nothing is told what looks like it, the nearest first", () => {
    expect(nearest("aera", ["Shape/area", "Shape/name", "aerate", "AERA", "x"])).toEqual(["AERA", "Shape/area", "aerate"]);
    expect(
      nearest(
        "open",
        Array.from({ length: 20 }, (_, index) => `open${index}`),
      ),
    ).toHaveLength(5);
    expect(nearest("q", ["a", "b"])).toEqual([]);
  });
});

describe("a word", () => {
  it("is bounded by what is no part of one, in whole characters", () => {
    expect(wordAt("foo foo_ $foo foo.foo éfoo fooé 😀foo", "foo")).toEqual([1, 15, 19, 34]);
    expect(wordAt("#x x --x", "x")).toEqual([2, 4, 8]);
    expect(wordAt("a --main-color b", "--main-color")).toEqual([3]);
    expect(wordAt("aaa", "")).toEqual([]);
    expect(wordAt("名前 名前x", "名前")).toEqual([1]);
  });

  it("is found around a character and just before it", () => {
    expect([1, 2, 3, 4, 5, 6, 7].map((character) => wordAround("ab 😀 c", character))).toEqual([
      "ab",
      "ab",
      "ab",
      "",
      "",
      "c",
      "c",
    ]);
  });
});

describe("an outline", () => {
  const at = (start: number, end: number) => ({ start: { line: start, character: 0 }, end: { line: end, character: 9 } });

  it("keeps the order of the file and each symbol's path", () => {
    const outline = outlineOf([
      { name: "b", kind: 12, range: at(5, 6), selectionRange: at(5, 5) },
      {
        name: "A",
        kind: 5,
        range: at(0, 4),
        selectionRange: at(0, 0),
        children: [{ name: "m", kind: 6, range: at(1, 2), selectionRange: at(1, 1), children: [] }, { name: "bad" }],
      },
    ]);
    expect([...flattened(outline)].map(({ path, kind }) => `${path.join("/")} ${kind}`)).toEqual([
      "A class",
      "A/m method",
      "b function",
    ]);
  });

  it("of flat symbols nests by ranges, else by containers", () => {
    const flat = (name: string, start: number, end: number, containerName = "") => ({
      name,
      kind: 99,
      containerName,
      location: { uri: "u", range: at(start, end) },
    });
    const outline = outlineOf([
      flat("m", 1, 2),
      flat("A", 0, 4),
      flat("same", 0, 4),
      flat("late", 9, 9, "A"),
      flat("lost", 9, 9, "None"),
    ]);
    expect([...flattened(outline)].map(({ path, kind }) => `${path.join("/")} ${kind}`)).toEqual([
      "A symbol",
      "A/late symbol",
      "same symbol",
      "same/m symbol",
      "lost symbol",
    ]);
  });

  it("of nothing is empty", () => {
    expect([null, [], "x", [7, null]].map((answer) => outlineOf(answer))).toEqual([[], [], [], []]);
  });
});
