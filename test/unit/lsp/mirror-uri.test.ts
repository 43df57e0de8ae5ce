import { fileURLToPath, pathToFileURL } from "node:url";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { GinError } from "../../../src/daemon/base/index.ts";
import { createUris } from "../../../src/daemon/lsp/mirror/uri.ts";

const made = (root: string, aliases: string[] = [], canonical: (path: string) => string = (path) => path) =>
  createUris({ root, aliases, canonical });
const uris = made("/home/ann/my work");

const PATHS = [
  "a.ts",
  "src/a b.ts",
  "100%.ts",
  "a%20b.ts",
  "a#b.ts",
  "a?b.ts",
  "[id]/{x}.ts",
  "a+b@c&d=e;f,g$h.ts",
  "日本/é/e\u0301.ts",
  "😀.ts",
  "line\nbreak.ts",
  "back\\slash.ts",
  "c:/x.ts",
  "~/.x",
  "a:b|c^d`e\"f<g>'h.ts",
];

describe("paths and URIs", () => {
  test("a path comes back from its own URI", () => {
    for (const path of PATHS) expect(uris.pathOf(uris.uriOf(path))).toBe(path);
    expect(uris.uriOf("src/a b#.ts")).toBe("file:///home/ann/my%20work/src/a%20b%23.ts");
    expect(uris.uriOf("")).toBe("file:///home/ann/my%20work");
  });

  test("whatever path it is, and as Node writes it too", () => {
    const name = fc.string({ unit: "binary", minLength: 1, maxLength: 8 }).filter((text) => !/[\0/]|^\.{1,2}$/.test(text));
    fc.assert(
      fc.property(fc.array(name, { minLength: 1, maxLength: 4 }), (names) => {
        const path = names.join("/");
        const uri = uris.uriOf(path);
        expect(uris.pathOf(uri)).toBe(path);
        expect(fileURLToPath(uri)).toBe(`/home/ann/my work/${path}`);
        expect(uri.startsWith(`${uris.uriOf("")}/`)).toBe(true);
        const node = pathToFileURL(`/home/ann/my work/${path}`);
        // As Node writes it, but for what is blank at the end of a path, which it loses.
        if (fileURLToPath(node) === `/home/ann/my work/${path}`) expect(uri).toBe(node.href);
      }),
      { numRuns: 300 },
    );
  });

  test("servers that encode more, less, or in small letters mean the same file", () => {
    for (const uri of [
      "file:///home/ann/my%20work/src/a+b.ts",
      "file:///home/ann/my%20work/src/a%2bb.ts",
      "file:///home/ann/my%20work/src/a%2Bb.ts",
      "file:///home/ann/my work/src/a+b.ts",
      "file:///%68ome/ann/my%20work/src%2Fa+b.ts",
      "FILE:///home/ann/my%20work/src/a+b.ts",
      "file://localhost/home/ann/my%20work/src/a+b.ts",
      "file:/home/ann/my%20work/src/a+b.ts",
      "file:///home/ann/my%20work/src/../src/./a+b.ts",
      "file:///home/ann/my%20work//src/a+b.ts",
    ]) {
      expect(uris.pathOf(uri)).toBe("src/a+b.ts");
    }
    expect(uris.pathOf("file:///home/ann/my%20work/%E6%97%A5.ts")).toBe("日.ts");
    expect(uris.pathOf("file:///home/ann/my%20work/日.ts")).toBe("日.ts");
  });

  test("what is no file below the root is none, and nothing throws", () => {
    for (const uri of [
      "file:///home/ann/my%20work",
      "file:///home/ann/my%20work/",
      "file:///home/ann/my%20workshop/a.ts",
      "file:///home/ann/my%20work/../b.ts",
      "file:///home/ann/my%20work/%2e%2e/b.ts",
      "file:///usr/lib/x.ts",
      "file://server/home/ann/my%20work/a.ts",
      "file:////home/ann/my%20work/a.ts",
      "file:///home/ann/my%20work/a.ts?x",
      "file:///home/ann/my%20work/a.ts#L1",
      "file:///home/ann/my%20work/%ff.ts",
      "file:///home/ann/my%20work/a%.ts",
      "file:///home/ann/my%20work/a%00.ts",
      "file:a.ts",
      "file:",
      "",
      "/home/ann/my work/a.ts",
      "untitled:a.ts",
      "jdt://contents/rt.jar/java.lang/String.class?=x",
      "bundled:///libs/lib.d.ts",
      "zipfile:///x.zip::a.ts",
    ]) {
      expect([uri, uris.pathOf(uri)]).toEqual([uri, undefined]);
    }
  });
});

describe("names of a root", () => {
  test("a server may answer with another name of the root, one below the other too", () => {
    const { pathOf, uriOf } = made("/real/tree", ["/links/r/", "/real/tree/self"]);
    expect(pathOf("file:///links/r/a.ts")).toBe("a.ts");
    expect(pathOf("file:///real/tree/a.ts")).toBe("a.ts");
    expect(pathOf("file:///real/tree/self/a.ts")).toBe("a.ts");
    expect(uriOf("a.ts")).toBe("file:///real/tree/a.ts");
  });

  test("/private and what lies below it are one on macOS", () => {
    expect(made("/private/tmp/w").pathOf("file:///tmp/w/a.ts")).toBe("a.ts");
    expect(made("/tmp/w").pathOf("file:///private/tmp/w/a.ts")).toBe("a.ts");
    expect(made("/var/folders/x").pathOf("file:///private/var/folders/x/a.ts")).toBe("a.ts");
    expect(made("/home/w").pathOf("file:///private/home/w/a.ts")).toBeUndefined();
    expect(made("/private/home/w").pathOf("file:///home/w/a.ts")).toBeUndefined();
  });

  test("the root of the file system may be one", () => {
    expect(made("/").pathOf("file:///a/b.ts")).toBe("a/b.ts");
    expect(made("/").uriOf("a/b.ts")).toBe("file:///a/b.ts");
  });

  test("links in the workspace are followed by the workspace; those that leave it, and unusable names, are outside", () => {
    const canonical = (path: string): string => {
      if (path.startsWith("link/")) return `src/${path.slice(5)}`;
      if (path.startsWith("out/")) throw new GinError("PATH_OUTSIDE_WORKSPACE", "leads outside");
      if (path === ".env") throw new GinError("PATH_SENSITIVE", "is protected");
      return path;
    };
    const { pathOf } = made("/r", [], canonical);
    expect(pathOf("file:///r/link/a.ts")).toBe("src/a.ts");
    expect(pathOf("file:///r/out/a.ts")).toBeUndefined();
    expect(pathOf("file:///r/.env")).toBe(".env");
    const broken = made("/r", [], () => {
      throw new TypeError("a fault");
    });
    expect(() => broken.pathOf("file:///r/a.ts")).toThrow("a fault");
  });
});
