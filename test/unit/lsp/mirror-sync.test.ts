import { describe, expect, test } from "vitest";
import { GinError } from "../../../src/daemon/base/index.ts";
import { type FakeRun, held, later, mirrorSite, SteppedClock } from "./mirror-site.ts";

const WATCHED = "workspace/didChangeWatchedFiles";
const uri = (path: string) => `file:///w/tree/${path}`;
/** Events told since the last call, a list a message. */
const told = (run: FakeRun) =>
  run
    .take(WATCHED)
    .map(({ changes }: { changes: { uri: string; type: number }[] }) =>
      changes.map((change) => `${"?+~-"[change.type]}${change.uri.slice("file:///w/tree/".length)}`),
    );

describe("what changed is told", () => {
  test("files made, changed and gone since the server's start, once, and nothing when nothing changed", async () => {
    const { workspace, run, mirror } = mirrorSite({ "a.ts": "1", "b.ts": "1", "c d.ts": "1" });
    await mirror.sync(later());
    expect(run.sent).toEqual([]);
    workspace.write("b.ts", "2");
    workspace.write("src/é#.ts", "1");
    workspace.disk.delete("a.ts");
    workspace.write("ignored/x", "1");
    expect(await mirror.sync(later())).toEqual({ generation: 2, tree: workspace.tree() });
    expect(run.sent).toEqual([
      {
        method: WATCHED,
        params: {
          changes: [
            { uri: "file:///w/tree/a.ts", type: 3 },
            { uri: "file:///w/tree/b.ts", type: 2 },
            { uri: "file:///w/tree/src/%C3%A9%23.ts", type: 1 },
          ],
        },
      },
    ]);
    run.sent.length = 0;
    await mirror.sync(later());
    expect(run.sent).toEqual([]);
    expect(mirror.told).toEqual({ generation: 2, tree: workspace.tree() });
  });

  test("a tree from before the start: what changed while it started is told as well", async () => {
    const { workspace, run, mirror } = mirrorSite({ "a.ts": "1" });
    const since = workspace.tree();
    workspace.write("a.ts", "2");
    workspace.record();
    await mirror.sync(later());
    expect(told(run)).toEqual([["~a.ts"]]);
    const older = mirrorSite({ "a.ts": "1" }, { since: "" });
    await older.mirror.sync(later());
    expect(told(older.run)).toEqual([["+a.ts"]]);
    expect(since).not.toBe(workspace.tree());
  });

  test("what changed and changed back is told: the server may have read it in between", async () => {
    const { workspace, run, mirror } = mirrorSite({ "a.ts": "1", "b.ts": "1" });
    await mirror.sync(later());
    const steps = async (count: number) => {
      for (let step = 0; step < count; step++) {
        workspace.write("a.ts", `${step}`);
        workspace.write("new.ts", `${step}`);
        workspace.record();
      }
      workspace.write("a.ts", "1");
      workspace.disk.delete("new.ts");
      await mirror.sync(later());
      return told(run);
    };
    expect(await steps(1)).toEqual([["~a.ts", "-new.ts"]]);
    expect(await steps(200)).toEqual([["~a.ts", "-new.ts"]]);
    await mirror.sync(later());
    expect(told(run)).toEqual([]);
  });

  test("the head that moves while it is told: the next sync tells the rest", async () => {
    const { workspace, run, mirror } = mirrorSite({ "a.ts": "1", "ignored/x": "1" });
    await mirror.open("ignored/x", later());
    run.sent.length = 0;
    workspace.write("a.ts", "2");
    workspace.afterRead = async () => {
      for (let step = 0; step < 100; step++) {
        workspace.write("a.ts", `${step}`);
        workspace.record();
      }
      workspace.write("a.ts", "2");
      workspace.record();
      workspace.afterRead = async () => {};
    };
    const first = await mirror.sync(later());
    expect([first.generation, told(run)]).toEqual([2, [["~a.ts"]]]);
    expect((await mirror.sync(later())).generation).toBe(103);
    expect(told(run)).toEqual([["~a.ts"]]);
  });

  test("a trail that cannot be followed hurts nobody but this run", async () => {
    const { workspace, mirror, stopped } = mirrorSite({ "a.ts": "1" });
    await mirror.sync(later());
    workspace.forget(workspace.tree());
    for (let step = 0; step < 70; step++) {
      workspace.write("a.ts", `x${step}`);
      workspace.record();
    }
    await expect(mirror.sync(later())).rejects.toMatchObject({ facts: { state: "crashed" } });
    expect(stopped).toEqual(["what changed since it was told cannot be found out any more"]);
  });

  test("many events come in several messages", async () => {
    const { workspace, run, mirror } = mirrorSite({}, { limits: { events: 1_000 } });
    for (let index = 0; index < 2_500; index++) workspace.write(`f${index}`, "");
    await mirror.sync(later());
    expect(told(run).map((events) => events.length)).toEqual([1_000, 1_000, 500]);
  });

  test("a tree that is not kept any more ends the run", async () => {
    const { workspace, mirror, stopped } = mirrorSite({ "a.ts": "1" });
    const first = workspace.tree();
    await mirror.sync(later());
    workspace.write("a.ts", "2");
    workspace.record();
    workspace.forget(first);
    await expect(mirror.sync(later())).rejects.toMatchObject({
      reason: "NOT_READY",
      facts: { state: "crashed", server: "fake" },
    });
    expect(stopped).toEqual(["what changed since it was told cannot be found out any more"]);
  });

  test("the generation is that of the tree told, though the head moved on while it settled", async () => {
    const { workspace, mirror } = mirrorSite({ "a.ts": "1" });
    const settle = workspace.settle.bind(workspace);
    workspace.settle = async () => {
      const state = await settle();
      workspace.write("a.ts", "2");
      workspace.record();
      return state;
    };
    expect(await mirror.sync(later())).toEqual({ generation: 2, tree: workspace.tree() });
  });
});

