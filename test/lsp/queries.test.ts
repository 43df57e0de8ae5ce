import { describe, expect, it } from "vitest";
import type { LspAnswer, LspAsk } from "../../src/daemon/lsp/index.ts";
import { DiskWorkspace, sha } from "../helpers/lsp/disk-workspace.ts";
import { askRestless } from "../helpers/lsp/restless.ts";
import { openRoom, placesOf, question, realRow } from "../helpers/lsp/room.ts";
import { scaled } from "../helpers/scale.ts";
import { tempDir } from "../helpers/temp.ts";

/** Every whole word of the files, as "path:line:character-line:character", counted by walking code points. */
function uses(files: Readonly<Record<string, string>>, word: string): readonly string[] {
  const found: string[] = [];
  for (const [path, text] of Object.entries(files).sort(([a], [b]) => (a < b ? -1 : 1))) {
    for (const [index, line] of text.split(/\r?\n/).entries()) {
      const characters = [...line];
      for (let at = 0; at < characters.length; at++) {
        const here = characters.slice(at, at + word.length).join("") === word;
        const bounded = !/[\w$]/.test(characters[at - 1] ?? "") && !/[\w$]/.test(characters[at + word.length] ?? "");
        if (here && bounded) found.push(`${path}:${index + 1}:${at + 1}-${index + 1}:${at + 1 + word.length}`);
      }
    }
  }
  return found;
}

function site(server: string, files: Readonly<Record<string, string>>) {
  const { lsp } = openRoom([realRow(server)]);
  const workspace = new DiskWorkspace(tempDir(server), files);
  const ask = (action: LspAsk["action"], path: string, over: Partial<LspAsk> = {}): Promise<LspAnswer> =>
    lsp.ask(question(workspace, action, path, over));
  return { workspace, ask };
}

const SHAPES = {
  "src/shape.ts":
    "export class Shape {\n  area(): number {\n    return 1;\n  }\n}\nexport function over(a: string): void;\nexport function over(a: number): void;\nexport function over(): void {}\n",
  "src/use.ts":
    "import { over, Shape } from './shape.js';\r\nconst 😀x = '😀'; over('😀'); new Shape().area();\r\nexport function main() { over(1); return [1].map(String); }\r\n".replace(
      "😀x",
      "x",
    ),
  "src/deep/more.ts":
    "import { Shape } from '../shape.js';\nexport class Square extends Shape {\n  area(): number {\n    return 4;\n  }\n}\n",
};

