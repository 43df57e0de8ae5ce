import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { nodeFs, systemClock } from "../../../src/daemon/base/index.ts";
import { createDependencies, createMirror } from "../../../src/daemon/lsp/mirror/index.ts";
import { createPool } from "../../../src/daemon/lsp/pool/pool.ts";
import type { ServerSpec } from "../../../src/daemon/lsp/table/types.ts";
import { fakeSession, fakeSpec, silent, within } from "../../helpers/lsp/session.ts";
import { atTeardown } from "../../helpers/teardown.ts";
import { tempDir } from "../../helpers/temp.ts";
import { FakeWorkspace, later, mirrorSite } from "./mirror-site.ts";

function project(...folders: string[]) {
  const root = tempDir("deps");
  const write = (path: string, content = "1") => {
    mkdirSync(join(root, path, ".."), { recursive: true });
    // As package managers do: a new file in its place.
    writeFileSync(join(root, `${path}.new`), content);
    renameSync(join(root, `${path}.new`), join(root, path));
  };
  const { look } = createDependencies({ fs: nodeFs, root, folders: ["", ...folders] });
  return { root, write, look };
}

describe("dependencies", () => {
  test("nothing at the first look, nor while nothing changes", () => {
    const { write, look } = project();
    write("node_modules/.package-lock.json");
    expect([look(), look()]).toEqual([[], []]);
  });

  test("markers that come, change and go are told once", () => {
    const { root, write, look } = project();
    look();
    for (const marker of [
      "node_modules/.package-lock.json",
      "node_modules/.yarn-state.yml",
      "node_modules/.modules.yaml",
      "vendor/modules.txt",
    ]) {
      write(marker);
      expect([look(), look()]).toEqual([[marker], []]);
      write(marker);
      expect([look(), look()]).toEqual([[marker], []]);
    }
    writeFileSync(join(root, "vendor/modules.txt"), "more");
    expect(look()).toEqual(["vendor/modules.txt"]);
    rmSync(join(root, "node_modules"), { recursive: true });
    expect(look()).toHaveLength(3);
    expect(look()).toEqual([]);
  });

  test("packages below node_modules that have nothing to do with the marker are not looked at; without one, names in it are", () => {
    const { write, look } = project();
    write("node_modules/.package-lock.json");
    look();
    write("node_modules/.cache/x");
    expect(look()).toEqual([]);
    const bare = project();
    bare.write("node_modules/one/index.js");
    bare.look();
    bare.write("node_modules/two/index.js");
    expect(bare.look()).toEqual(["node_modules"]);
    bare.write("node_modules/two/other.js");
    expect(bare.look()).toEqual([]);
  });

  test("virtual environments: made anew, and what is installed in them", () => {
    const { root, write, look } = project();
    look();
    write(".venv/pyvenv.cfg");
    write(".venv/lib/python3.13/site-packages/one/__init__.py");
    expect(look()).toEqual([".venv/pyvenv.cfg", ".venv/lib/python3.13/site-packages"]);
    write(".venv/lib/python3.13/site-packages/two-1.0.dist-info/METADATA");
    expect([look(), look()]).toEqual([[".venv/lib/python3.13/site-packages"], []]);
    utimesSync(join(root, ".venv/pyvenv.cfg"), 1, 1);
    expect(look()).toEqual([".venv/pyvenv.cfg"]);
  });

  test("the folder of the server is looked in as well, and the same one once", () => {
    const { write, look } = project("packages/a", "");
    look();
    write("packages/a/node_modules/.package-lock.json");
    write("packages/b/node_modules/.package-lock.json");
    expect(look()).toEqual(["packages/a/node_modules/.package-lock.json"]);
  });

  test("a file in a folder's place, a loop of links and a lock file have no markers", () => {
    const { root, write, look } = project();
    write("vendor");
    symlinkSync("node_modules", join(root, "node_modules"));
    look();
    write("package-lock.json");
    expect(look()).toEqual([]);
    expect(readFileSync(join(root, "vendor"), "utf8")).toBe("1");
  });

  test("a fault of the disk is not taken for an absence", () => {
    const fault = () => {
      throw Object.assign(new Error("EIO"), { code: "EIO", syscall: "lstat" });
    };
    const { look } = createDependencies({ fs: { ...nodeFs, lstatIfThereSync: fault }, root: "/r", folders: [""] });
    expect(look).toThrow("EIO");
  });

  test("a sync that finds them changed ends the run, and is refused until there is another", async () => {
    const { write, look } = project();
    look();
    const { mirror, run, stopped } = mirrorSite({ "a.ts": "1" }, { dependencies: { look } });
    await mirror.open("a.ts", later());
    write("node_modules/.package-lock.json");
    const refused = { reason: "NOT_READY", facts: { server: "fake" } };
    await expect(mirror.sync(later())).rejects.toMatchObject({ ...refused, facts: { state: "starting" } });
    await expect(mirror.sync(later())).rejects.toMatchObject({ ...refused, facts: { state: "crashed" } });
    expect(stopped).toEqual(["dependencies changed (node_modules/.package-lock.json)"]);
    expect(run.methods()).toEqual(["textDocument/didOpen"]);
    const next = mirrorSite({ "a.ts": "1" }, { dependencies: { look } });
    await next.mirror.sync(later());
    expect(next.stopped).toEqual([]);
  });

  test("the pool starts the server again, once, and not for what changed while none ran", async () => {
    const { root, write } = project();
    const workspace = Object.assign(new FakeWorkspace(), { root });
    const row = {
      id: "one",
      languages: { ".one": "one" },
      commands: [],
      install: "",
      markers: [],
      folder: "root",
      readiness: { kind: "answers" },
    };
    const pool = createPool({
      clock: systemClock,
      log: silent,
      table: [{ ...row, untrusted: {}, runs: "", wholeProject: true } as ServerSpec],
      discover: () => ({ command: ["one"] }),
      disabled: () => false,
      launch: () => fakeSpec(),
      session: () => fakeSession(),
      dependencies: (of, folder) => createDependencies({ fs: nodeFs, root: of.root, folders: ["", folder] }),
      mirror: ({ spec, dependencies, ...parts }) =>
        createMirror({
          ...parts,
          clock: systemClock,
          server: spec.id,
          languageId: () => "",
          ...(dependencies && { dependencies }),
        }),
      resident: async () => new Map(),
      memoryBytes: 1,
      idleMs: 60_000,
      startsAtOnce: 1,
    });
    atTeardown(() => pool.close());
    const question = async () => {
      const { mirror, run, session, release } = await pool.lease(workspace, { path: "a.one" }, within());
      try {
        await mirror.sync(within());
        return { run: run.number, session };
      } finally {
        release();
      }
    };
    expect((await question()).run).toBe(1);
    write("node_modules/.package-lock.json");
    await expect(question()).rejects.toMatchObject({ reason: "NOT_READY", facts: { state: "starting", server: "one" } });
    const { run, session } = await question();
    expect(run).toBe(2);
    await session.stop();
    write("node_modules/.package-lock.json");
    expect((await question()).run).toBe(3);
  });
});
