import { describe, expect, test } from "vitest";
import { TEXT_BYTES } from "../../../src/daemon/lsp/mirror/limits.ts";
import { type FakeRun, held, later, mirrorSite, SteppedClock, sha } from "./mirror-site.ts";

const uri = (path: string) => `file:///w/tree/${path}`;
const turn = () => new Promise((resolve) => setImmediate(resolve));
const texts = (run: FakeRun) => Object.fromEntries([...run.documents].map(([at, { text }]) => [at.slice(uri("").length), text]));
const files = { "a.ts": "a", "b.ts": "b", "c.ts": "c" };
const events = (run: FakeRun) =>
  run
    .take("workspace/didChangeWatchedFiles")
    .flatMap(({ changes }: { changes: { uri: string; type: number }[] }) =>
      changes.map((change) => `${"?+~-"[change.type]}${change.uri.slice(uri("").length)}`),
    );

/** Edits of every kind, with one document open before. */
async function tried(set?: (run: FakeRun) => void) {
  const site = mirrorSite(files, {}, set);
  await site.mirror.open("a.ts", later());
  await site.mirror.open("c.ts", later());
  const edits = new Map<string, string | null>([
    ["a.ts", "A"],
    ["b.ts", "B"],
    ["c.ts", null],
    ["new.ts", "N"],
  ]);
  const before = texts(site.run);
  return { ...site, edits, before };
}