describe("TypeScript", () => {
  it("is asked about one project: places, names, types, calls, and what lies outside", async () => {
    const files = { "tsconfig.json": '{ "compilerOptions": { "strict": true } }', ...SHAPES };
    const { ask, workspace } = site("typescript", files);
    const use = SHAPES["src/use.ts"];

    const definition = await ask("definition", "src/use.ts", { line: 2, symbol: "area" });
    expect(placesOf(definition)).toEqual(["src/shape.ts:2:3-2:7"]);
    expect(definition).toMatchObject({
      server: "typescript",
      serverVersion: "7.0.2",
      state: "ready",
      sha256: sha(use),
      generation: workspace.generation,
      partial: false,
      note: "",
      found: {
        locations: {
          total: 1,
          items: [{ outside: false, view: "", sha256: sha(SHAPES["src/shape.ts"]), excerpt: "  area(): number {" }],
        },
      },
    });

    // By a name path alone, by a place behind a character of two units, and by a name in the whole workspace.
    const all = uses(SHAPES, "Shape");
    expect(placesOf(await ask("references", "src/shape.ts", { symbol: "Shape" }))).toEqual(all);
    expect(placesOf(await ask("references", "src/use.ts", { line: 2, symbol: "Shape" }))).toEqual(all);
    expect(placesOf(await ask("references", "", { symbol: "Shape" }))).toEqual(all);
    expect(placesOf(await ask("references", "src/shape.ts", { symbol: "Shape", includeDeclaration: false }))).toEqual(
      // Imports count as declarations to this server.
      all.filter((place) => !/:1:/.test(place)),
    );
    // The three heads of an overloaded function are one symbol.
    expect(placesOf(await ask("references", "src/shape.ts", { symbol: "over" }))).toEqual(uses(SHAPES, "over"));
    expect(placesOf(await ask("implementation", "src/shape.ts", { symbol: "Shape/area" }))).toEqual(
      expect.arrayContaining(["src/deep/more.ts:3:3-3:7"]),
    );

    const hover = await ask("hover", "src/use.ts", { line: 2, symbol: "area" });
    expect(hover.found).toMatchObject({ kind: "hover", text: expect.stringContaining("(method) Shape.area(): number") });

    const outline = await ask("symbols", "src/shape.ts");
    expect(
      outline.found.kind === "symbols" &&
        outline.found.symbols.items.map(({ namePath, kind, children }) => [namePath, kind, children.map((one) => one.namePath)]),
    ).toEqual([
      ["Shape", "class", ["Shape/area"]],
      ["over", "function", []],
      ["over", "function", []],
      ["over", "function", []],
    ]);

    const callers = await ask("incoming_calls", "src/shape.ts", { symbol: "over" });
    expect(
      callers.found.kind === "calls" &&
        callers.found.calls.items.map(({ name, sites }) => [name, sites.map(({ span }) => span.start)]),
    ).toEqual([
      ["src/use.ts", [{ line: 2, character: 16 }]],
      ["main", [{ line: 3, character: 26 }]],
    ]);

    const called = await ask("signature", "src/use.ts", { line: 2, character: 21 });
    expect(called.found.kind === "signatures" && called.found.signatures.map(({ label }) => label)).toEqual([
      "over(a: string): void",
      "over(a: number): void",
    ]);

    const outside = await ask("definition", "src/use.ts", { line: 3, symbol: "map" });
    const [location] = outside.found.kind === "locations" ? outside.found.locations.items : [];
    expect(location).toMatchObject({
      outside: true,
      sha256: "",
      path: expect.stringMatching(/lib\.es5\.d\.ts$/),
      excerpt: expect.stringContaining("map<U>"),
    });
    const line = location?.span.start.line ?? 0;
    const view = await ask("view", "", { view: location?.view ?? "", line, endLine: line });
    expect(view.found).toMatchObject({ kind: "view", path: location?.path, text: `${location?.excerpt}\n` });
    expect(JSON.stringify(outside)).not.toContain(workspace.root);
  });

  it("finds uses in files and projects of which none was ever open", async () => {
    const files = {
      "packages/a/tsconfig.json": "{}",
      "packages/a/one.ts": "export function alpha() {}\nexport { alpha as omega };\n",
      // Another project, one that nothing includes, an alias, a default import by another name, and a word in a comment.
      "packages/b/tsconfig.json": '{ "include": ["src"] }',
      "packages/b/src/b.ts": "import { alpha } from '../../a/one.js';\nalpha();\n",
      "packages/b/scripts/c.ts": "import { alpha } from '../../a/one.js';\nalpha();\n",
      "packages/c/d.js": "import { omega } from '../a/one.js';\nomega();\n",
      "packages/c/e.ts": "import whatever from './f.js';\nwhatever();\n",
      "packages/c/f.ts": "export default function beta() {}\n",
      "packages/c/g.ts": "// alpha, beta\n",
    };
    const { ask } = site("typescript", files);
    const { "packages/c/g.ts": _comment, ...code } = files;
    const alphas = [...uses(code, "alpha"), ...uses(code, "omega")].sort();
    const references = await ask("references", "packages/a/one.ts", { line: 1, symbol: "alpha" });
    expect([...placesOf(references)].sort()).toEqual(alphas);
    expect(references.partial).toBe(false);
    const betas = await ask("references", "packages/c/f.ts", { symbol: "beta" });
    expect(placesOf(betas)).toEqual([...uses(code, "whatever"), ...uses(code, "beta")]);

    const fresh = site("typescript", files);
    const found = await fresh.ask("workspace_symbols", "", { query: "beta" });
    expect(
      found.found.kind === "symbols" && found.found.symbols.items.map(({ name, location }) => `${name} ${location.path}`),
    ).toEqual(["beta packages/c/f.ts"]);
  });

  it("answers for the bytes of now, however they came, and refuses an old hash", async () => {
    const { ask, workspace } = site("typescript", { "tsconfig.json": "{}", ...SHAPES });
    await ask("references", "src/shape.ts", { symbol: "Shape" });
    for (let round = 1; round <= 5; round++) {
      const name = `Planted${round}`;
      const files = {
        ...SHAPES,
        "src/shape.ts": SHAPES["src/shape.ts"].replace("Shape", name),
        "src/use.ts": `${SHAPES["src/use.ts"].replaceAll("Shape", name)}${`new ${name}();\n`.repeat(round)}`,
        "src/deep/more.ts": `// ${"-\n// ".repeat(round)}\n${SHAPES["src/deep/more.ts"].replaceAll("Shape", name)}`,
      };
      for (const [path, text] of Object.entries(files)) workspace.write(path, text);
      const answer = await ask("references", "src/use.ts", { line: 1, symbol: name, ifHash: sha(files["src/use.ts"]) });
      expect(placesOf(answer)).toEqual(uses(files, name));
      expect(answer).toMatchObject({ sha256: sha(files["src/use.ts"]), generation: workspace.generation, partial: false });
    }
    await expect(ask("hover", "src/use.ts", { line: 1, character: 10, ifHash: sha("old") })).rejects.toMatchObject({
      reason: "STALE_CONTENT",
    });
    workspace.remove("src/use.ts");
    await expect(ask("hover", "src/use.ts", { line: 1, character: 10 })).rejects.toMatchObject({ reason: "PATH_NOT_FOUND" });
    expect(placesOf(await ask("references", "src/shape.ts", { symbol: "Planted5" }))).toHaveLength(3);
  });
});

