import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { GinError } from "../../../src/daemon/base/index.ts";
import { changesBetween } from "../../../src/daemon/lsp/mirror/delta.ts";
import { createText } from "../../../src/daemon/lsp/mirror/text.ts";
import { FakeRun, FakeWorkspace, held, later, mirrorSite, SteppedClock, sha } from "./mirror-site.ts";

const uri = (path: string) => `file:///w/tree/${path}`;
const saving = (save: boolean | { includeText?: boolean }) => (run: FakeRun) => {
  run.capabilities = { textDocumentSync: { openClose: true, change: 2, save } };
};

describe("opening", () => {
  test("a document is opened once, at the synced content, with its language", async () => {
    const { run, mirror } = mirrorSite({ "a.ts": "let é = 1;\r\n" });
    const document = await mirror.open("a.ts", later());
    expect(await mirror.open("a.ts", later())).toEqual(document);
    expect(run.sent).toEqual([
      {
        method: "textDocument/didOpen",
        params: { textDocument: { uri: uri("a.ts"), languageId: "typescript", version: 1, text: "let é = 1;\r\n" } },
      },
    ]);
    const { text, ...facts } = document;
    expect(facts).toEqual({ path: "a.ts", uri: uri("a.ts"), languageId: "typescript", version: 1 });
    expect(text.sha256).toBe(sha("let é = 1;\r\n"));
    expect(mirror.opened).toBe(1);
  });

  test("two who open the same at once open it once", async () => {
    const { workspace, run, mirror } = mirrorSite({ "a.ts": "1" });
    workspace.write("ignored/b", "1");
    await mirror.sync(later());
    const opened = await Promise.all([0, 1].flatMap(() => [mirror.open("a.ts", later()), mirror.open("ignored/b", later())]));
    expect(opened.map(({ version }) => version)).toEqual([1, 2, 1, 2]);
    expect(run.methods()).toEqual(["textDocument/didOpen", "textDocument/didOpen"]);
  });

  test("the synced state is opened, not what stands on disk since", async () => {
    const { workspace, mirror } = mirrorSite({ "a.ts": "1" });
    await mirror.sync(later());
    workspace.write("a.ts", "2");
    expect((await mirror.open("a.ts", later())).text.text).toBe("1");
  });

  test("a byte order mark is kept in the text and not told", async () => {
    const { run, mirror } = mirrorSite({ "a.ts": "\ufeffx" });
    expect((await mirror.open("a.ts", later())).text.text).toBe("\ufeffx");
    expect(run.documents.get(uri("a.ts"))?.text).toBe("x");
  });

  test("a server that reads files with their mark whatever is open is told it, and its changes", async () => {
    const { workspace, run, mirror } = mirrorSite({ "a.ts": "\ufeffx" }, { server: "clangd" });
    const { text } = await mirror.open("a.ts", later());
    expect(text.toServer({ line: 1, character: 1 }, "utf-16")).toEqual({ line: 0, character: 1 });
    const tells: (string | undefined)[] = [run.documents.get(uri("a.ts"))?.text];
    for (const content of ["\ufeffxy", "xy", "\ufeff", "\ufeffz"]) {
      workspace.write("a.ts", content);
      await mirror.sync(later());
      tells.push(run.documents.get(uri("a.ts"))?.text);
    }
    expect(tells).toEqual(["\ufeffx", "\ufeffxy", "xy", "\ufeff", "\ufeffz"]);
  });

  test("what is not there, no text or too large is refused, and nothing is told", async () => {
    const { workspace, run, mirror } = mirrorSite({ "a.png": "\0PNG" });
    await mirror.sync(later());
    await expect(mirror.open("none.ts", later())).rejects.toMatchObject({ reason: "PATH_NOT_FOUND", facts: { path: "none.ts" } });
    await expect(mirror.open("a.png", later())).rejects.toMatchObject({ reason: "BINARY_FILE", facts: { path: "a.png" } });
    workspace.read = async (path) => {
      throw new GinError("TOO_LARGE", `${path} is too large`);
    };
    await expect(mirror.open("large.ts", later())).rejects.toMatchObject({ reason: "TOO_LARGE" });
    expect([run.sent, mirror.opened]).toEqual([[], 0]);
  });

  test("a read that takes too long is given up at the deadline, and opens nothing when it ends", async () => {
    const clock = new SteppedClock();
    const { workspace, run, mirror } = mirrorSite({}, { clock });
    const hold = held();
    workspace.write("ignored/x", "1");
    workspace.afterRead = () => hold.promise;
    await mirror.sync(clock.deadline(100));
    const opening = mirror.open("ignored/x", clock.deadline(100));
    clock.step(100);
    await expect(opening).rejects.toMatchObject({ reason: "NOT_READY", facts: { state: "timed_out" } });
    hold.release();
    await new Promise((resolve) => setImmediate(resolve));
    expect([run.sent, mirror.opened]).toEqual([[], 0]);
  });

  test("a content that is not kept is read from disk, and only when it is still that one", async () => {
    const { workspace, mirror } = mirrorSite({ "a.ts": "large", "b.ts": "other" });
    workspace.unkept.add(sha("large")).add(sha("other"));
    await mirror.sync(later());
    expect((await mirror.open("a.ts", later())).text.sha256).toBe(sha("large"));
    workspace.write("b.ts", "newer");
    await expect(mirror.open("b.ts", later())).rejects.toMatchObject({ reason: "NOT_READY", facts: { state: "changing" } });
    await mirror.sync(later());
    expect((await mirror.open("b.ts", later())).text.text).toBe("newer");
  });

  test("a sync that comes while a file is read for opening: the newer content is opened", async () => {
    const { workspace, run, mirror } = mirrorSite();
    workspace.write("ignored/a", "1");
    await mirror.sync(later());
    let first = true;
    workspace.afterRead = async () => {
      if (!first) return;
      first = false;
      workspace.write("ignored/a", "2");
      workspace.write("b", "1");
      await mirror.sync(later());
    };
    expect((await mirror.open("ignored/a", later())).text.text).toBe("2");
    expect(run.documents.get(uri("ignored/a"))?.text).toBe("2");
  });

  test("a server that is told of no texts is not told", async () => {
    const { workspace, run, mirror } = mirrorSite({ "a.ts": "1" }, {}, (of) => {
      of.capabilities = {};
    });
    const { text } = await mirror.open("a.ts", later());
    workspace.write("a.ts", "2");
    await mirror.sync(later());
    expect(run.methods()).toEqual(["workspace/didChangeWatchedFiles"]);
    expect([text.text, (await mirror.open("a.ts", later())).text.text]).toEqual(["1", "2"]);
  });
});