describe("what a server registered", () => {
  const watching =
    (...watchers: { globPattern: unknown; kind?: number }[]) =>
    (run: FakeRun) =>
      void run.watchers.push({ watchers });
  const changing = async (set: (run: FakeRun) => void, folder = "") => {
    const site = mirrorSite({ "a.ts": "1", "src/b.ts": "1", "src/deep/c.py": "1", "pkg/tsconfig.json": "1" }, { folder }, set);
    for (const path of [...site.workspace.disk.keys()]) site.workspace.write(path, "2");
    site.workspace.write("src/new.ts", "1");
    await site.mirror.sync(later());
    return told(site.run)[0] ?? [];
  };

  test("only what its globs take", async () => {
    expect(await changing(watching({ globPattern: "**/*.ts" }))).toEqual(["~a.ts", "~src/b.ts", "+src/new.ts"]);
    expect(await changing(watching({ globPattern: "**/{tsconfig,package}.json" }))).toEqual(["~pkg/tsconfig.json"]);
    expect(await changing(watching({ globPattern: "src/*.ts" }, { globPattern: "**/*.[pq]y" }))).toEqual([
      "~src/b.ts",
      "~src/deep/c.py",
      "+src/new.ts",
    ]);
    expect(await changing(watching({ globPattern: "**/*.go" }))).toEqual([]);
    expect(await changing(watching())).toEqual([]);
  });

  test("by kind", async () => {
    expect(await changing(watching({ globPattern: "**", kind: 1 }))).toEqual(["+src/new.ts"]);
    expect(await changing(watching({ globPattern: "src/**", kind: 2 }))).toEqual(["~src/b.ts", "~src/deep/c.py"]);
    expect(await changing(watching({ globPattern: "**", kind: 4 }))).toEqual([]);
  });

  test("absolute globs and those with a base, whose URI may be written in other ways", async () => {
    expect(await changing(watching({ globPattern: "/w/tree/src/*.ts" }))).toEqual(["~src/b.ts", "+src/new.ts"]);
    const base = (baseUri: unknown, pattern: string) => watching({ globPattern: { baseUri, pattern } });
    expect(await changing(base("file:///w/tree/src", "**/*.py"))).toEqual(["~src/deep/c.py"]);
    expect(await changing(base({ uri: "file:///w/%74ree/src/", name: "src" }, "deep/*"))).toEqual(["~src/deep/c.py"]);
    expect(await changing(base("file:///w", "tree/*.ts"))).toEqual(["~a.ts"]);
    expect(await changing(base("file:///", "**/c.py"))).toEqual(["~src/deep/c.py"]);
    expect(await changing(base("file:///elsewhere", "**/*"))).toEqual([]);
    expect(await changing(base("vscode-vfs://x/w/tree", "**/*"))).toEqual([]);
  });

  test("a glob without a base may be meant from the folder the server was started in", async () => {
    expect(await changing(watching({ globPattern: "deep/*.py" }), "src")).toEqual(["~src/deep/c.py"]);
  });

  test("what is no watcher takes nothing, and a glob that is too long takes everything", async () => {
    const odd = (run: FakeRun) => {
      run.watchers = [null, { watchers: [null, { globPattern: 7 }, { globPattern: { pattern: "**" } }] }] as never;
    };
    expect(await changing(odd)).toEqual([]);
    expect(await changing(watching({ globPattern: "x".repeat(5_000) }))).toHaveLength(5);
  });

  test("what no glob took is told when one is registered that does, as it is then", async () => {
    const { workspace, run, mirror } = mirrorSite(
      { "a.ts": "1", "b.ts": "1", "gone.ts": "1", "x.md": "1" },
      {},
      watching({ globPattern: "**/*.md" }),
    );
    workspace.write("a.ts", "2");
    workspace.write("new.ts", "1");
    workspace.write("x.md", "2");
    workspace.disk.delete("gone.ts");
    await mirror.sync(later());
    expect(told(run)).toEqual([["~x.md"]]);
    workspace.write("a.ts", "1");
    workspace.write("new.ts", "2");
    workspace.write("gone.ts", "3");
    await mirror.sync(later());
    expect(told(run)).toEqual([]);
    run.watchers.push({ watchers: [{ globPattern: "**/*.ts" }] });
    await mirror.sync(later());
    expect(told(run)).toEqual([["~a.ts", "~gone.ts", "+new.ts"]]);
    await mirror.sync(later());
    expect(told(run)).toEqual([]);
  });

  test("when more was left untold than can be kept, other globs end the run", async () => {
    const parts = { limits: { unmatched: 2 } };
    const { workspace, run, mirror, stopped } = mirrorSite({}, parts, watching({ globPattern: "**/*.md" }));
    for (const name of ["a", "b", "c"]) workspace.write(name, "1");
    await mirror.sync(later());
    expect(stopped).toEqual([]);
    run.watchers.push({ watchers: [{ globPattern: "**" }] });
    await expect(mirror.sync(later())).rejects.toMatchObject({ reason: "NOT_READY", facts: { state: "crashed" } });
    expect(stopped).toEqual(["it registered what it watches after too much had changed"]);
  });
});

