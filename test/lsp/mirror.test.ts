import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import type { Range } from "vscode-languageserver-protocol";
import { nodeCommands, systemClock } from "../../src/daemon/base/index.ts";
import { createMirror, type Mirror } from "../../src/daemon/lsp/mirror/index.ts";
import { createSession, type Readiness } from "../../src/daemon/lsp/session/index.ts";
import { Bell } from "../helpers/bell.ts";
import { fakeSpec, silent, within } from "../helpers/lsp/session.ts";
import { atTeardown } from "../helpers/teardown.ts";
import { tempDir } from "../helpers/temp.ts";
import { FakeWorkspace } from "../unit/lsp/mirror-site.ts";

const SCALE = Number(process.env.GIN_TEST_SCALE ?? "1");
const ROUNDS = 9 * SCALE;
const bin = (name: string) => fileURLToPath(new URL(`../../node_modules/.bin/${name}`, import.meta.url));
const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc");
const inPath = (name: string) =>
  (process.env.PATH ?? "")
    .split(":")
    .map((at) => join(at, name))
    .find(existsSync);

/** Mostly another line; where the file begins with a byte order mark the fault stands in its first. */
const next = (n: number) => (n % 3 === 0 ? " " : "\r\n");

/** A server, a file of its language with one fault that names a number, and what it says of it. */
interface Case {
  readonly command: readonly (string | undefined)[];
  readonly path: string;
  readonly languageId: string;
  /** `before` is text that may hold anything; the fault's name is `undefined_N`. */
  readonly fault: (n: number, before: string) => string;
  readonly files?: Readonly<Record<string, string>>;
  readonly settings?: unknown;
  readonly readiness?: Readiness;
}

const CASES: Readonly<Record<string, Case>> = {
  typescript: {
    command: [process.execPath, tsc, "--lsp", "--stdio"],
    path: "src/a.ts",
    languageId: "typescript",
    fault: (n, before) => `export {};${next(n)}/* ${before} */ console.log("${before}", undefined_${n});\n`,
    files: { "tsconfig.json": '{"compilerOptions":{"strict":true,"lib":["es2023","dom"]}}' },
  },
  pyright: {
    command: [process.execPath, bin("pyright-langserver"), "--stdio"],
    path: "a.py",
    languageId: "python",
    fault: (n, before) => `x = 1;${next(n)}print("${before}", undefined_${n})\n`,
    settings: { analysis: { diagnosticMode: "openFilesOnly" } },
    readiness: {
      kind: "notification",
      method: "window/logMessage",
      ready: (params) => /Found \d+ source file|No source files found/.test(JSON.stringify(params)),
    },
  },
  clangd: {
    command: [inPath("clangd"), "--log=error"],
    path: "a.c",
    languageId: "c",
    fault: (n, before) => `int x;${next(n)}/* ${before} */ int y = undefined_${n};\n`,
  },
  yaml: {
    command: [process.execPath, bin("yaml-language-server"), "--stdio"],
    path: "a.yaml",
    languageId: "yaml",
    fault: (n, before) => `a: "${before}"\nb: *undefined_${n}\n`,
    settings: { validate: true, schemaStore: { enable: false } },
  },
  json: {
    command: [process.execPath, bin("vscode-json-language-server"), "--stdio"],
    path: "a.json",
    languageId: "json",
    fault: (n, before) => `{"a": "${before}", undefined_${n}: 1}`,
    settings: { validate: { enable: true } },
  },
};

interface Said {
  readonly range: Range;
  readonly message: string;
}

/** Diagnostics of a document as it is now: asked for, or the push that counts. */
async function diagnostics(mirror: Mirror, path: string): Promise<readonly Said[]> {
  const { uri } = await mirror.open(path, within());
  if (mirror.run.capabilities.diagnosticProvider !== undefined || mirror.run.registered("textDocument/diagnostic").length > 0) {
    const answer = await mirror.run.request("textDocument/diagnostic", { textDocument: { uri } }, within());
    return (answer as { items: Said[] }).items;
  }
  const bell = new Bell();
  const end = mirror.onPushed(bell.ring);
  const known = () => mirror.pushed(uri)?.current === true;
  await mirror.run.request("textDocument/documentSymbol", { textDocument: { uri } }, within());
  await bell.until(known, 2_000).catch(async () => {
    await mirror.nudge(path);
    await bell.until(known, 15_000);
  });
  end();
  return mirror.pushed(uri)?.items as readonly Said[];
}

const BEFORE = ["", "é漢", "😀", "e\u0301😀 ", "a\tb", "😀😀😀"];
/** Not in every language; some servers end lines at these, which ranges must not. */
const ODD = ["\u2028", "\f😀", "\u0085x"];

