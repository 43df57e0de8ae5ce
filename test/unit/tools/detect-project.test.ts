import { describe, expect, it } from "vitest";
import { openTools } from "./site.ts";

async function detect(files: { readonly [path: string]: string | Uint8Array }, path?: string) {
  const site = await openTools(files);
  return JSON.parse((await site.ok("detect_project", path === undefined ? {} : { path })).result);
}

describe("detect_project", () => {
  it("an empty project is empty lists and no commands", async () => {
    expect(await detect({ "README.md": "# hi" })).toEqual({
      languages: [],
      build_tool: "",
      test_command: "",
      linter: "",
      config_files: [],
      frameworks: [],
    });
  });

  it.each([
    ["go.mod", "module example.com/x\n", "Go", "go build ./...", "go test ./...", "golangci-lint run"],
    ["Cargo.toml", "[package]\nname = 'x'\n", "Rust", "cargo build", "cargo test", "cargo clippy"],
    ["pyproject.toml", "[project]\nname='x'\n", "Python", "python -m build", "pytest", "ruff check ."],
    ["setup.py", "from setuptools import setup\nsetup(name='x')\n", "Python", "python setup.py build", "pytest", ""],
    ["requirements.txt", "# x\nrequests==2\n", "Python", "", "pytest", ""],
    ["composer.json", '{"name":"a/b"}', "PHP", "composer install", "vendor/bin/phpunit", ""],
  ])("%s", async (name, text, language, build, test, lint) => {
    expect(await detect({ [name]: text })).toMatchObject({
      languages: [language],
      build_tool: build,
      test_command: test,
      linter: lint,
      config_files: [name],
    });
  });

  it.each([
    ["go.mod", "# nothing\n"],
    ["package.json", "{"],
    ["package.json", "[1]"],
    ["Cargo.toml", "hello"],
    ["pyproject.toml", ""],
    ["requirements.txt", "# only a comment\n"],
    ["go.mod", `module x\n${"x".repeat(1024 * 1024)}`],
  ])("%s whose content is not that tells nothing: %.12s", async (name, text) => {
    expect(await detect({ [name]: text })).toMatchObject({ languages: [], config_files: [] });
  });

  it("scripts of package.json are run by whose lock file is there, and tsconfig.json makes it TypeScript", async () => {
    const pack = JSON.stringify({ scripts: { build: "x", test: "y", lint: "z" } });
    expect(await detect({ "package.json": pack })).toMatchObject({
      languages: ["JavaScript"],
      build_tool: "npm run build",
      test_command: "npm run test",
      linter: "npm run lint",
    });
    for (const [lock, manager] of [
      ["yarn.lock", "yarn"],
      ["pnpm-lock.yaml", "pnpm"],
      ["bun.lockb", "bun"],
    ] as const) {
      const found = await detect({ "package.json": pack, [lock]: "x", "tsconfig.json": "{}", "next.config.mjs": "" });
      expect(found).toMatchObject({ languages: ["TypeScript"], test_command: `${manager} run test`, frameworks: ["Next.js"] });
    }
  });

  it("a language is named once, the first file with a build command gives the commands", async () => {
    const found = await detect({
      "requirements.txt": "a\n",
      "setup.py": "setup()",
      "pyproject.toml": "[project]\n",
      "package.json": '{"scripts":{"test":"x"}}',
    });
    expect(found).toMatchObject({ languages: ["JavaScript", "Python"], build_tool: "python -m build", test_command: "pytest" });
  });

  it("recipes of a justfile win, and lines that assign are none", async () => {
    const just = 'build := "no"\nset shell := ["sh"]\ntest arg="x": dep\n  go test\n@lint:\n  x\n';
    expect(await detect({ "go.mod": "module x", justfile: just })).toMatchObject({
      build_tool: "go build ./...",
      test_command: "just test",
      linter: "just lint",
    });
  });

  it("Makefile and Taskfile give the targets they have", async () => {
    expect(await detect({ Makefile: "X := 1\nbuild: x\n\ttest:\nlint :\n" })).toMatchObject({
      build_tool: "make build",
      test_command: "",
      linter: "make lint",
    });
    expect(await detect({ "Taskfile.yml": "version: 3\ntasks:\n  build:\n    cmds: [x]\n" })).toMatchObject({
      build_tool: "task build",
    });
  });

  it("looks at the directory named and at no other", async () => {
    const files = { "sub/go.mod": "module x", "package.json": "{}" };
    expect((await detect(files, "sub")).languages).toEqual(["Go"]);
    expect((await detect(files)).languages).toEqual(["JavaScript"]);
  });

  it("a path that is no directory has its code", async () => {
    const site = await openTools({ "a.txt": "a" });
    expect((await site.call("detect_project", { path: "a.txt" })).error_code).toBe("invalid_args");
    expect((await site.call("detect_project", { path: "gone" })).error_code).toBe("file_not_found");
  });
});
