import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Range } from "vscode-languageserver-protocol";
import { GinError, systemClock } from "../../../src/daemon/base/index.ts";
import { createMirror, type Mirror } from "../../../src/daemon/lsp/mirror/index.ts";
import { Bell } from "../../helpers/bell.ts";
import { fakeSession, within } from "../../helpers/lsp/session.ts";
import { tempDir } from "../../helpers/temp.ts";
import { FakeWorkspace } from "./mirror-site.ts";

/** A workspace with a real directory, and a mirror of a server process that runs in it. */
async function site(options: object = {}) {
  const root = tempDir("mirror@ö +x");
  const workspace = Object.assign(new FakeWorkspace(), { root });
  const write = (path: string, content: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
    workspace.write(path, content);
  };
  const remove = (path: string) => {
    rmSync(join(root, path));
    workspace.disk.delete(path);
  };
  write("a.toy", "def one\nuse one\n");
  write("src/b c.toy", "use one\n");
  workspace.record();
  const since = workspace.tree();
  const session = fakeSession(options, { directory: root });
  const run = await session.run(within());
  const stopped: Promise<void>[] = [];
  const mirror = createMirror({
    run,
    workspace,
    clock: systemClock,
    server: "fake",
    since,
    languageId: () => "toy",
    stop: () => stopped.push(session.stop()),
    limits: { writeMs: 500, revertMs: 500 },
  });
  return { root, workspace, write, remove, session, mirror, stopped };
}

const ask = (mirror: Mirror, method: string, params: object) => mirror.run.request(method, params, within());
const textAt = (mirror: Mirror, path: string) => ask(mirror, "fake/text", { uri: mirror.uriOf(path) });

