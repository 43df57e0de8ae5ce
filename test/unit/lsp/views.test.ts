import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/daemon/base/index.ts";
import { nameOf } from "../../../src/daemon/lsp/queries/outside.ts";
import { Projects } from "../../../src/daemon/lsp/queries/projects.ts";
import { createViews } from "../../../src/daemon/lsp/queries/views.ts";
import { createVocabularies } from "../../../src/daemon/lsp/queries/vocabulary.ts";
import { DiskWorkspace } from "../../helpers/lsp/disk-workspace.ts";
import { fakeRow } from "../../helpers/lsp/room.ts";
import { tempDir } from "../../helpers/temp.ts";

describe("ids of views", () => {
  const spec = fakeRow();
  const file = (name: string) => ({ file: `/lib/${name}`, name, spec });
  const key = new Uint8Array(32).fill(7);

  it("are the same for the same file, others for another workspace or daemon, and tell nothing", () => {
    const views = createViews(key);
    const id = views.mint(1, file("a"));
    expect(id).toMatch(/^lv_[\w-]{22}$/);
    expect(views.mint(1, file("a"))).toBe(id);
    expect(
      new Set([id, views.mint(2, file("a")), views.mint(1, file("b")), createViews(new Uint8Array(32)).mint(1, file("a"))]).size,
    ).toBe(4);
    expect(views.viewed(1, id)).toEqual(file("a"));
    expect(() => views.viewed(2, id)).toThrow(expect.objectContaining({ reason: "ID_NOT_FOUND", facts: { id } }));
    views.forget(1);
    expect(() => views.viewed(1, id)).toThrow(expect.objectContaining({ reason: "ID_NOT_FOUND" }));
  });

  it("are bounded: what was named longest ago goes first", () => {
    const views = createViews(key, 2);
    const [a, b] = [views.mint(1, file("a")), views.mint(1, file("b"))];
    views.mint(1, file("a"));
    views.mint(1, file("c"));
    expect(views.viewed(1, a)).toEqual(file("a"));
    expect(() => views.viewed(1, b)).toThrow();
  });
});

describe("names of files outside", () => {
  it("begin at the package, or are the last folders", () => {
    expect(nameOf("/home/me/app/node_modules/typescript/lib/lib.es5.d.ts")).toBe("typescript/lib/lib.es5.d.ts");
    expect(nameOf("/x/node_modules/pyright/dist/typeshed-fallback/stdlib/os/__init__.pyi")).toBe("stdlib/os/__init__.pyi");
    expect(nameOf("/home/me/go/pkg/mod/example.com/a@v1/b.go")).toBe("example.com/a@v1/b.go");
    expect(nameOf("/usr/include/stdio.h")).toBe("usr/include/stdio.h");
  });
});

describe("a project", () => {
  /** Paths that a project surely includes, each with its configuration. */
  const covered = (files: Readonly<Record<string, string>>, paths: readonly string[]) => {
    const workspace = new DiskWorkspace(tempDir("projects"), files);
    const projects = new Projects().at(workspace, workspace.tree(), "typescript");
    return paths.flatMap((path) => (projects.of(path) === undefined ? [] : [`${path} ${projects.of(path)}`]));
  };
  const paths = ["a.ts", "src/a.tsx", "src/deep/b.mts", "test/c.ts", "d.js", "node_modules/x/e.ts", ".hidden/f.ts", "out/g.ts"];
  const of = (json: string) => covered({ "tsconfig.json": json }, paths).map((one) => one.split(" ")[0]);

  it("surely includes what its configuration says", () => {
    expect(of("{}")).toEqual(["a.ts", "src/a.tsx", "src/deep/b.mts", "test/c.ts", "out/g.ts"]);
    expect(of('{ "compilerOptions": { "outDir": "./out/", "allowJs": true } }')).toEqual([
      "a.ts",
      "src/a.tsx",
      "src/deep/b.mts",
      "test/c.ts",
      "d.js",
    ]);
    expect(of('// c\n{ "include": ["src", /* x */ "*.ts",], }')).toEqual(["a.ts", "src/a.tsx", "src/deep/b.mts"]);
    expect(of('{ "include": ["./src/*"] }')).toEqual(["src/a.tsx"]);
    expect(of('{ "include": ["**/*.ts"], "exclude": ["**/test/**"] }')).toEqual(["a.ts", "out/g.ts"]);
    expect(of('{ "exclude": ["src/*", "**/c.ts"] }')).toEqual(["a.ts", "out/g.ts"]);
    expect(covered({ "p/tsconfig.json": '{ "include": ["src", "../out"] }' }, ["p/src/a.ts", "p/b.ts", "a.ts"])).toEqual([
      "p/src/a.ts p/tsconfig.json",
    ]);
  });

  it("inherits, relative to what it inherits from", () => {
    const base = '{ "include": ["src"], "exclude": ["src/deep"], "compilerOptions": { "allowJs": true } }';
    const files = {
      "base.json": base,
      "a/tsconfig.json": '{ "extends": "../base", "include": ["."] }',
      "tsconfig.json": '{ "extends": ["./base.json"] }',
      "b/tsconfig.json": '{ "extends": "@tsconfig/strictest/tsconfig.json" }',
    };
    expect(covered(files, ["src/a.js", "src/deep/b.ts", "a/x.js", "b/y.ts", "b/y.js", "z.ts"])).toEqual([
      "src/a.js tsconfig.json",
      "a/x.js a/tsconfig.json",
      "b/y.ts b/tsconfig.json",
    ]);
  });

  it("is sure of nothing that it would have to work out", () => {
    for (const json of [
      "",
      "[]",
      "{ nonsense",
      '{ "files": [] }',
      '{ "extends": "./none.json" }',
      '{ "extends": "./tsconfig.json" }',
      '{ "extends": "package/base.json", "include": ["src"] }',
      '{ "include": ["../src"] }',
      '{ "include": ["~/src"] }',
      '{ "include": [7] }',
    ]) {
      expect(of(json)).toEqual([]);
    }
    expect(of('{ "extends": "package/base.json", "include": ["src"], "exclude": [] }')).toEqual(["src/a.tsx", "src/deep/b.mts"]);
  });

  it("is the nearest above a file", () => {
    const files = {
      "tsconfig.json": "{}",
      "a/jsconfig.json": "{}",
      "b/tsconfig.json": '{ "files": [] }',
      "a/y.ts": "",
      "a/y.js": "",
    };
    expect(covered(files, ["x.ts", "a/deep/x.ts", "a/z.js", "a/y.js", "b/x.ts", "c/x.ts"])).toEqual([
      "x.ts tsconfig.json",
      "a/deep/x.ts a/jsconfig.json",
      "a/z.js a/jsconfig.json",
      "c/x.ts tsconfig.json",
    ]);
  });
});

