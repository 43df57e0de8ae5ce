import type { ProjectName } from "../helpers/lsp/projects.ts";

/** A server, files of a project it is for, and how an edit's number and a count of uses are planted in them. */
export interface Subject {
  readonly server: string;
  /** What must be installed for it. */
  readonly needs: readonly string[];
  /** Workspace-relative; each is edited in its turn. A pattern is the first ten files that match it. */
  readonly slots: readonly string[] | RegExp;
  /** A file of its own that declares `gintarget`, where the server finds references over files; undefined where it has none. */
  readonly target?: { readonly path: string; readonly text: string; readonly line: number; readonly character: number };
  /** Where the numbers show: in diagnostics that name them, in names of symbols. */
  readonly shows: readonly ("diagnostics" | "symbols")[];
  /** The line that holds the number. */
  readonly missing: (number: number) => string;
  /** The line that holds the uses. */
  readonly uses: (count: number) => string;
  /** Text of slots that the project does not have. */
  readonly own?: (slot: string) => string;
  /** Where the two lines go: at the text's end, or behind its first line. */
  readonly where?: "end" | "second";
}

/** The number of an edit in a text or message. */
const NUMBER = /ginmissing(\d+)/g;

/** Numbers in a text, without doubles, in order. */
export const numbersIn = (text: string): readonly number[] =>
  [...new Set([...text.matchAll(NUMBER)].map(([, number]) => Number(number)))].sort((a, b) => a - b);

/** How often the target is named in a text. */
export const usesIn = (text: string): number => text.match(/\bgintarget\b/gi)?.length ?? 0;

/** A slot's text with an edit planted in it. */
export function planted(subject: Subject, base: string, number: number, count: number): string {
  const lines = `${subject.uses(count)}\n${subject.missing(number)}\n`;
  if (subject.where !== "second") return `${base.endsWith("\n") ? base : `${base}\n`}${lines}`;
  const at = base.indexOf("\n") + 1;
  return base.slice(0, at) + lines + base.slice(at);
}

const times = (count: number, text: string, between: string): string => Array.from({ length: count }, () => text).join(between);

/** Each of Python's servers has files and a target of its own. */
const python = (home: string) =>
  ({
    target: { path: `docutils/${home}.py`, text: "def gintarget(n):\n    return n\n", line: 1, character: 5 },
    shows: ["diagnostics"],
    missing: (number: number) => `ginmissing${number}`,
    uses: (count: number) => `from docutils.${home} import gintarget; ${times(count, "gintarget(1)", "; ")}`,
  }) as const;

/** Subjects by project. */
export const SUBJECTS: Readonly<Record<ProjectName, readonly Subject[]>> = {
  typescript: [
    {
      server: "typescript",
      needs: [],
      slots: ["mainnet", "base", "optimism", "polygon", "gnosis", "bsc", "celo", "linea", "scroll", "zora"].map(
        (chain) => `src/chains/definitions/${chain}.ts`,
      ),
      target: {
        path: "src/ginhome.ts",
        text: "export function gintarget(n: number): number {\n  return n;\n}\n",
        line: 1,
        character: 17,
      },
      shows: ["diagnostics"],
      missing: (number) => `export const ginnew = ginmissing${number};`,
      uses: (count) =>
        `import { gintarget } from "../../ginhome.js"; export const ginuses = [${times(count, "gintarget(1)", ", ")}];`,
    },
  ],
  python: [
    {
      ...python("ginhome"),
      server: "pyright",
      needs: ["pyright-langserver"],
      slots: /^docutils\/(?!writers|parsers).*\/[a-z]+\.py$/,
    },
    {
      ...python("ginhouse"),
      server: "pylsp",
      needs: ["pylsp", "/usr/lib/python3/dist-packages/pyflakes"],
      slots: /^docutils\/(writers|parsers)\/[a-z_0-9]+\/(\w+\/)*[a-z_]+\.py$/,
    },
  ],
  c: [
    {
      server: "clangd",
      needs: ["clangd"],
      slots: /^c\/(common|dec|enc)\/(?!dictionary|static|encode|backward).*\.c$/,
      target: { path: "c/include/ginhome.h", text: "static inline int gintarget(int n) { return n; }\n", line: 1, character: 19 },
      shows: ["diagnostics"],
      missing: (number) => `static int ginnew(void) { return ginmissing${number}; }`,
      uses: (count) => `#include <ginhome.h>\nstatic int ginuses(void) { return ${times(count, "gintarget(1)", " + ")}; }`,
    },
  ],
  go: [
    {
      server: "gopls",
      needs: ["gopls", "go"],
      slots: ["zlib", "lzw", "gzip", "fse", "flate", "huff0", "s2", "snappy", "dict", "zstd"].map((name) => `${name}/ginuses.go`),
      own: (slot) => `package ${slot.slice(0, slot.indexOf("/"))}\n\nimport "github.com/klauspost/compress/internal/ginhome"\n`,
      target: {
        path: "internal/ginhome/home.go",
        text: "package ginhome\n\nfunc Gintarget() int { return 1 }\n",
        line: 3,
        character: 6,
      },
      shows: ["diagnostics"],
      missing: (number) => `var ginnew = ginmissing${number}`,
      uses: (count) => `var ginuses = ${times(count, "ginhome.Gintarget()", " + ")}`,
    },
  ],
  documents: [
    {
      server: "bash",
      needs: ["bash-language-server", "shellcheck"],
      // Not the long ones: shellcheck takes a second for each.
      slots: /^scripts\/git-(?!filter|instaweb|subtree|mergetool|submodule).*\.sh$/,
      target: { path: "scripts/ginhome.sh", text: "#!/bin/sh\ngintarget() {\n  echo one\n}\n", line: 2, character: 1 },
      shows: ["diagnostics"],
      missing: (number) => `echo "$ginmissing${number}"`,
      uses: (count) => times(count, "gintarget", "; "),
      where: "second",
    },
    {
      server: "css",
      needs: ["vscode-css-language-server"],
      slots: /^(css\/bootstrap-[a-z.]+|scss\/_[a-c]\w+)\.s?css$/,
      shows: ["diagnostics"],
      missing: (number) => `.gin { ginmissing${number}: 1px }`,
      uses: (count) => `.gin { color: red } /* ${count} */`,
    },
    {
      server: "html",
      needs: ["vscode-html-language-server"],
      slots: /^html\/w3c\/level1\/html\/files\/[a-z]+\.html$/,
      shows: ["diagnostics"],
      missing: (number) => `<style>.gin { ginmissing${number}: 1px }</style>`,
      uses: (count) => `<!-- ${count} -->`,
    },
    {
      server: "json",
      needs: ["vscode-json-language-server"],
      slots: /^json\/\d+\.json$/,
      shows: ["diagnostics", "symbols"],
      missing: (number) => `    "ginmissing${number}": 1 },`,
      uses: (count) => `  "gin": { "uses": [${times(count, "1", ", ")}],`,
      where: "second",
    },
    {
      server: "yaml",
      needs: ["yaml-language-server"],
      slots: /^yaml\/\d+\.yml$/,
      shows: ["diagnostics", "symbols"],
      missing: (number) => `  ginmissing${number}: 1`,
      uses: (count) => `gin:\n  uses: [${times(count, "1", ", ")}]`,
    },
  ],
};