describe("texts that are tried", () => {
  test("the server sees them while the work runs, and what stands on disk afterwards", async () => {
    const { run, mirror, edits, before, workspace } = await tried();
    const seen = await mirror.overlaid(edits, later(), async (documents) => {
      expect(texts(run)).toEqual({ "a.ts": "A", "b.ts": "B", "new.ts": "N" });
      expect(events(run)).toEqual(["-c.ts", "+new.ts"]);
      expect(await mirror.text("a.ts")).toBe(documents.get("a.ts")?.text);
      expect(await mirror.text("c.ts")).toBeUndefined();
      await expect(mirror.open("c.ts", later())).rejects.toMatchObject({ reason: "PATH_NOT_FOUND" });
      return [...documents].map(([path, { text, version, uri: at }]) => [
        path,
        text.sha256,
        version === run.documents.get(at)?.version,
      ]);
    });
    expect(seen).toEqual([
      ["a.ts", sha("A"), true],
      ["b.ts", sha("B"), true],
      ["new.ts", sha("N"), true],
    ]);
    expect(texts(run)).toEqual(before);
    expect(events(run)).toEqual(["+c.ts", "-new.ts"]);
    expect([mirror.opened, workspace.disk.get("a.ts")?.toString()]).toEqual([2, "a"]);
    expect((await mirror.open("a.ts", later())).text.text).toBe("a");
    expect((await mirror.text("c.ts"))?.text).toBe("c");
  });

  test("what changed on disk while its absence was tried reaches a server that registers for it only later", async () => {
    const { run, mirror, workspace } = mirrorSite(files, {}, (one) => {
      one.watchers = [{ watchers: [{ globPattern: "**/*.py" }] }];
    });
    await mirror.sync(later());
    await mirror.overlaid(new Map([["b.ts", null]]), later(), async () => {
      workspace.write("b.ts", "other");
      await mirror.sync(later());
    });
    expect([events(run), run.files.get("b.ts")]).toEqual([[], "b"]);
    run.watchers.push({ watchers: [{ globPattern: "**" }] });
    await mirror.sync(later());
    expect([events(run), run.files.get("b.ts")]).toEqual([["+b.ts"], "other"]);
  });

  test("a server that registers while a file's absence is tried hears of the file when that ends, not before", async () => {
    const { run, mirror, workspace } = mirrorSite(files, {}, (one) => {
      one.watchers = [{ watchers: [{ globPattern: "**/*.py" }] }];
    });
    workspace.write("b.ts", "other");
    await mirror.sync(later());
    await mirror.overlaid(new Map([["b.ts", null]]), later(), async () => {
      run.watchers.push({ watchers: [{ globPattern: "**" }] });
      await mirror.sync(later());
      expect(events(run)).toEqual([]);
    });
    expect([events(run), run.files.get("b.ts")]).toEqual([["+b.ts"], "other"]);
  });

  test("they are put back when the work throws, is too slow, or nobody wants it any more", async () => {
    const clock = new SteppedClock();
    const { run, mirror } = mirrorSite(files, { clock });
    await mirror.open("a.ts", clock.deadline(100));
    const edits = new Map([["a.ts", "A"]]);
    const fails = mirror.overlaid(edits, clock.deadline(100), async () => {
      expect(texts(run)).toEqual({ "a.ts": "A" });
      throw new TypeError("a fault");
    });
    await expect(fails).rejects.toThrow("a fault");
    expect(texts(run)).toEqual({ "a.ts": "a" });
    const slow = mirror.overlaid(edits, clock.deadline(100), () => new Promise(() => {}));
    while (texts(run)["a.ts"] !== "A") await turn();
    clock.step(100);
    await expect(slow).rejects.toMatchObject({ reason: "NOT_READY", facts: { state: "timed_out", server: "fake" } });
    expect(texts(run)).toEqual({ "a.ts": "a" });
    const abort = new AbortController();
    const unwanted = mirror.overlaid(edits, clock.deadline(100, abort.signal), () => new Promise(() => {}));
    while (texts(run)["a.ts"] !== "A") await turn();
    abort.abort();
    await expect(unwanted).rejects.toMatchObject({ reason: "CANCELLED" });
    expect(texts(run)).toEqual({ "a.ts": "a" });
    expect(clock.waiting).toBe(0);
  });

  test("a sync meanwhile changes what is put back, and leaves what is tried alone", async () => {
    const { run, mirror, edits, workspace } = await tried();
    await mirror.overlaid(edits, later(), async () => {
      events(run);
      workspace.write("a.ts", "a2");
      workspace.write("c.ts", "c2");
      workspace.write("new.ts", "n");
      workspace.disk.delete("b.ts");
      await mirror.sync(later());
      expect(texts(run)).toEqual({ "a.ts": "A", "b.ts": "B", "new.ts": "N" });
      // That c.ts changed would tell the server that it is there.
      expect(events(run)).toEqual(["~a.ts", "-b.ts", "+new.ts"]);
    });
    expect(texts(run)).toEqual({ "a.ts": "a2", "c.ts": "c2" });
    expect(events(run)).toEqual(["-b.ts", "+c.ts"]);
  });

  test("an open document whose file went meanwhile is closed", async () => {
    const { run, mirror, workspace } = await tried();
    await mirror.overlaid(new Map([["a.ts", "A"]]), later(), async () => {
      workspace.disk.delete("a.ts");
      await mirror.sync(later());
      expect(texts(run)).toEqual({ "a.ts": "A", "c.ts": "c" });
    });
    expect(texts(run)).toEqual({ "c.ts": "c" });
    await expect(mirror.open("a.ts", later())).rejects.toMatchObject({ reason: "PATH_NOT_FOUND" });
  });

  test("an ignored file that is there is neither made nor gone", async () => {
    const { run, mirror, workspace } = mirrorSite();
    workspace.write("ignored/a", "1");
    await mirror.overlaid(new Map([["ignored/a", "2"]]), later(), async () => {
      expect(texts(run)).toEqual({ "ignored/a": "2" });
    });
    expect([texts(run), events(run)]).toEqual([{}, []]);
  });

  test("only events that the server wants are told", async () => {
    const { run, mirror, edits } = await tried((of) => {
      of.watchers = [{ watchers: [{ globPattern: "**/new.*", kind: 4 }] }];
    });
    await mirror.sync(later());
    await mirror.overlaid(edits, later(), async () => expect(events(run)).toEqual([]));
    expect(events(run)).toEqual(["-new.ts"]);
  });

  test("texts that cannot be told are refused before anything is", async () => {
    const { run, mirror } = await tried();
    run.sent.length = 0;
    const refused = (text: string) => mirror.overlaid(new Map([["a.ts", text]]), later(), async () => {});
    await expect(refused("é".repeat(TEXT_BYTES / 2 + 1))).rejects.toMatchObject({
      reason: "TOO_LARGE",
      facts: { limit: TEXT_BYTES },
    });
    await expect(refused("\ud800")).rejects.toMatchObject({ reason: "INVALID_REQUEST", facts: { field: "text" } });
    const deaf = mirrorSite(files, {}, (of) => {
      of.capabilities = {};
    });
    await expect(deaf.mirror.overlaid(new Map(), later(), async () => {})).rejects.toMatchObject({ reason: "UNSUPPORTED" });
    expect([run.sent, deaf.run.sent]).toEqual([[], []]);
  });

  test("when they cannot be put back the run is ended", async () => {
    const { run, mirror, stopped } = await tried();
    const working = mirror.overlaid(new Map([["a.ts", "A"]]), later(), async () => {
      run.writing = () => Promise.reject(new Error("EPIPE"));
      return "seen";
    });
    const late = mirror.shared(later(), () => mirror.run.request("x", null, later()));
    expect(await working).toBe("seen");
    expect(stopped).toEqual(["texts that were tried could not be put back"]);
    // It may still answer, about what was tried.
    const crashed = { reason: "NOT_READY", facts: { state: "crashed", server: "fake" } };
    await expect(late).rejects.toMatchObject(crashed);
    await expect(mirror.sync(later())).rejects.toMatchObject(crashed);
    await expect(mirror.open("a.ts", later())).rejects.toMatchObject(crashed);
    expect(run.methods()).not.toContain("x");
  });

  test("when the server does not read them being put back the run is ended too, and others are let in", async () => {
    const clock = new SteppedClock();
    const { run, mirror, stopped } = mirrorSite(files, { clock, limits: { revertMs: 50 } });
    await mirror.open("a.ts", clock.deadline(1_000));
    const working = mirror.overlaid(new Map([["a.ts", "A"]]), clock.deadline(1_000), async () => {
      run.writing = () => new Promise(() => {});
    });
    const next = mirror.shared(clock.deadline(1_000), async () => "in");
    while (!run.methods().includes("textDocument/didChange")) await turn();
    await turn();
    expect(texts(run)).toEqual({ "a.ts": "a" });
    clock.step(50);
    await working;
    expect(await next).toBe("in");
    expect(stopped).toEqual(["it does not read what it is sent"]);
  });

  test("when they cannot be shown, what was is put back and the caller told", async () => {
    const { run, mirror, stopped, before } = await tried();
    let writes = 0;
    run.writing = () => (++writes === 2 ? Promise.reject(new Error("EPIPE")) : Promise.resolve());
    const edits = new Map([
      ["a.ts", "A"],
      ["c.ts", "C"],
    ]);
    await expect(mirror.overlaid(edits, later(), async () => {})).rejects.toThrow("EPIPE");
    expect([texts(run), stopped]).toEqual([before, []]);
  });
});