describe("a project of Python", () => {
  const paths = ["a.py", "src/b.pyi", "tests/c.py", ".hidden/d.py", "__pycache__/e.py"];
  const covered = (files: Readonly<Record<string, string>>) => {
    const workspace = new DiskWorkspace(tempDir("projects"), files);
    return paths.filter((path) => new Projects().at(workspace, workspace.tree(), "pyright").of(path) === "");
  };

  it("is everything, or what its configuration says by itself", () => {
    const all = ["a.py", "src/b.pyi", "tests/c.py"];
    expect(covered({})).toEqual(all);
    expect(covered({ "pyrightconfig.json": '{ "strict": ["src"] }', "pyproject.toml": "[tool.pyright]" })).toEqual(all);
    expect(covered({ "pyproject.toml": "[project]\nname = 'x'\n" })).toEqual(all);
    expect(covered({ "pyproject.toml": "[tool.pyright]\ninclude = ['src']\n" })).toEqual([]);
    expect(covered({ "pyrightconfig.json": '{ "include": ["src"] }' })).toEqual(["src/b.pyi"]);
    expect(covered({ "pyrightconfig.json": '{ "exclude": ["**/tests"] }' })).toEqual(["a.py", "src/b.pyi"]);
    expect(covered({ "pyrightconfig.json": '{ "extends": "x.json" }' })).toEqual([]);
  });
});

describe("a vocabulary", () => {
  it("names every file that holds a word, as the tree is, and few others", async () => {
    const files = Object.fromEntries(
      Array.from({ length: 200 }, (_, index) => [`f${index}.fake`, `own${index} common_1 a$b é${index}x`]),
    );
    const workspace = new DiskWorkspace(tempDir("words"), { ...files, "other.txt": "own7" });
    const vocabularies = createVocabularies(systemClock);
    const holding = (...words: string[]) =>
      vocabularies.holding(workspace, fakeRow(), workspace.tree(), words, new AbortController().signal);
    expect(await holding("common_1")).toHaveLength(200);
    expect(await holding()).toHaveLength(200);
    const found = await holding("own7", "own100");
    expect(found).toEqual(expect.arrayContaining(["f100.fake", "f7.fake"]));
    expect(found.length).toBeLessThan(50);
    workspace.write("f7.fake", "nothing");
    workspace.write("new.fake", "x own7;");
    workspace.remove("f8.fake");
    workspace.record();
    const now = await holding("own7");
    expect(now).toContain("new.fake");
    expect(await holding()).toHaveLength(200);
    const abort = new AbortController();
    abort.abort();
    workspace.write("f9.fake", "own7");
    workspace.record();
    await expect(vocabularies.holding(workspace, fakeRow(), workspace.tree(), ["x"], abort.signal)).rejects.toMatchObject({
      reason: "CANCELLED",
    });
    expect(await holding("own7")).toContain("f9.fake");
  });
});
