import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { nodePrograms } from "../../../src/daemon/base/index.ts";
import { type DiscoverDeps, discover, leadsInside, safePath } from "../../../src/daemon/lsp/table/discover.ts";
import { launchOf } from "../../../src/daemon/lsp/table/launch.ts";
import { languageOf, languagesOf, SERVERS, serverNamed, serversFor } from "../../../src/daemon/lsp/table/servers.ts";
import { LSP_SERVER_IDS } from "../../../src/paths/index.ts";
import { tempDir } from "../../helpers/temp.ts";

const row = (id: string) => {
  const found = serverNamed(id);
  if (found === undefined) throw new Error(`no row ${id}`);
  return found;
};

const own = (name: string): string | undefined => {
  try {
    return dirname(createRequire(import.meta.url).resolve(`${name}/package.json`));
  } catch {
    return undefined;
  }
};

function program(directory: string, name: string): string {
  mkdirSync(directory, { recursive: true });
  const file = join(directory, name);
  writeFileSync(file, "#!/bin/sh\n");
  chmodSync(file, 0o755);
  return file;
}

function deps(over: Partial<DiscoverDeps> = {}): DiscoverDeps {
  return { programs: nodePrograms, path: "", roots: () => [], own, node: process.execPath, overrides: {}, ...over };
}

describe("the table", () => {
  it("has the ids that the configuration knows, in their order", () => {
    expect(SERVERS.map((one) => one.id)).toEqual(LSP_SERVER_IDS);
  });

  it("finds rows by extension and by whole name, several for Python in order of preference", () => {
    expect(serversFor("src/a.tsx").map((one) => one.id)).toEqual(["typescript"]);
    expect(serversFor("a/b.py").map((one) => one.id)).toEqual(["pyright", "basedpyright", "pylsp"]);
    expect(languageOf(row("gopls"), "deep/go.mod")).toBe("go.mod");
    expect(languageOf(row("gopls"), "deep/other.mod")).toBeUndefined();
    expect(languageOf(row("clangd"), "A.HPP")).toBe("cpp");
    expect(serversFor("README")).toEqual([]);
    expect(serversFor("a.constructor")).toEqual([]);
    expect(languagesOf(row("clangd")).slice(0, 2)).toEqual(["c", "cpp"]);
  });

  it("says of each how it is installed and what it runs, and refuses untrusted what cannot be kept from running", () => {
    for (const { id, install, runs } of SERVERS) expect([id, install.length > 0, runs.length > 0]).toEqual([id, true, true]);
    expect(SERVERS.filter((one) => one.untrusted === "refused").map((one) => one.id)).toEqual(["rust-analyzer", "jdtls", "zls"]);
  });
});

describe("discovery", () => {
  it("starts gin's own TypeScript with its own Node, wherever PATH leads", () => {
    const found = discover(row("typescript"), deps());
    expect(found?.command[0]).toBe(process.execPath);
    expect(found?.command[1]).toMatch(/\/typescript\/bin\/tsc$/);
    expect(found?.command.slice(2)).toEqual(["--lsp", "--stdio"]);
  });

  it("takes the first program of PATH, absolute directories only, executables only", () => {
    const one = tempDir("bin");
    const two = tempDir("bin");
    writeFileSync(join(one, "gopls"), "not executable");
    mkdirSync(join(one, "zls"));
    const gopls = program(two, "gopls");
    program(two, "zls");
    const path = `.:bin:${one}:${join(one, "missing")}:${two}`;
    expect(discover(row("gopls"), deps({ path }))?.command).toEqual([gopls, "serve"]);
    expect(discover(row("zls"), deps({ path }))?.command).toEqual([join(two, "zls")]);
    expect(discover(row("clangd"), deps({ path }))).toBeUndefined();
    expect(safePath(deps({ path }))).toEqual([one, two]);
  });

  it("never takes one from inside a workspace: not by PATH, a symlink either way, nor because the owner names it", () => {
    const root = tempDir("root");
    const outside = tempDir("bin");
    const inside = program(join(root, "bin"), "gopls");
    symlinkSync(inside, join(outside, "gopls"));
    symlinkSync(join(root, "bin"), join(outside, "linked"));
    const link = join(outside, "root");
    symlinkSync(root, link);
    for (const path of [join(root, "bin"), outside, join(outside, "linked"), join(link, "bin")]) {
      expect(discover(row("gopls"), deps({ path, roots: () => [root] }))).toBeUndefined();
      expect(discover(row("gopls"), deps({ path, roots: () => [link] }))).toBeUndefined();
    }
    const overrides = { gopls: { command: inside } };
    expect(discover(row("gopls"), deps({ overrides, roots: () => [root] }))).toBeUndefined();
    expect(discover(row("gopls"), deps({ overrides }))?.command).toEqual([inside, "serve"]);
    // A root whose name merely begins alike is another directory.
    expect(discover(row("gopls"), deps({ path: join(root, "bin"), roots: () => [root.slice(0, -1)] }))?.command).toEqual([
      inside,
      "serve",
    ]);
  });

  it("takes the owner's program and arguments instead", () => {
    const mine = program(tempDir("bin"), "my-tsc");
    const overrides = { typescript: { command: mine, args: ["serve"] } };
    expect(discover(row("typescript"), deps({ overrides }))?.command).toEqual([mine, "serve"]);
  });
});