describe("open documents follow", () => {
  test("changed ones are changed, with versions that grow; gone ones closed before the server hears that they went", async () => {
    const { workspace, run, mirror } = mirrorSite({ "a.ts": "one\n", "b.ts": "b" });
    await mirror.open("a.ts", later());
    await mirror.open("b.ts", later());
    run.sent.length = 0;
    workspace.write("a.ts", "one\ntwo\n");
    workspace.disk.delete("b.ts");
    await mirror.sync(later());
    expect(run.sent).toEqual([
      { method: "textDocument/didClose", params: { textDocument: { uri: uri("b.ts") } } },
      {
        method: "workspace/didChangeWatchedFiles",
        params: {
          changes: [
            { uri: uri("a.ts"), type: 2 },
            { uri: uri("b.ts"), type: 3 },
          ],
        },
      },
      {
        method: "textDocument/didChange",
        params: {
          textDocument: { uri: uri("a.ts"), version: 3 },
          contentChanges: [{ range: { start: { line: 1, character: 0 }, end: { line: 1, character: 0 } }, text: "two\n" }],
        },
      },
    ]);
    expect(await mirror.open("a.ts", later())).toMatchObject({ version: 3, text: { text: "one\ntwo\n" } });
    await expect(mirror.open("b.ts", later())).rejects.toMatchObject({ reason: "PATH_NOT_FOUND" });
  });

  test("one that becomes binary is closed, and opened again when it is text again", async () => {
    const { workspace, run, mirror } = mirrorSite({ "a.ts": "1" });
    await mirror.open("a.ts", later());
    workspace.write("a.ts", "\0");
    await mirror.sync(later());
    expect(run.documents.size).toBe(0);
    await expect(mirror.open("a.ts", later())).rejects.toMatchObject({ reason: "BINARY_FILE" });
    workspace.write("a.ts", "2");
    await mirror.sync(later());
    expect((await mirror.open("a.ts", later())).version).toBe(2);
  });

  test("ignored ones are read again at each sync, and their events made", async () => {
    const { workspace, run, mirror } = mirrorSite();
    workspace.write("ignored/a", "1");
    await mirror.open("ignored/a", later());
    await mirror.sync(later());
    expect(run.methods()).toEqual(["textDocument/didOpen"]);
    workspace.write("ignored/a", "2");
    await mirror.sync(later());
    expect(run.documents.get(uri("ignored/a"))?.text).toBe("2");
    workspace.disk.delete("ignored/a");
    await mirror.sync(later());
    expect(run.documents.size).toBe(0);
    expect(run.take("workspace/didChangeWatchedFiles")).toEqual([
      { changes: [{ uri: uri("ignored/a"), type: 2 }] },
      { changes: [{ uri: uri("ignored/a"), type: 3 }] },
    ]);
  });

  test("one that comes to be recorded is known by its hash from then on", async () => {
    const { workspace, run, mirror } = mirrorSite();
    workspace.write("ignored/a", "1");
    await mirror.open("ignored/a", later());
    workspace.ignored = "nothing/";
    await mirror.sync(later());
    workspace.afterRead = () => Promise.reject(new Error("nothing is read"));
    workspace.write("ignored/a", "2");
    await mirror.sync(later());
    expect(run.documents.get(uri("ignored/a"))?.text).toBe("2");
  });

  test("a content that is gone before it could be told closes the document; the next sync has what came after", async () => {
    const { workspace, run, mirror } = mirrorSite({ "a.ts": "1" });
    await mirror.open("a.ts", later());
    workspace.unkept.add(sha("2"));
    workspace.write("a.ts", "2");
    workspace.afterRead = async () => {};
    const settle = workspace.settle.bind(workspace);
    workspace.settle = async () => {
      const state = await settle();
      workspace.write("a.ts", "3");
      return state;
    };
    await mirror.sync(later());
    expect(run.documents.size).toBe(0);
    await mirror.sync(later());
    expect((await mirror.open("a.ts", later())).text.text).toBe("3");
  });

  test("saves are told to who wants them, with the text to who wants that", async () => {
    const saved = async (set: (run: FakeRun) => void) => {
      const { workspace, run, mirror } = mirrorSite({ "a.ts": "1" }, {}, set);
      await mirror.open("a.ts", later());
      workspace.write("a.ts", "\ufeff2");
      await mirror.sync(later());
      expect(run.methods().at(-1)).toBe(
        run.methods().includes("textDocument/didSave") ? "textDocument/didSave" : "textDocument/didChange",
      );
      return run.take("textDocument/didSave");
    };
    expect(await saved(() => {})).toEqual([]);
    expect(await saved(saving(false))).toEqual([]);
    expect(await saved(saving(true))).toEqual([{ textDocument: { uri: uri("a.ts") } }]);
    expect(await saved(saving({ includeText: true }))).toEqual([{ textDocument: { uri: uri("a.ts") }, text: "2" }]);
    const plain = (run: FakeRun) => {
      run.capabilities = { textDocumentSync: 1 };
    };
    expect(await saved(plain)).toEqual([{ textDocument: { uri: uri("a.ts") } }]);
  });

  test("servers that want the whole text get it, and those that want no changes a new opening", async () => {
    const messages = async (change: 0 | 1) => {
      const { workspace, run, mirror } = mirrorSite({ "a.ts": "one" }, {}, (of) => {
        of.capabilities = { textDocumentSync: { openClose: true, change } };
      });
      await mirror.open("a.ts", later());
      run.sent.length = 0;
      workspace.write("a.ts", "one two");
      await mirror.sync(later());
      return run.sent.slice(1).map(({ method, params }) => [method.slice("textDocument/".length), params]);
    };
    expect(await messages(1)).toEqual([
      ["didChange", { textDocument: { uri: uri("a.ts"), version: 2 }, contentChanges: [{ text: "one two" }] }],
    ]);
    expect(await messages(0)).toEqual([
      ["didClose", { textDocument: { uri: uri("a.ts") } }],
      ["didOpen", { textDocument: { uri: uri("a.ts"), languageId: "typescript", version: 2, text: "one two" } }],
    ]);
  });
});