describe("a server process", () => {
  for (const encoding of ["utf-8", "utf-16", "utf-32"]) {
    for (const sync of ["full", "incremental"]) {
      test(`holds what the files hold after each sync (${encoding}, ${sync})`, async () => {
        const { root, write, remove, mirror } = await site({ encoding, sync });
        expect(mirror.run.encoding).toBe(encoding);
        await mirror.open("a.toy", within());
        for (const content of ["def 😀é\r\nuse 漢\n", "def 😁é\r\nuse 漢\n", "\ufeffdef é", "", "x\ry\u2028z\n"]) {
          write("a.toy", content);
          write("src/b c.toy", content);
          write("new ü.toy", content);
          await mirror.sync(within());
          const { version } = await mirror.open("a.toy", within());
          expect(await textAt(mirror, "a.toy")).toEqual({ text: content.replace("\ufeff", ""), version });
          for (const path of ["src/b c.toy", "new ü.toy"]) {
            expect(await textAt(mirror, path)).toEqual({ text: readFileSync(join(root, path), "utf8"), version: null });
          }
        }
        remove("a.toy");
        remove("new ü.toy");
        await mirror.sync(within());
        expect([await textAt(mirror, "a.toy"), await textAt(mirror, "new ü.toy")]).toEqual([null, null]);
      });
    }
  }

  test("counts a byte order mark in files it read itself, and its places come out right all the same", async () => {
    const { mirror, write } = await site();
    write("b.toy", "\ufeffdef one\n");
    await mirror.sync(within());
    const { uri } = await mirror.open("a.toy", within());
    const places = async () => {
      const params = { textDocument: { uri }, position: { line: 1, character: 5 }, context: { includeDeclaration: true } };
      const found = (await ask(mirror, "textDocument/references", params)) as { uri: string; range: Range }[];
      const [{ range } = { range: undefined }] = found.filter((one) => mirror.pathOf(one.uri) === "b.toy");
      const text = await mirror.text("b.toy");
      if (range === undefined || text === undefined) throw new Error("not found");
      return [range.start, text.fromServer(range.start, mirror.run.encoding)];
    };
    expect(await places()).toEqual([
      { line: 0, character: 5 },
      { line: 1, character: 5 },
    ]);
    await mirror.open("b.toy", within());
    expect(await places()).toEqual([
      { line: 0, character: 4 },
      { line: 1, character: 5 },
    ]);
  });

  test("sees what is tried, and the files again when the work was cut off", async () => {
    const { mirror, write } = await site();
    const abort = new AbortController();
    await mirror.open("a.toy", within());
    const edits = new Map([
      ["a.toy", "tried"],
      ["x.toy", "tried"],
    ]);
    const seen: unknown[] = [];
    const working = mirror.overlaid(edits, within(20_000, abort.signal), async () => {
      for (const path of edits.keys()) seen.push(await textAt(mirror, path));
      write("a.toy", "def two\n");
      await mirror.sync(within());
      seen.push(await textAt(mirror, "a.toy"));
      abort.abort();
      return ask(mirror, "fake/sleep", { ms: 60_000 });
    });
    await expect(working).rejects.toMatchObject({ reason: "CANCELLED" });
    expect(seen).toMatchObject([{ text: "tried" }, { text: "tried" }, { text: "tried" }]);
    expect(await textAt(mirror, "a.toy")).toMatchObject({ text: "def two\n" });
    expect(await textAt(mirror, "x.toy")).toBeNull();
  });

  test("pushes that count: of the right version, or after an answer", async () => {
    const pushes = async (options: object, nudge = false) => {
      const { mirror, write } = await site({ diagnostics: "push", ...options });
      const { uri } = await mirror.open("a.toy", within());
      write("a.toy", "use undefined_7\n");
      await mirror.sync(within());
      // What it pushes while it takes the change has come by then.
      await ask(mirror, "textDocument/documentSymbol", { textDocument: { uri } });
      if (nudge) {
        const bell = new Bell();
        mirror.onPushed(bell.ring);
        await mirror.nudge("a.toy");
        await bell.until(() => mirror.pushed(uri) !== undefined, 20_000);
      }
      const found = mirror.pushed(uri);
      return found === undefined ? undefined : { count: found.items.length, current: found.current };
    };
    expect(await pushes({})).toEqual({ count: 1, current: true });
    expect(await pushes({ pushVersion: "wrong" })).toBeUndefined();
    expect(await pushes({ pushVersion: "none" })).toBeUndefined();
    expect(await pushes({ pushVersion: "none" }, true)).toEqual({ count: 1, current: true });
  });

  test("one that no longer reads while texts are tried is ended, and the next knows the files", async () => {
    const { mirror, write, session, stopped, workspace } = await site();
    const since = workspace.tree();
    await mirror.open("a.toy", within());
    const large = "x".repeat(2_000_000);
    const working = mirror.overlaid(new Map([["a.toy", "tried"]]), within(), async () => {
      // It leaves all it is sent from here on in the pipe, which is soon full.
      process.kill(session.pid ?? 0, "SIGSTOP");
      write("a.toy", large);
      await mirror.sync(within());
      return "done";
    });
    expect(await working).toBe("done");
    expect(stopped).toHaveLength(1);
    await expect(ask(mirror, "fake/text", {})).rejects.toMatchObject({ facts: { state: "crashed" } });
    await stopped[0];
    const run = await session.run(within());
    const parts = { run, workspace, clock: systemClock, server: "fake", since, languageId: () => "toy", stop: () => {} };
    const next = createMirror(parts);
    await next.sync(within());
    expect(await textAt(next, "a.toy")).toEqual({ text: large, version: null });
  });

  test("one that crashes: what is told then is refused as crashed", async () => {
    const { mirror, write } = await site();
    await mirror.open("a.toy", within());
    await expect(ask(mirror, "fake/do", { do: "crash" })).rejects.toMatchObject({ facts: { state: "crashed" } });
    write("a.toy", "def three\n");
    const thrown = await mirror.sync(within()).catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(GinError);
    expect(thrown).toMatchObject({ reason: "NOT_READY", facts: { state: "crashed" } });
  });
});
