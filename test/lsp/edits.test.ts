import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { nodeCommands, nodeFs, nodePrograms, systemClock, systemRandom } from "../../src/daemon/base/index.ts";
import { type LspAnswer, type LspAsk, startLsp } from "../../src/daemon/lsp/index.ts";
import { isSensitive } from "../../src/daemon/workspace/index.ts";
import { apply, planIn, runIn, textsOf } from "../helpers/lsp/apply.ts";
import { DiskWorkspace, sha } from "../helpers/lsp/disk-workspace.ts";
import { project, Unavailable } from "../helpers/lsp/projects.ts";
import { openRoom, placesOf, question, realRow, repositoryFile } from "../helpers/lsp/room.ts";
import { missing, wholePath } from "../helpers/lsp/servers.ts";
import { silent } from "../helpers/lsp/session.ts";
import { atTeardown } from "../helpers/teardown.ts";
import { tempDir } from "../helpers/temp.ts";

const TSC = repositoryFile("node_modules/typescript/bin/tsc");

/** Places in the order answers have: by path, line, character. */
function inOrder(places: readonly string[]): readonly string[] {
  const parts = places.map((place) => place.split(":"));
  parts.sort(([a = "", ...one], [b = "", ...other]) => {
    if (a !== b) return Buffer.compare(Buffer.from(a), Buffer.from(b));
    return Number(one[0]) - Number(other[0]) || Number(one[1]) - Number(other[1]);
  });
  return parts.map((one) => one.join(":"));
}