describe("sharing and being alone", () => {
  test("shared work runs together; who would be alone waits for it and is not overtaken", async () => {
    const { mirror } = mirrorSite(files);
    await mirror.sync(later());
    const order: string[] = [];
    const holds = [held(), held()];
    const share = (name: string, hold?: Promise<void>) =>
      mirror.shared(later(), async () => {
        order.push(`${name} in`);
        await hold;
        order.push(`${name} out`);
      });
    const first = [share("one", holds[0]?.promise), share("two", holds[1]?.promise)];
    const alone = mirror.overlaid(new Map([["a.ts", "A"]]), later(), async () => {
      order.push("alone");
    });
    const late = share("late");
    await turn();
    expect(order).toEqual(["one in", "two in"]);
    holds[1]?.release();
    await first[1];
    expect(order).toEqual(["one in", "two in", "two out"]);
    holds[0]?.release();
    await Promise.all([...first, alone, late]);
    expect(order).toEqual(["one in", "two in", "two out", "one out", "alone", "late in", "late out"]);
  });

  test("two who would be alone come one after the other", async () => {
    const { run, mirror } = mirrorSite(files);
    const seen: unknown[] = [];
    const one = (text: string) => mirror.overlaid(new Map([["a.ts", text]]), later(), async () => void seen.push(texts(run)));
    await Promise.all([one("1"), one("2"), one("3")]);
    expect(seen).toEqual([{ "a.ts": "1" }, { "a.ts": "2" }, { "a.ts": "3" }]);
    expect(texts(run)).toEqual({});
  });

  test("one who waits to be alone behind work that takes long holds others up for two seconds only", async () => {
    const clock = new SteppedClock();
    const { mirror } = mirrorSite(files, { clock });
    const slow = held();
    const order: string[] = [];
    const first = mirror.shared(clock.deadline(300_000), () => slow.promise);
    const alone = mirror.overlaid(new Map([["a.ts", "A"]]), clock.deadline(300_000), async () => void order.push("alone"));
    const late = mirror.shared(clock.deadline(300_000), async () => void order.push("late"));
    clock.step(1_999);
    await turn();
    expect(order).toEqual([]);
    clock.step(1);
    await late;
    expect(order).toEqual(["late"]);
    slow.release();
    await Promise.all([first, alone]);
    expect(order).toEqual(["late", "alone"]);
  });

  test("one who gives up waiting to be alone lets those behind him in", async () => {
    const clock = new SteppedClock();
    const { mirror } = mirrorSite(files, { clock });
    const hold = held();
    const first = mirror.shared(clock.deadline(1_000), () => hold.promise);
    const alone = mirror.overlaid(new Map(), clock.deadline(100), async () => {});
    const late = mirror.shared(clock.deadline(1_000), async () => "in");
    clock.step(100);
    await expect(alone).rejects.toMatchObject({ reason: "NOT_READY", facts: { state: "timed_out" } });
    expect(await late).toBe("in");
    hold.release();
    await first;
  });

  test("work that never ends holds nobody up beyond its deadline", async () => {
    const clock = new SteppedClock();
    const { mirror } = mirrorSite(files, { clock });
    await mirror.sync(clock.deadline(100));
    const stuck = mirror.shared(clock.deadline(100), () => new Promise(() => {}));
    const alone = mirror.overlaid(new Map([["a.ts", "A"]]), clock.deadline(1_000), async () => "alone");
    clock.step(100);
    await expect(stuck).rejects.toMatchObject({ reason: "NOT_READY" });
    expect(await alone).toBe("alone");
    expect(clock.waiting).toBe(0);
  });

  test("who is late or gone already is not let in", async () => {
    const { mirror } = mirrorSite(files);
    let ran = 0;
    const work = async () => {
      ran += 1;
    };
    await expect(mirror.shared({ atMs: 0, signal: later().signal }, work)).rejects.toMatchObject({ reason: "NOT_READY" });
    await expect(mirror.shared(later(AbortSignal.abort()), work)).rejects.toMatchObject({ reason: "CANCELLED" });
    await mirror.shared(later(), async () => {});
    expect(ran).toBe(0);
  });

  test("work that throws at once leaves the gate open", async () => {
    const { mirror } = mirrorSite(files);
    const fault = (): Promise<never> => {
      throw new TypeError("a fault");
    };
    await expect(mirror.shared(later(), fault)).rejects.toThrow("a fault");
    await expect(mirror.overlaid(new Map(), later(), fault)).rejects.toThrow("a fault");
    expect(await mirror.overlaid(new Map(), later(), async (documents) => documents.size)).toBe(0);
  });
});
