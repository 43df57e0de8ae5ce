import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { LspAnswer, LspAsk } from "../../src/daemon/lsp/index.ts";
import { apply, planIn, runIn, textsOf } from "../helpers/lsp/apply.ts";
import { DiskWorkspace, sha } from "../helpers/lsp/disk-workspace.ts";
import { openRoom, question, realRow, repositoryFile } from "../helpers/lsp/room.ts";
import { tempDir } from "../helpers/temp.ts";

const TSC = repositoryFile("node_modules/typescript/bin/tsc");

function site(server: string, files: Readonly<Record<string, string>>) {
  const { lsp } = openRoom([realRow(server)]);
  const workspace = new DiskWorkspace(tempDir(server), files);
  const ask = (action: LspAsk["action"], path: string, over: Partial<LspAsk> = {}): Promise<LspAnswer> =>
    lsp.ask(question(workspace, action, path, over));
  const read = (path: string): string => readFileSync(join(workspace.root, path), "utf8");
  return { workspace, ask, read };
}

const PROJECT = {
  "tsconfig.json":
    '{ "compilerOptions": { "strict": true, "module": "nodenext", "noEmit": true, "skipLibCheck": true }, "include": ["src"] }',
  "package.json": '{ "name": "p", "type": "module" }',
  "src/price.ts": "\ufeffexport function total(n: number): number {\r\n  return n * 2;\r\n}\r\n",
  "src/cart.ts": "import { total } from './price.js';\nexport const sum = (n: number) => total(n) + total(1); // 😀 total\n",
  "src/deep/shop.ts": "import { total as price } from '../price.js';\nexport const shop = { price: price(3), total: 'total' };",
  "src/index.ts": "export { total } from './price.js';\nexport { sum } from './cart.js';\n",
};

describe("TypeScript", () => {
  it("renames in files that were never opened, byte for byte, and the compiler agrees before and after", async () => {
    const { workspace, ask, read } = site("typescript", PROJECT);
    expect(await runIn(workspace.root, process.execPath, TSC)).toEqual({ status: 0, output: "" });
    const answer = await ask("rename", "src/price.ts", { symbol: "total", newName: "Gesamt" });
    const plan = planIn(answer);
    expect(answer).toMatchObject({ partial: false, note: "", sha256: sha(PROJECT["src/price.ts"]) });
    expect(plan.title).toBe("rename total to Gesamt");
    const after = {
      "src/price.ts": "\ufeffexport function Gesamt(n: number): number {\r\n  return n * 2;\r\n}\r\n",
      "src/cart.ts":
        "import { Gesamt } from './price.js';\nexport const sum = (n: number) => Gesamt(n) + Gesamt(1); // 😀 total\n",
      "src/deep/shop.ts":
        "import { Gesamt as price } from '../price.js';\nexport const shop = { price: price(3), total: 'total' };",
      "src/index.ts": "export { Gesamt as total } from './price.js';\nexport { sum } from './cart.js';\n",
    };
    expect(textsOf(plan)).toEqual(after);
    // A preview changes nothing.
    expect(read("src/price.ts")).toBe(PROJECT["src/price.ts"]);
    apply(workspace, plan);
    expect(await runIn(workspace.root, process.execPath, TSC)).toEqual({ status: 0, output: "" });
    const verified = await plan.verify(new AbortController().signal);
    expect(verified).toEqual({ references: { before: 6, after: 6 }, introduced: [], resolved: 0, note: "" });
  });

  it("renames across files of no project, which it would know only when they are open", async () => {
    const { "tsconfig.json": _config, ...loose } = PROJECT;
    const { ask } = site("typescript", loose);
    const plan = planIn(await ask("rename", "src/price.ts", { symbol: "total", newName: "Gesamt" }));
    expect(Object.keys(textsOf(plan))).toEqual(["src/cart.ts", "src/deep/shop.ts", "src/index.ts", "src/price.ts"]);
  });

  it("formats as the text is indented, and only a range when that is asked for", async () => {
    const text = "export class A {\n\tb( n:number ) {\n\t\treturn n\n\t}\n\tc( ) {}\n}\n";
    const { ask } = site("typescript", { "a.ts": text });
    expect(textsOf(planIn(await ask("format", "a.ts")))).toEqual({
      "a.ts": "export class A {\n\tb(n: number) {\n\t\treturn n\n\t}\n\tc() { }\n}\n",
    });
    const range = await ask("format", "a.ts", { line: 5, endLine: 5 });
    expect(textsOf(planIn(range))).toEqual({ "a.ts": text.replace("c( ) {}", "c() { }") });
  });

  it("organizes imports, and has nothing to do the second time", async () => {
    const files = {
      ...PROJECT,
      "src/use.ts":
        "import { sum } from './cart.js';\nimport { total, } from './price.js';\nimport { shop } from './deep/shop.js';\nshop; sum;\n",
    };
    const { ask, workspace } = site("typescript", files);
    const plan = planIn(await ask("organize_imports", "src/use.ts"));
    expect(textsOf(plan)).toEqual({
      "src/use.ts": "import { sum } from './cart.js';\nimport { shop } from './deep/shop.js';\nshop; sum;\n",
    });
    apply(workspace, plan);
    expect(await plan.verify(new AbortController().signal)).toEqual({ introduced: [], resolved: 1, note: "" });
    expect(planIn(await ask("organize_imports", "src/use.ts")).edits).toEqual([]);
  });
});

describe("pyright", () => {
  const FILES = {
    "pyrightconfig.json": "{}",
    "price.py": "def total(n: int) -> int:\n    return n * 2\n",
    "cart.py": "import sys\nimport os\nfrom price import total\n\nprint(total(1), os.name, sys.path)\n",
    "shop/__init__.py": "",
    "shop/till.py": "from price import total as price\n\nprint(price(2))\n",
  };

  it("renames in files that were never opened, and the programs do the same before and after", async (context) => {
    const { workspace, ask } = site("pyright", FILES);
    const runs = () =>
      Promise.all([runIn(workspace.root, "python3", "cart.py"), runIn(workspace.root, "python3", "-m", "shop.till")]);
    const before = await runs();
    if (before.some(({ status }) => status !== 0)) context.skip("python3 does not run here");
    const plan = planIn(await ask("rename", "price.py", { symbol: "total", newName: "summe" }));
    expect(textsOf(plan)).toEqual({
      "price.py": FILES["price.py"].replaceAll("total", "summe"),
      "cart.py": FILES["cart.py"].replaceAll("total", "summe"),
      "shop/till.py": FILES["shop/till.py"].replaceAll("total", "summe"),
    });
    apply(workspace, plan);
    expect(await runs()).toEqual(before);
    expect(await plan.verify(new AbortController().signal)).toEqual({
      references: { before: 4, after: 4 },
      introduced: [],
      resolved: 0,
      note: "",
    });
  });

  it("organizes imports by a command whose edit is taken as a plan", async () => {
    const { ask, read } = site("pyright", FILES);
    const plan = planIn(await ask("organize_imports", "cart.py"));
    expect(textsOf(plan)).toEqual({
      "cart.py": FILES["cart.py"].replace("import sys\nimport os\n", "import os\nimport sys\n\n"),
    });
    expect(read("cart.py")).toBe(FILES["cart.py"]);
  });
});
