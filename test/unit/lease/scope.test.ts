import { expect, test } from "vitest";
import { commonPrefixes, covers, overlap, tidy } from "../../../src/daemon/lease/scope.ts";

test("prefixes are compared component by component", () => {
  expect(covers(["a"], "a/b")).toBe(true);
  expect(covers(["a"], "a")).toBe(true);
  expect(covers(["a"], "ab")).toBe(false);
  expect(covers(["a/b"], "a")).toBe(false);
  expect(covers([], "anything")).toBe(true);
  expect(overlap(["a/b"], ["a"])).toBe(true);
  expect(overlap(["a"], ["a/b"])).toBe(true);
  expect(overlap(["a"], ["ab"])).toBe(false);
  expect(overlap(["x", "a"], ["y", "a/c"])).toBe(true);
  expect(overlap([], ["a"])).toBe(true);
});

test("a scope is kept without repetition", () => {
  expect(tidy(["b", "a/c", "a", "b", "a-b"])).toEqual(["a", "a-b", "b"]);
  expect(tidy(["", "a"])).toEqual([]);
});

test("the proposed scope is what the paths have in common below each top-level name", () => {
  expect(commonPrefixes(["src/a/x.ts", "src/a/y.ts", "src/b.ts", "README.md", "docs/one.md"])).toEqual([
    "README.md",
    "docs/one.md",
    "src",
  ]);
  expect(commonPrefixes(["src/a/x.ts", "src/a/y.ts"])).toEqual(["src/a"]);
  expect(commonPrefixes(["src/a", "src/a/b"])).toEqual(["src/a"]);
  expect(commonPrefixes(Array.from({ length: 65 }, (_, n) => `f${n}`))).toEqual([]);
});