describe("no more are open than may be", () => {
  const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}.ts`, `${index}`]));

  test("the least recently used go, never those to be kept", async () => {
    const { run, mirror } = mirrorSite(many(5), { limits: { documents: 2 } });
    await mirror.shared(later(), async () => {
      for (const index of [0, 1, 2, 3, 0]) await mirror.open(`f${index}.ts`, later());
      expect(mirror.opened).toBe(4);
      await mirror.trim(new Set(["f1.ts"]));
      expect([...run.documents.keys()]).toEqual([uri("f0.ts"), uri("f1.ts")]);
    });
  });

  test("also when they are few and long", async () => {
    const long = "x".repeat(100);
    const { mirror } = mirrorSite({ "a.ts": long, "b.ts": long, "c.ts": "c" }, { limits: { characters: 150 } });
    await mirror.shared(later(), async () => {
      for (const path of ["a.ts", "b.ts", "c.ts"]) await mirror.open(path, later());
      await mirror.trim(new Set());
    });
    expect([...mirror.documents().keys()]).toEqual(["b.ts", "c.ts"]);
  });

  test("nor what another question has opened since it began; the rest goes when all have ended", async () => {
    const { run, mirror } = mirrorSite(many(4), { limits: { documents: 1 } });
    await mirror.open("f0.ts", later());
    await mirror.shared(later(), async () => {
      await mirror.open("f1.ts", later());
      await mirror.shared(later(), async () => {
        await mirror.open("f2.ts", later());
        await mirror.trim(new Set(["f2.ts"]));
        expect([...run.documents.keys()]).toEqual([uri("f1.ts"), uri("f2.ts")]);
      });
    });
    expect([...run.documents.keys()]).toEqual([uri("f2.ts")]);
    expect(mirror.opened).toBe(1);
  });

  test("256 by default", async () => {
    const { mirror } = mirrorSite(many(260));
    await mirror.shared(later(), async () => {
      for (let index = 0; index < 260; index++) await mirror.open(`f${index}.ts`, later());
    });
    expect(mirror.opened).toBe(256);
  });
});

describe("texts of other files", () => {
  test("of the synced state, open or not; ignored ones from disk, read once between two syncs", async () => {
    const { workspace, mirror } = mirrorSite({ "a.ts": "1", "b.bin": "\0" });
    workspace.write("ignored/x", "1");
    await mirror.sync(later());
    const reads: string[] = [];
    workspace.afterRead = async (path) => void reads.push(path);
    workspace.write("a.ts", "2");
    workspace.write("ignored/x", "2");
    const texts = async (...paths: string[]) => Promise.all(paths.map(async (path) => (await mirror.text(path))?.text));
    expect(await texts("a.ts", "b.bin", "none", "ignored/x", "ignored/x")).toEqual(["1", undefined, undefined, "2", "2"]);
    expect(reads).toEqual(["none", "ignored/x"]);
    await mirror.sync(later());
    expect(await texts("a.ts", "ignored/x")).toEqual(["2", "2"]);
    expect(reads).toEqual(["none", "ignored/x", "ignored/x"]);
  });

  test("before anything is known there is none", async () => {
    await expect(mirrorSite({ a: "1" }).mirror.text("a")).rejects.toMatchObject({ reason: "NOT_READY" });
  });

  test("a fault of the disk is no absence", async () => {
    const { workspace, mirror } = mirrorSite();
    await mirror.sync(later());
    workspace.afterRead = () => Promise.reject(Object.assign(new Error("EIO"), { code: "EIO", syscall: "read" }));
    await expect(mirror.text("ignored/x")).rejects.toThrow("EIO");
  });
});

test("a change is the shortest that makes the new text, in each encoding, whatever the texts", async () => {
  const piece = fc.constantFrom("a", "b", "é", "漢", "😀", "😁", "\n", "\r\n", "\r", "\u2028", "\f");
  const some = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(""));
  const pairs = fc.tuple(
    some,
    some,
    some,
    some,
    fc.constantFrom("utf-8" as const, "utf-16" as const, "utf-32" as const),
    fc.boolean(),
  );
  fc.assert(
    fc.property(pairs, ([start, one, two, end, encoding, mark]) => {
      const [before, after] = [(mark ? "\ufeff" : "") + start + one + end, start + two + end];
      const run = new FakeRun(new FakeWorkspace());
      run.encoding = encoding;
      const texts = [before, after].map((text) => createText(text, sha(text)));
      const [old, now] = texts as [(typeof texts)[0], (typeof texts)[0]];
      const textDocument = { uri: uri("a"), version: 1, text: old.body };
      void run.notify("textDocument/didOpen", { textDocument });
      const contentChanges = changesBetween(old, now, 2, encoding);
      void run.notify("textDocument/didChange", { textDocument: { ...textDocument, version: 2 }, contentChanges });
      expect(run.documents.get(uri("a"))?.text).toBe(now.body);
      const [change] = contentChanges;
      const odd = /[\u2028\f]|\r(?!\n)/.test(before + after);
      expect(change !== undefined && "range" in change).toBe(!odd);
      if (!odd) expect(change?.text.length).toBeLessThanOrEqual(two.length + 1);
    }),
    { numRuns: 500 },
  );
});