/** Where a word stands in TypeScript below a directory's src, outside of comments and strings: "path:line:character". */
function wordsOfCode(root: string, word: string): string[] {
  const hidden = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"/g;
  return readdirSync(join(root, "src"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    .flatMap((path) => {
      const code = readFileSync(join(root, path), "utf8").replace(hidden, (text) => text.replace(/[^\n]/g, " "));
      return code
        .split("\n")
        .flatMap((line, index) =>
          [...line.matchAll(new RegExp(`\\b${word}\\b`, "g"))].map((match) => `${path}:${index + 1}:${match.index + 1}`),
        );
    });
}

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

describe("a check", () => {
  it("by TypeScript finds what a change breaks elsewhere, and what a new file mends, with nothing on disk", async () => {
    const files = {
      "tsconfig.json": '{ "compilerOptions": { "strict": true, "noEmit": true, "module": "nodenext" } }',
      "a.ts": "export const a = 1;\n",
      "b.ts": "import { a } from './a.js';\nexport const b: number = a;\n",
      "c.ts": "import { n } from './new.js';\nexport const c: string = n;\n",
    };
    const { ask, workspace } = site("typescript", files);
    await ask("diagnostics", "", { paths: ["b.ts", "c.ts"] });
    const check = async (path: string, text: string) => {
      const { found, partial } = await ask("check", "", { edits: [{ path, text }] });
      if (found.kind !== "check") throw new Error(found.kind);
      const introduced = found.introduced.flatMap((file) =>
        file.diagnostics.map(({ span: { start }, code }) => `${file.path}:${start.line}:${start.character} ${code}`),
      );
      return { introduced, resolved: found.resolved, partial };
    };
    expect(await check("a.ts", "export const a = 'x';\n")).toEqual({
      introduced: ["b.ts:2:14 2322"],
      resolved: 0,
      partial: false,
    });
    expect(await check("new.ts", "export const n = 1;\n")).toEqual({
      introduced: ["c.ts:2:14 2322"],
      resolved: 1,
      partial: false,
    });
    expect([workspace.generation, readdirSync(workspace.root).sort()]).toEqual([1, Object.keys(files).sort()]);
    const after = await ask("diagnostics", "", { paths: ["a.ts", "b.ts", "c.ts"] });
    expect(after.found).toMatchObject({
      files: { items: [{ diagnostics: [] }, { diagnostics: [] }, { diagnostics: [{ code: "2307" }] }] },
    });
  });
});

describe("servers that are not of npm", () => {
  function started(server: string, files: Readonly<Record<string, string>>) {
    const workspace = new DiskWorkspace(tempDir(server), files);
    const lsp = startLsp({
      clock: systemClock,
      random: systemRandom,
      log: silent,
      fs: nodeFs,
      programs: nodePrograms,
      commands: nodeCommands,
      isSensitive,
      environment: { ...process.env, PATH: wholePath },
      roots: () => [workspace.root],
      own: () => undefined,
      node: process.execPath,
      processId: process.pid,
      version: "0.0.0",
      overrides: {},
      memoryBytes: Number.MAX_SAFE_INTEGER,
      idleMs: 600_000,
      startsAtOnce: 4,
    });
    atTeardown(() => lsp.close());
    const ask = (action: LspAsk["action"], path: string, over: Partial<LspAsk> = {}): Promise<LspAnswer> =>
      lsp.ask(question(workspace, action, path, over));
    return { workspace, ask };
  }

  it("gopls renames by documentChanges with versions of files that are not open (cclsp#10)", async ({ skip }) => {
    const reason = missing("gopls");
    if (reason !== undefined) skip(reason);
    const files = {
      "go.mod": "module example.com/p\n\ngo 1.21\n",
      "p.go": "package p\n\nfunc Total(n int) int { return n * 2 }\n",
      "q.go": "package p\n\nfunc Sum() int { return Total(1) + Total(2) }\n",
      "sub/s.go": 'package sub\n\nimport "example.com/p"\n\nvar S = p.Total(3)\n',
    };
    const { ask, workspace } = started("gopls", files);
    await ask("symbols", "q.go");
    const plan = planIn(await ask("rename", "p.go", { line: 3, symbol: "Total", newName: "Whole" }));
    expect(textsOf(plan)).toEqual({
      "p.go": files["p.go"].replaceAll("Total", "Whole"),
      "q.go": files["q.go"].replaceAll("Total", "Whole"),
      "sub/s.go": files["sub/s.go"].replaceAll("Total", "Whole"),
    });
    apply(workspace, plan);
    expect(await plan.verify(new AbortController().signal)).toEqual({
      references: { before: 4, after: 4 },
      introduced: [],
      resolved: 0,
      note: "",
    });
  });

  it("clangd says what it leaves out where it was not told how files are compiled, and else renames all", async ({ skip }) => {
    const reason = missing("clangd");
    if (reason !== undefined) skip(reason);
    const files = {
      "h.h": "int total(int);\n",
      "m.c": '#include "h.h"\nint main(void) { return total(1); }\n',
      "n.c": '#include "h.h"\nint total(int n) { return n; }\n',
    };
    const commands = (root: string) =>
      JSON.stringify(["m.c", "n.c"].map((file) => ({ directory: root, file, command: `cc -c ${file}` })));
    const whole = Object.fromEntries(Object.entries(files).map(([path, text]) => [path, text.replace("total", "sum")]));
    const loose = started("clangd", files);
    const answer = await loose.ask("rename", "n.c", { line: 2, symbol: "total", newName: "sum" });
    const found = textsOf(planIn(answer));
    // How much it sees is a matter of luck, and what it does not is said.
    expect(whole).toMatchObject(found);
    const left = Object.keys(files).filter((path) => !(path in found));
    expect(answer.partial).toBe(left.length > 0);
    if (left.length > 0) expect(answer.note).toContain(`total stands in files that are left as they are: ${left.join(", ")}`);
    const told = started("clangd", files);
    told.workspace.write("compile_commands.json", commands(told.workspace.root));
    await told.ask("diagnostics", "m.c");
    expect(textsOf(planIn(await told.ask("rename", "n.c", { line: 2, symbol: "total", newName: "sum" })))).toEqual(whole);
  });
});

describe("a project of 1,494 modules", () => {
  it("has a symbol renamed wherever it stands under its name, in files that were never opened", async (context) => {
    const root = tempDir("viem");
    await project("typescript", root).catch((thrown: unknown) => {
      if (thrown instanceof Unavailable) context.skip(thrown.message);
      throw thrown;
    });
    const { lsp } = openRoom([realRow("typescript")]);
    const workspace = new DiskWorkspace(root);
    const path = "src/utils/data/concat.ts";
    const ask = (action: LspAsk["action"], over: Partial<LspAsk>): Promise<LspAnswer> =>
      lsp.ask(question(workspace, action, path, { timeoutMs: 60_000, ...over }));
    const answer = await ask("rename", { symbol: "concatHex", newName: "joinedHex" });
    // Where it is exported under its old name, importers go on under that.
    expect(answer).toMatchObject({
      partial: false,
      note: expect.stringMatching(
        /^typescript keeps the name concatHex for others in src\/index\.ts, src\/utils\/index\.ts: 4 uses go on under it: /,
      ),
    });
    const { files } = planIn(answer);
    const renamed = files.flatMap(({ path: at, changes }) =>
      changes.map(({ span: { start } }) => `${at}:${start.line}:${start.character}`),
    );
    // Neither in comments nor in strings: counted without any server.
    const before = wordsOfCode(root, "concatHex");
    apply(workspace, planIn(answer));
    const [under, other] = [wordsOfCode(root, "joinedHex"), wordsOfCode(root, "concatHex")];
    expect([under.length, other.length]).toEqual([renamed.length, before.length - renamed.length + 2]);
    expect(renamed.filter((place) => !before.includes(place))).toEqual([]);
    const found = await ask("references", { symbol: "joinedHex" });
    expect(placesOf(found).map((place) => place.slice(0, place.lastIndexOf("-")))).toEqual(inOrder([...under, ...other]));
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