/** A mirror of a server in a real directory. */
async function site(
  name: string,
  { command, languageId, files = {}, settings, readiness = { kind: "answers" } }: Omit<Case, "fault">,
) {
  const root = tempDir("mirror-real");
  const workspace = Object.assign(new FakeWorkspace(), { root });
  const write = (at: string, content: string) => {
    mkdirSync(dirname(join(root, at)), { recursive: true });
    writeFileSync(join(root, at), content);
    workspace.write(at, content);
  };
  for (const [at, content] of Object.entries(files)) write(at, content);
  workspace.record();
  const since = workspace.tree();
  const launch = {
    server: name,
    command: command as string[],
    directory: root,
    env: { PATH: process.env.PATH ?? "", HOME: root },
    readiness,
    settings: (section: string | undefined) => (section === undefined ? { [name]: settings } : (settings ?? null)),
  };
  const deps = { clock: systemClock, commands: nodeCommands, log: silent, processId: process.pid, version: "0.0.0" };
  const session = createSession(fakeSpec({}, launch), deps);
  atTeardown(() => session.close());
  const run = await session.run(within());
  const stop = () => void session.stop();
  const mirror = createMirror({ run, workspace, clock: systemClock, server: name, since, languageId: () => languageId, stop });
  return { write, run, mirror };
}

const missing = ({ command }: Pick<Case, "command">) =>
  command.some((part) => part === undefined || (part.startsWith("/") && !existsSync(part)));

for (const [name, one] of Object.entries(CASES)) {
  test(`${name} speaks of the text that the file holds, at the place where it stands`, async (ctx) => {
    if (missing(one)) ctx.skip(`${name} is not installed`);
    const { path, fault } = one;
    const { write, run, mirror } = await site(name, { ...one, files: { ...("files" in one ? one.files : {}), [path]: "" } });
    const some = [...BEFORE, ...(name === "json" ? [] : ODD)];
    for (let round = 1; round <= ROUNDS; round++) {
      const mark = round % 3 === 0 && name !== "json" ? "\ufeff" : "";
      const before = some[round % some.length] ?? "";
      write(path, mark + fault(round, before));
      await mirror.sync(within());
      const { text } = await mirror.open(path, within());
      const found = await diagnostics(mirror, path);
      const placed = found.map(({ range, message }) => {
        const at = text.offset(range.start, run.encoding);
        return { message, at: /^\*?\w+/.exec(text.text.slice(at))?.[0].endsWith(`undefined_${round}`) };
      });
      expect([round, before, placed]).toEqual([round, before, expect.arrayContaining([expect.objectContaining({ at: true })])]);
    }
  });
}

const PYLSP = { command: [inPath("pylsp")], path: "a.py", languageId: "python" };

test("pylsp, which ends lines at other characters than LSP does, holds what the file holds all the same", async (ctx) => {
  const one = { ...PYLSP, files: { "a.py": "" } };
  if (missing(one)) ctx.skip("pylsp is not installed");
  const { write, mirror } = await site("pylsp", one);
  for (let round = 1; round <= ROUNDS; round++) {
    const odd = ODD[round % ODD.length] ?? "";
    const content = `x = "${odd}"\n\n\ndef first_${round}():\n    return "${odd.repeat(round)}"\n\n\ndef second_${round}():\n    return 1\n`;
    write("a.py", content);
    await mirror.sync(within());
    const { uri } = await mirror.open("a.py", within());
    const symbols = (await mirror.run.request("textDocument/documentSymbol", { textDocument: { uri } }, within())) as {
      name: string;
    }[];
    expect(symbols.map(({ name }) => name).sort()).toEqual([`first_${round}`, `second_${round}`, "x"]);
  }
});

/** What declares `target` in another file, and how that is used on the second line of a case's own. */
const TARGETS: Readonly<Record<string, { readonly path: string; readonly text: string; readonly user: string }>> = {
  typescript: {
    path: "src/b.ts",
    text: "export const target = 1;\n",
    user: 'import { target } from "./b";\nconsole.log(target);\n',
  },
  pyright: { path: "b.py", text: "target = 1\n", user: "from b import target\nprint(target)\n" },
  pylsp: { path: "b.py", text: "target = 1\n", user: "from b import target\nprint(target)\n" },
  clangd: { path: "b.h", text: "int target;\n", user: '#include "b.h"\nint y(void) { return target; }\n' },
};

for (const [name, { path, text, user }] of Object.entries(TARGETS)) {
  test(`${name} finds a place behind a byte order mark where it is, whether the file is open or not`, async (ctx) => {
    const one = name === "pylsp" ? PYLSP : (CASES[name] as Case);
    if (missing(one)) ctx.skip(`${name} is not installed`);
    const { run, mirror } = await site(name, {
      ...one,
      files: { ...("files" in one ? one.files : {}), [path]: `\ufeff${text}`, [one.path]: user },
    });
    await mirror.sync(within());
    const { uri } = await mirror.open(one.path, within());
    const position = { line: 1, character: (user.split("\n")[1]?.indexOf("target") ?? 0) + 1 };
    const place = async () => {
      const found = await mirror.run.request("textDocument/definition", { textDocument: { uri }, position }, within());
      const [location] = [found].flat() as { uri: string; range: Range }[];
      expect(mirror.pathOf(location?.uri ?? "")).toBe(path);
      return location && (await mirror.text(path))?.fromServer(location.range.start, run.encoding);
    };
    const expected = { line: 1, character: text.indexOf("target") + 1 };
    expect(await place()).toEqual(expected);
    await mirror.open(path, within());
    expect(await place()).toEqual(expected);
  });
}