describe("a launch", () => {
  const found = { command: ["/usr/bin/x"] };
  const launch = (id: string, trusted: boolean, overrides = {}) =>
    launchOf(row(id), found, { root: "/w", trusted }, "", {
      environment: { HOME: "/home/u", SECRET: "s", GOPROXY: "https://p", GOPATH: "/go" },
      path: () => ["/usr/bin"],
      overrides,
    });

  it("passes on PATH, HOME and what the row names, and nothing else of the daemon's environment", () => {
    expect(launch("gopls", true).env).toEqual({ PATH: "/usr/bin", HOME: "/home/u", GOPATH: "/go", GOPROXY: "https://p" });
  });

  it("passes no toolchain on that lies in a workspace, also by a symlink, unless the workspace is trusted", () => {
    const root = tempDir("root");
    mkdirSync(join(root, ".venv"));
    const link = join(tempDir("links"), "venv");
    symlinkSync(join(root, ".venv"), link);
    const inside = (value: string) => leadsInside(value, deps({ roots: () => [root] }));
    const passed = (trusted: boolean, value: string) =>
      launchOf(row("pylsp"), found, { root: "/w", trusted }, "", {
        environment: { VIRTUAL_ENV: value, HOME: root },
        path: () => [],
        inside,
        overrides: {},
      }).env;
    for (const value of [join(root, ".venv"), link, `/usr:${link}`]) {
      expect(passed(false, value)).toEqual({ PATH: "", HOME: root, PYTHONSAFEPATH: "1" });
      expect(passed(true, value)).toEqual({ PATH: "", HOME: root, VIRTUAL_ENV: value });
    }
    expect(passed(false, "/usr").VIRTUAL_ENV).toBe("/usr");
  });

  it("lays what keeps it from running code over everything, the owner's word too, for an untrusted workspace alone", () => {
    const overrides = { gopls: { env: { CGO_ENABLED: "1", MINE: "1" } } };
    expect(launch("gopls", true, overrides).env).toMatchObject({ CGO_ENABLED: "1", MINE: "1" });
    expect(launch("gopls", false, overrides).env).toMatchObject({
      CGO_ENABLED: "0",
      GOPROXY: "off",
      GOTOOLCHAIN: "local",
      MINE: "1",
    });
    expect(launch("json", false).initializationOptions).toEqual({ provideFormatter: true, handledSchemaProtocols: ["file"] });
    expect(launch("json", true).initializationOptions).toEqual({ provideFormatter: true });
  });

  it("answers settings by section, nested as servers ask; the owner's are laid over field by field", () => {
    const { settings } = launch("pyright", false, {
      pyright: { settings: { python: { analysis: { diagnosticMode: "workspace" } } } },
    });
    expect(settings("python.analysis")).toEqual({ diagnosticMode: "workspace", autoSearchPaths: true });
    expect(settings("python.pythonPath")).toBe("python3");
    expect(settings("python.nothing.here")).toBeNull();
    expect(settings("toString")).toBeNull();
    expect(launch("typescript", true).settings("js/ts")).toEqual({ disableAutomaticTypeAcquisition: true });
    expect(Object.keys(launch("pyright", true).settings(undefined) as object)).toEqual(["python"]);
  });

  it("works in the folder it is for", () => {
    const { directory } = launchOf(row("gopls"), found, { root: "/w", trusted: true }, "sub/dir", {
      environment: {},
      path: () => [],
      overrides: {},
    });
    expect(directory).toBe("/w/sub/dir");
  });
});