describe("syncs that meet", () => {
  test("those who ask in the same step share one settle", async () => {
    const { workspace, mirror } = mirrorSite();
    await Promise.all([mirror.sync(later()), mirror.sync(later()), mirror.sync(later())]);
    expect(workspace.settles).toBe(1);
  });

  test("one who asks while another settles is given a state from after he asked, shared with all who wait with him", async () => {
    const { workspace, run, mirror } = mirrorSite({ "a.ts": "1" });
    const hold = held();
    workspace.beforeSettle = async () => {
      // It looked, and was then slow: what changes now it may have missed.
      workspace.record();
      const settle = workspace.record.bind(workspace);
      workspace.record = () => {};
      await hold.promise;
      workspace.record = settle;
      workspace.beforeSettle = async () => {};
    };
    const first = mirror.sync(later());
    await Promise.resolve();
    await Promise.resolve();
    workspace.write("a.ts", "2");
    const others = [mirror.sync(later()), mirror.sync(later())];
    hold.release();
    await first;
    const states = await Promise.all(others);
    expect(workspace.settles).toBe(2);
    expect(states.map(({ tree }) => workspace.hashAt(tree, "a.ts"))).toEqual(
      Array(2).fill(workspace.hashAt(workspace.tree(), "a.ts")),
    );
    expect(run.files.get("a.ts")).toBe("2");
  });

  test("a deadline or a caller that gives up ends his waiting alone", async () => {
    const clock = new SteppedClock();
    const { workspace, mirror } = mirrorSite({ "a.ts": "1" }, { clock });
    const hold = held();
    workspace.beforeSettle = () => hold.promise;
    const abort = new AbortController();
    const [short, given, long] = [
      mirror.sync(clock.deadline(100)),
      mirror.sync(clock.deadline(9_000, abort.signal)),
      mirror.sync(clock.deadline(9_000)),
    ];
    abort.abort();
    await expect(given).rejects.toMatchObject({ reason: "CANCELLED" });
    clock.step(100);
    await expect(short).rejects.toMatchObject({ reason: "NOT_READY", facts: { state: "timed_out", server: "fake" } });
    hold.release();
    expect(await long).toEqual({ generation: 1, tree: workspace.tree() });
    expect(clock.waiting).toBe(0);
  });

  test("when all have given up the settle is cancelled, and who comes then gets one of his own", async () => {
    const clock = new SteppedClock();
    const { workspace, mirror } = mirrorSite({ "a.ts": "1" }, { clock });
    const signals: AbortSignal[] = [];
    const settle = workspace.settle.bind(workspace);
    workspace.settle = (signal) => {
      if (signal !== undefined) signals.push(signal);
      return settle(signal);
    };
    const hold = held();
    workspace.beforeSettle = () => hold.promise;
    const both = [mirror.sync(clock.deadline(100)), mirror.sync(clock.deadline(100))];
    await Promise.resolve();
    await Promise.resolve();
    clock.step(100);
    for (const one of both) await expect(one).rejects.toMatchObject({ reason: "NOT_READY" });
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    const next = mirror.sync(clock.deadline(100));
    hold.release();
    expect(await next).toEqual({ generation: 1, tree: workspace.tree() });
    expect(workspace.settles).toBe(2);
  });

  test("a deadline that has passed and a caller that is gone are refused without a settle", async () => {
    const { workspace, mirror } = mirrorSite();
    await expect(mirror.sync({ atMs: 0, signal: new AbortController().signal })).rejects.toMatchObject({ reason: "NOT_READY" });
    await expect(mirror.sync(later(AbortSignal.abort()))).rejects.toMatchObject({ reason: "CANCELLED" });
    expect(workspace.settles).toBe(0);
  });

  test("a refusal of the settle is everyone's who waited for it, and the next is tried anew", async () => {
    const { workspace, mirror } = mirrorSite({ "a.ts": "1" });
    workspace.beforeSettle = async () => {
      workspace.beforeSettle = async () => {};
      throw new GinError("WORKSPACE_MISSING_ROOT", "the directory is gone");
    };
    const both = [mirror.sync(later()), mirror.sync(later())];
    for (const one of both) await expect(one).rejects.toMatchObject({ reason: "WORKSPACE_MISSING_ROOT" });
    expect((await mirror.sync(later())).generation).toBe(1);
  });
});