describe("pyright", () => {
  it("is asked about one project", async () => {
    const code = {
      "lib/shapes.py":
        "class Shape:\n    def area(self) -> int:\n        return 1\n\n\ndef make() -> Shape:\n    return Shape()\n",
      "use.py":
        "import os\nfrom lib.shapes import Shape, make\n\n\ndef main() -> None:\n    print('😀', make().area(), Shape().area(), os.getcwd())\n",
      "other.py": "from lib.shapes import Shape as Form\n\nForm().area()\n",
    };
    const { ask } = site("pyright", { "pyrightconfig.json": "{}", "lib/__init__.py": "", ...code });
    expect(placesOf(await ask("references", "lib/shapes.py", { symbol: "Shape/area" }))).toEqual(uses(code, "area"));
    expect(placesOf(await ask("definition", "use.py", { line: 6, symbol: "make" }))).toEqual(["lib/shapes.py:6:5-6:9"]);
    expect(placesOf(await ask("type_definition", "use.py", { line: 6, symbol: "make" }))).toEqual(expect.any(Array));
    expect((await ask("hover", "use.py", { line: 6, symbol: "make" })).found).toMatchObject({
      text: expect.stringContaining("def make() -> Shape"),
    });
    const outside = await ask("definition", "use.py", { line: 6, symbol: "getcwd" });
    const [location] = outside.found.kind === "locations" ? outside.found.locations.items : [];
    expect(location).toMatchObject({ outside: true, path: "stdlib/os/__init__.pyi", excerpt: "def getcwd() -> str: ..." });
    const outline = await ask("symbols", "lib/shapes.py");
    expect(outline.found.kind === "symbols" && outline.found.symbols.items.map(({ namePath }) => namePath)).toEqual([
      "Shape",
      "make",
    ]);
    const callers = await ask("incoming_calls", "lib/shapes.py", { symbol: "make" });
    expect(callers.found.kind === "calls" && callers.found.calls.items.map(({ name }) => name)).toEqual(["main"]);
  });

  it("finds uses in files that its configuration leaves out", async () => {
    const code = {
      "src/one.py": "def alpha() -> int:\n    return 1\n",
      "tests/two.py": "from src.one import alpha\nalpha()\n",
      "tests/three.py": "from tests.two import alpha\nalpha()\n",
    };
    const { ask } = site("pyright", { "pyrightconfig.json": '{ "include": ["src"] }', ...code });
    const answer = await ask("references", "src/one.py", { symbol: "alpha" });
    expect(placesOf(answer)).toEqual(uses(code, "alpha"));
    expect(answer.partial).toBe(false);
  });
});

