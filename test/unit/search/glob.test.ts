import { describe, expect, test } from "vitest";
import { compileGlob } from "../../../src/daemon/search/index.ts";

const takes = (pattern: string, ...paths: string[]) => paths.filter((path) => compileGlob(pattern).matches(path));

describe("globs", () => {
  test("without a slash the last name is matched, at any depth", () => {
    expect(takes("*.ts", "a.ts", "x/y/b.ts", "a.tsx", ".ts")).toEqual(["a.ts", "x/y/b.ts", ".ts"]);
  });

  test("with a slash the whole path is matched; *, ? and […] stay in a segment", () => {
    expect(takes("src/*.ts", "src/a.ts", "src/b/a.ts", "x/src/a.ts")).toEqual(["src/a.ts"]);
    expect(takes("a/?", "a/b", "a/bc", "a/")).toEqual(["a/b"]);
    expect(takes("a[/]b", "a/b", "a[/]b")).toEqual(["a[/]b"]);
    expect(takes("/a.ts", "a.ts", "x/a.ts")).toEqual(["a.ts"]);
    expect(takes("./a.ts", "a.ts", "x/a.ts")).toEqual(["a.ts"]);
  });

  test("** spans zero or more segments, and only as a whole segment", () => {
    expect(takes("a/**/b", "a/b", "a/x/b", "a/x/y/b", "ab", "a/x/c")).toEqual(["a/b", "a/x/b", "a/x/y/b"]);
    expect(takes("**/b.ts", "b.ts", "x/b.ts", "x/y/b.ts", "xb.ts")).toEqual(["b.ts", "x/b.ts", "x/y/b.ts"]);
    expect(takes("src/**", "src", "src/a", "src/b/c", "srcs/a")).toEqual(["src", "src/a", "src/b/c"]);
    expect(takes("a**/b", "ax/b", "a/x/b")).toEqual(["ax/b"]);
    expect(takes("**", "a", "a/b")).toEqual(["a", "a/b"]);
    expect(takes("**/a/**/b/**/c", "a/b/c", "x/a/a/b/y/b/c", "a/c/b")).toEqual(["a/b/c", "x/a/a/b/y/b/c"]);
    expect(takes("src/", "src", "src/a", "src/b/c")).toEqual(["src/a", "src/b/c"]);
  });

  test("names with brackets, dashes and dots first are names", () => {
    expect(takes("[id].ts", "[id].ts", "i.ts", "d.ts")).toEqual(["i.ts", "d.ts"]);
    expect(takes("\\[id\\].ts", "[id].ts", "i.ts")).toEqual(["[id].ts"]);
    expect(takes("[[]id].ts", "[id].ts", "i.ts")).toEqual(["[id].ts"]);
    expect(takes("[id", "[id", "i")).toEqual(["[id"]);
    expect(takes("-*", "-rf", "a/-x", "x-")).toEqual(["-rf", "a/-x"]);
    expect(takes("--include=*", "--include=a")).toEqual(["--include=a"]);
    expect(takes("*", ".hidden", "a/.b")).toEqual([".hidden", "a/.b"]);
    expect(takes(".*", ".hidden", "a")).toEqual([".hidden"]);
  });

  test("bracket expressions: ranges, negation, a bracket and a dash in them", () => {
    expect(takes("[a-c]", "a", "c", "d", "-")).toEqual(["a", "c"]);
    expect(takes("[!a-c]", "a", "d")).toEqual(["d"]);
    expect(takes("[^a]", "a", "b")).toEqual(["b"]);
    expect(takes("[]a]", "]", "a", "b")).toEqual(["]", "a"]);
    expect(takes("[a-]", "a", "-", "b")).toEqual(["a", "-"]);
    expect(takes("[-a]", "a", "-", "b")).toEqual(["a", "-"]);
    expect(takes("[a\\-c]", "a", "-", "c", "b")).toEqual(["a", "-", "c"]);
    expect(takes("[z-a]", "a", "z", "-")).toEqual([]);
    expect(takes("[а-я]", "ж", "z")).toEqual(["ж"]);
  });

  test("? is one character, not one unit of UTF-16", () => {
    expect(takes("?", "😀", "é", "ab")).toEqual(["😀", "é"]);
    expect(takes("*?", "😀", "")).toEqual(["😀"]);
    expect(takes("??", "😀", "ab")).toEqual(["ab"]);
  });

  test("braces stand for alternatives, each a pattern of its own", () => {
    expect(takes("*.{ts,js}", "a.ts", "b/a.js", "a.{ts,js}")).toEqual(["a.ts", "b/a.js"]);
    expect(takes("{src,test/unit}/**/*.ts", "src/a.ts", "test/unit/x/a.ts", "test/a.ts")).toEqual([
      "src/a.ts",
      "test/unit/x/a.ts",
    ]);
    expect(takes("a{b,{c,d}}e", "abe", "ace", "ade", "ae")).toEqual(["abe", "ace", "ade"]);
    expect(takes("a{,b}", "a", "ab")).toEqual(["a", "ab"]);
    expect(takes("{a}", "{a}", "a")).toEqual(["{a}"]);
    expect(takes("{a,b", "{a,b")).toEqual(["{a,b"]);
    expect(takes("x\\{a,b\\}", "x{a,b}")).toEqual(["x{a,b}"]);
    expect(takes("[{]a,b}", "{a,b}")).toEqual(["{a,b}"]);
    expect(takes("{x{a,b}", "{xa", "{xb")).toEqual(["{xa", "{xb"]);
  });

  test("limits: alternatives and length", () => {
    const eight = "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}";
    expect(compileGlob(eight).matches("abababab")).toBe(true);
    expect(() => compileGlob(`${eight}{a,b}`)).toThrow(/256/);
    expect(compileGlob("x".repeat(4096)).matches("x")).toBe(false);
    expect(() => compileGlob("x".repeat(4097))).toThrow(/4096/);
  });

  test("patterns that explode as regular expressions take no time", () => {
    const name = "a".repeat(4000);
    const from = performance.now();
    for (const pattern of [`${"*a".repeat(1000)}b`, `${"?*".repeat(1500)}b`, "{".repeat(4096), "[".repeat(4096)])
      expect(compileGlob(pattern).matches(name)).toBe(false);
    const deep = "a/".repeat(1500);
    expect(compileGlob(`${"**/a/".repeat(800)}b`).matches(`${deep}a`)).toBe(false);
    expect(performance.now() - from).toBeLessThan(2_000);
  });
});