describe("a server that does not read", () => {
  test("the caller is answered at his deadline; the run is ended once the write has waited too long", async () => {
    const clock = new SteppedClock();
    const { workspace, run, mirror, stopped } = mirrorSite({ "a.ts": "1" }, { clock, limits: { writeMs: 5_000 } });
    workspace.write("a.ts", "2");
    run.writing = () => new Promise(() => {});
    const short = mirror.sync(clock.deadline(100));
    const long = mirror.sync(clock.deadline(9_000));
    while (run.sent.length === 0) await new Promise((resolve) => setImmediate(resolve));
    clock.step(100);
    await expect(short).rejects.toMatchObject({ facts: { state: "timed_out" } });
    expect(stopped).toEqual([]);
    clock.step(4_900);
    await expect(long).rejects.toMatchObject({ facts: { state: "crashed" } });
    expect(stopped).toEqual(["it does not read what it is sent"]);
  });

  test("a server that ends while who asks waits for the settle has crashed: nobody gave up", async () => {
    const { workspace, mirror } = mirrorSite();
    const began = new Promise<void>((resolve) => {
      workspace.beforeSettle = () => {
        resolve();
        return new Promise(() => {});
      };
    });
    const both = [mirror.sync(later()), mirror.sync(later())];
    await began;
    mirror.close();
    for (const one of both) await expect(one).rejects.toMatchObject({ reason: "NOT_READY", facts: { state: "crashed" } });
  });

  test("after close nothing is asked", async () => {
    const { mirror } = mirrorSite();
    mirror.close();
    await expect(mirror.sync(later())).rejects.toMatchObject({ reason: "NOT_READY", facts: { state: "crashed" } });
    await expect(mirror.open("a", later())).rejects.toMatchObject({ reason: "NOT_READY" });
  });
});

test("URIs of events are those of documents", () => {
  expect(mirrorSite().mirror.uriOf("a b.ts")).toBe(uri("a%20b.ts"));
});