describe("servers of other languages", () => {
  it("tell their symbols, in whichever form", async () => {
    const { lsp } = openRoom(["bash", "json", "css", "yaml"].map(realRow));
    const workspace = new DiskWorkspace(tempDir("others"), {
      "run.sh": "greet() {\n  echo hi\n}\ngreet\ngreet\n",
      "x.json": '{"alpha": {"beta": 1}}\n',
      "x.css": ":root { --main-color: red; }\n.box { color: var(--main-color); }\n",
      "x.yaml": "alpha:\n  beta: 1\n",
    });
    const paths = ["run.sh", "x.json", "x.css", "x.yaml"];
    const outlines = await Promise.all(paths.map((path) => lsp.ask(question(workspace, "symbols", path))));
    expect(
      outlines.map(
        ({ found }) =>
          found.kind === "symbols" &&
          found.symbols.items
            .flatMap((one) => [one, ...one.children])
            .map(({ namePath, selection }) => `${namePath} ${selection.start.line}:${selection.start.character}`),
      ),
    ).toEqual([["greet 1:1"], ["alpha 1:2", "alpha/beta 1:12"], [":root 1:1", ".box 2:1"], ["alpha 1:1", "alpha/beta 2:3"]]);
    expect(placesOf(await lsp.ask(question(workspace, "references", "x.css", { line: 2, symbol: "--main-color" })))).toEqual([
      "x.css:1:9-1:21",
      "x.css:2:19-2:31",
    ]);
    const greets = await lsp.ask(question(workspace, "references", "run.sh", { symbol: "greet" }));
    expect(placesOf(greets)).toEqual(["run.sh:1:1-1:6", "run.sh:4:1-4:6", "run.sh:5:1-5:6"]);
    // It looks at the first five hundred files only.
    expect(greets.partial).toBe(true);
    const found = await lsp.ask(question(workspace, "workspace_symbols", "", { query: "greet" }));
    expect(found).toMatchObject({ server: "bash", found: { symbols: { total: 1, items: [{ name: "greet" }] } } });
  });

  it("tell of C and its headers", async (context) => {
    const { lsp, pool } = openRoom([realRow("clangd")]);
    const code = {
      "a.h": "int area(int side);\n",
      "a.c":
        '#include "a.h"\n#include <stdio.h>\nint area(int side) { return side; }\nint main(void) { return printf("é%d", area(2)); }\n',
    };
    const workspace = new DiskWorkspace(tempDir("c"), { "compile_flags.txt": "-std=c11\n", ...code });
    if (pool.status(workspace)[0]?.state === "not_installed") context.skip("clangd is not installed");
    const ask = (action: LspAsk["action"], over: Partial<LspAsk>) => lsp.ask(question(workspace, action, "a.c", over));
    expect(placesOf(await ask("definition", { line: 4, symbol: "area" }))).toEqual(["a.c:3:5-3:9"]);
    const outside = await ask("definition", { line: 4, symbol: "printf" });
    const [location] = outside.found.kind === "locations" ? outside.found.locations.items : [];
    expect(location).toMatchObject({ path: "usr/include/stdio.h", outside: true, excerpt: expect.stringContaining("printf") });
    const view = await lsp.ask(
      question(workspace, "view", "", {
        view: location?.view ?? "",
        line: location?.span.start.line ?? 0,
        endLine: location?.span.start.line ?? 0,
      }),
    );
    expect(view.found).toMatchObject({ kind: "view", text: `${location?.excerpt}\n` });
    expect(await ask("references", { symbol: "area" })).toMatchObject({
      partial: true,
      note: expect.stringContaining("not the whole project"),
    });
  });
});

describe("while files change all the time", () => {
  it("TypeScript's answers are each of one generation, in every place", async () => {
    const text = (empty: number, uses: boolean, change: number) =>
      `${"\n".repeat(empty)}${uses ? "import { alpha } from './a.js';\nalpha();\n" : ""}export const x${change} = 1;\n`;
    const told = await askRestless(
      {
        row: realRow("typescript"),
        extension: "ts",
        config: ["tsconfig.json", "{}"],
        declaration: "export function alpha() {}\n",
        text,
        pauseMs: 60,
      },
      scaled(20),
    );
    expect(told.wrong).toEqual([]);
    expect(told.whole).toBeGreaterThan(5);
  });

  it("pyright's answers are each of one generation, in every place", async () => {
    const text = (empty: number, uses: boolean, change: number) =>
      `${"\n".repeat(empty)}${uses ? "from a import alpha\nalpha()\n" : ""}x${change} = 1\n`;
    const told = await askRestless(
      {
        row: realRow("pyright"),
        extension: "py",
        config: ["pyrightconfig.json", "{}"],
        declaration: "def alpha():\n    pass\n",
        text,
        pauseMs: 60,
      },
      scaled(20),
    );
    expect(told.wrong).toEqual([]);
    expect(told.whole).toBeGreaterThan(5);
  });
});
