import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/daemon/base/index.ts";
import type { Mirror } from "../../../src/daemon/lsp/mirror/types.ts";
import { createPool } from "../../../src/daemon/lsp/pool/pool.ts";
import type { Leased, Pool, PoolDeps } from "../../../src/daemon/lsp/pool/types.ts";
import type { LaunchSpec, Readiness, Session } from "../../../src/daemon/lsp/session/types.ts";
import type { ServerSpec } from "../../../src/daemon/lsp/table/types.ts";
import type { LspWorkspace, ServerStatus } from "../../../src/daemon/lsp/types.ts";
import { alive, fakeSession, silent, within } from "../../helpers/lsp/session.ts";
import { atTeardown } from "../../helpers/teardown.ts";
import { virtualClock } from "../lease/virtual-clock.ts";

const rowOf = (id: string, extensions: readonly string[], over: Partial<ServerSpec> = {}): ServerSpec => ({
  id,
  languages: Object.fromEntries(extensions.map((extension) => [extension, extension.slice(1)])),
  commands: [[id]],
  install: `install ${id}`,
  markers: ["mark"],
  folder: "root",
  readiness: { kind: "answers" },
  untrusted: {},
  runs: "its build",
  wholeProject: true,
  ...over,
});

/** Milliseconds to a deadline that comes on no clock: that of a pool may stand still, while the one of its processes does not. */
const NEVER = Number.POSITIVE_INFINITY;

/** Of servers that never say that they know the workspace. */
const SILENT: Readiness = { kind: "notification", method: "fake/ready", ready: () => true };

const TABLE = [
  rowOf("one", [".one"], { early: true }),
  rowOf("first", [".py"]),
  rowOf("second", [".py"]),
  rowOf("builds", [".rs"], { untrusted: "refused", folder: "topmost" }),
  rowOf("near", [".near"], { folder: "nearest" }),
];

/** A workspace of these paths; nothing here reads a content. */
function workspaceOf(rowid: number, paths: readonly string[], trusted = false): LspWorkspace & { paths: string[] } {
  const held = [...paths];
  const fault = (): never => {
    throw new Error("the pool asked for more than it needs");
  };
  return {
    paths: held,
    rowid,
    id: `ws_${rowid}`,
    root: "/tmp",
    trusted,
    settle: fault,
    tree: () => held.join("\n"),
    *changes(from) {
      const before = new Set(from.split("\n"));
      for (const path of held)
        if (!before.has(path)) yield { path, before: null, after: { kind: "file", sha256: "", size: 0, executable: false } };
    },
    hashAt: (tree, path) => (tree.split("\n").includes(path) ? "hash" : undefined),
    files: (tree) => tree.split("\n"),
    bytes: () => undefined,
    read: fault,
    canonical: (path) => path,
    scope: (run) => run(),
    touched: () => [],
    onChange: () => () => {},
  };
}

interface Site {
  readonly pool: Pool;
  /** What was started, in order. */
  readonly launched: LaunchSpec[];
  readonly sessions: Session[];
  readonly closedMirrors: string[];
  readonly said: string[];
  /** Resident bytes by server. */
  readonly bytes: Map<string, number>;
  readonly installed: Set<string>;
}

function open(
  over: Partial<PoolDeps> & { readonly options?: (launch: LaunchSpec) => object; readonly neverReady?: boolean } = {},
): Site {
  const launched: LaunchSpec[] = [];
  const sessions: Session[] = [];
  const closedMirrors: string[] = [];
  const said: string[] = [];
  const bytes = new Map<string, number>();
  const installed = new Set(TABLE.map(({ id }) => id));
  const pool = createPool({
    clock: systemClock,
    log: silent,
    table: TABLE,
    discover: ({ id }) => (installed.has(id) ? { command: [`/bin/${id}`] } : undefined),
    disabled: () => false,
    launch: (spec, found, workspace, folder) =>
      ({ server: spec.id, command: found.command, directory: `${workspace.id}/${folder}` }) as LaunchSpec,
    session: (launch) => {
      launched.push(launch);
      // The clock of the pool may stand still; processes do not.
      const session = fakeSession(over.options?.(launch) ?? {}, {
        server: launch.server,
        ...(over.neverReady === true ? { readiness: SILENT } : {}),
      });
      sessions.push(session);
      return session;
    },
    mirror: ({ run, spec }) =>
      ({ opened: 3, close: () => void closedMirrors.push(`${spec.id} ${run.number}`) }) as unknown as Mirror,
    resident: async (leaders) =>
      new Map(leaders.map((pid) => [pid, bytes.get(sessions.find((session) => session.pid === pid)?.server ?? "") ?? 0])),
    memoryBytes: 1_000,
    idleMs: 60_000,
    startsAtOnce: 2,
    ...over,
  });
  pool.onStatus((workspace, status) => said.push(`${workspace} ${status.server} ${status.state}`));
  atTeardown(() => pool.close());
  return { pool, launched, sessions, closedMirrors, said, bytes, installed };
}

async function ask(pool: Pool, workspace: LspWorkspace, path: string): Promise<Leased> {
  return await pool.lease(workspace, { path }, within());
}

async function refusedWith(asked: Promise<unknown>): Promise<{ reason: string; facts: object; suggestion: string }> {
  return await asked.then(
    () => {
      throw new Error("it was not refused");
    },
    ({ reason, facts, suggestion }) => ({ reason, facts, suggestion }),
  );
}

const stateOf = (statuses: readonly ServerStatus[]): string[] =>
  statuses.map(({ server, folder, state }) => `${server} ${folder} ${state}`.replace("  ", " "));

describe("which server", () => {
  it("is one a workspace, server and folder, shared by everybody who asks", async () => {
    const { pool, launched } = open();
    const workspace = workspaceOf(1, ["a.one"]);
    const leases = await Promise.all([
      ask(pool, workspace, "a.one"),
      ask(pool, workspace, "b.one"),
      ask(pool, workspaceOf(2, []), "a.one"),
    ]);
    expect(launched.map(({ directory }) => directory)).toEqual(["ws_1/", "ws_2/"]);
    expect(leases[0]?.run).toBe(leases[1]?.run);
    expect(leases[0]?.mirror).toBe(leases[1]?.mirror);
    expect(leases[2]?.run).not.toBe(leases[0]?.run);
  });

  it("is the first that is installed for a language, or the one that is named", async () => {
    const { pool, installed } = open();
    const workspace = workspaceOf(1, ["a.py"]);
    expect(pool.serverFor(workspace, { path: "a.py" }).id).toBe("first");
    installed.delete("first");
    expect(pool.serverFor(workspace, { path: "a.py" }).id).toBe("second");
    expect(pool.serverFor(workspace, { server: "one" }).id).toBe("one");
    installed.delete("second");
    expect(await refusedWith(ask(pool, workspace, "a.py"))).toMatchObject({ reason: "UNSUPPORTED", suggestion: "install first" });
  });

  it("is not looked for on the disk again while it runs, whatever becomes of its program", async () => {
    const { pool, installed } = open();
    const workspace = workspaceOf(1, ["a.py"]);
    const leased = await ask(pool, workspace, "a.py");
    installed.delete("first");
    expect((await ask(pool, workspace, "a.py")).run).toBe(leased.run);
    expect(pool.serverFor(workspaceOf(2, []), { path: "a.py" }).id).toBe("second");
    await leased.session.stop();
    expect(pool.serverFor(workspace, { path: "a.py" }).id).toBe("second");
  });

  it("refuses what there is none for, another's path, what is switched off, and what an untrusted workspace could run", async () => {
    const { pool, launched } = open({ disabled: ({ id }) => id === "one" });
    const workspace = workspaceOf(1, []);
    expect(await refusedWith(ask(pool, workspace, "a.none"))).toMatchObject({
      reason: "UNSUPPORTED",
      facts: { requested: "a.none" },
    });
    expect(await refusedWith(ask(pool, workspace, "a.one"))).toMatchObject({
      reason: "UNSUPPORTED",
      facts: { requested: "one" },
    });
    expect(await refusedWith(pool.lease(workspace, { path: "a.py", server: "near" }, within()))).toMatchObject({
      reason: "UNSUPPORTED",
    });
    expect(await refusedWith(pool.lease(workspace, { server: "nobody" }, within()))).toMatchObject({
      facts: { supported: TABLE.map(({ id }) => id) },
    });
    expect(await refusedWith(ask(pool, workspace, "a.rs"))).toMatchObject({
      reason: "LSP_NEEDS_TRUST",
      facts: { server: "builds" },
    });
    expect(launched).toEqual([]);
    expect((await ask(pool, workspaceOf(1, [], true), "a.rs")).spec.id).toBe("builds");
  });

  it("is started for the topmost or the nearest directory with a marker", async () => {
    const { pool, launched } = open();
    const workspace = workspaceOf(1, ["x/mark", "x/y/mark", "x/y/z/a.rs"], true);
    await ask(pool, workspace, "x/y/z/a.rs");
    await ask(pool, workspace, "x/y/z/a.near");
    await ask(pool, workspace, "other/a.near");
    expect(launched.map(({ directory }) => directory)).toEqual(["ws_1/x", "ws_1/x/y", "ws_1/"]);
  });
});

describe("what it tells", () => {
  it("lists what runs, what would, what is missing and what needs trust; one for a language, and follows the tree", async () => {
    const { pool, installed } = open();
    installed.delete("one");
    installed.delete("first");
    const workspace = workspaceOf(1, ["a.one", "b.py", "c.rs"]);
    expect(stateOf(pool.status(workspace))).toEqual(["one not_installed", "second stopped", "builds needs_trust"]);
    expect(pool.status(workspace)[0]).toMatchObject({ install: "install one", languages: ["one"] });
    const lease = await ask(pool, workspace, "b.py");
    workspace.paths.push("d.near");
    expect(stateOf(pool.status(workspace))).toEqual(["second ready", "one not_installed", "builds needs_trust", "near stopped"]);
    expect(pool.status(workspace)[0]).toMatchObject({ name: lease.run.info?.name, openDocuments: 3, idleMs: 0, restarts: 0 });
    expect(pool.running(workspace).map(({ spec }) => spec.id)).toEqual(["second"]);
  });

  it("looks at a large tree a slice a call, and at what comes to it meanwhile afterwards", () => {
    const { pool } = open();
    const workspace = workspaceOf(1, [...Array.from({ length: 12_000 }, (_, index) => `f${index}.one`), "z.near"]);
    expect(stateOf(pool.status(workspace))).toEqual(["one stopped"]);
    workspace.paths.push("z.rs");
    pool.status(workspace);
    expect(stateOf(pool.status(workspace))).toEqual(["one stopped", "near stopped"]);
    expect(stateOf(pool.status(workspace))).toEqual(["one stopped", "builds needs_trust", "near stopped"]);
  });

  it("tells of each state as it comes", async () => {
    const { pool, said } = open();
    const workspace = workspaceOf(7, []);
    (await ask(pool, workspace, "a.one")).release();
    await pool.detach(7);
    expect(said).toEqual(["7 one starting", "7 one ready", "7 one stopping", "7 one stopped"]);
  });
});

describe("its end", () => {
  it("comes when nobody asked for a while, never while somebody does; the next question starts it anew with a new mirror", async () => {
    const clock = virtualClock();
    const { pool, sessions, closedMirrors } = open({ clock });
    const workspace = workspaceOf(1, []);
    const deadline = within(NEVER);
    const first = await pool.lease(workspace, { path: "a.one" }, deadline);
    const second = await pool.lease(workspace, { path: "a.one" }, deadline);
    first.release();
    first.release();
    clock.advance(60_001);
    expect(sessions[0]?.state).toBe("ready");
    second.release();
    clock.advance(59_999);
    expect(sessions[0]?.state).toBe("ready");
    clock.advance(2);
    await expect.poll(() => sessions[0]?.state).toBe("stopped");
    const again = await pool.lease(workspace, { path: "a.one" }, within(NEVER));
    expect([again.run.number, again.mirror === first.mirror, closedMirrors]).toEqual([2, false, ["one 1"]]);
  });

  it("comes to a crashed run's mirror too", async () => {
    const { pool, closedMirrors } = open();
    const workspace = workspaceOf(1, []);
    const first = await ask(pool, workspace, "a.one");
    process.kill(first.session.pid ?? 0, "SIGKILL");
    await first.run.ended;
    first.release();
    const second = await ask(pool, workspace, "a.one");
    expect([second.run.number, closedMirrors, pool.status(workspace)[0]?.restarts]).toEqual([2, ["one 1"], 1]);
  });

  it("comes to all of a workspace that is closed, to no other's, and nothing is started for it afterwards", async () => {
    const { pool, sessions } = open();
    const gone = workspaceOf(1, []);
    const stays = workspaceOf(2, []);
    await ask(pool, gone, "a.one");
    await ask(pool, gone, "a.py");
    const kept = await ask(pool, stays, "a.one");
    const pids = sessions.map(({ pid }) => pid ?? 0);
    await pool.detach(1);
    expect(pids.map(alive)).toEqual([false, false, true]);
    expect(await refusedWith(ask(pool, gone, "a.one"))).toMatchObject({ reason: "WORKSPACE_NOT_FOUND" });
    expect(kept.session.state).toBe("ready");
    await pool.close();
    expect(pids.map(alive)).toEqual([false, false, false]);
    expect(await refusedWith(ask(pool, stays, "a.one"))).toMatchObject({ reason: "BUSY" });
  });

  it("comes by restart, which looks for the program again", async () => {
    const { pool, launched } = open();
    const workspace = workspaceOf(1, []);
    await ask(pool, workspace, "a.one");
    await ask(pool, workspace, "a.py");
    await pool.restart(workspace, "one");
    expect(pool.running(workspace).map(({ spec }) => spec.id)).toEqual(["first"]);
    await ask(pool, workspace, "a.one");
    expect(launched.map(({ server }) => server)).toEqual(["one", "first", "one"]);
  });
});

describe("memory", () => {
  it("is made for one more by ending what was used least recently, never what is being asked", async () => {
    const { pool, bytes, sessions } = open();
    const workspace = workspaceOf(1, []);
    for (const [server, size] of [
      ["one", 600],
      ["first", 600],
      ["near", 10],
    ] as const)
      bytes.set(server, size);
    (await ask(pool, workspace, "a.one")).release();
    const asked = await ask(pool, workspace, "a.py");
    (await ask(pool, workspace, "a.near")).release();
    expect(sessions.map(({ server, state }) => `${server} ${state}`)).toEqual(["one stopped", "first ready", "near ready"]);
    bytes.set("first", 5_000);
    const refused = await refusedWith(pool.lease(workspace, { path: "a.one" }, within(600)));
    expect(refused).toMatchObject({ reason: "NOT_READY", facts: { server: "one", state: "starting" } });
    asked.release();
    expect((await ask(pool, workspace, "a.one")).run.number).toBe(2);
    expect(sessions.map(({ server, state }) => `${server} ${state}`)).toEqual(["one ready", "first stopped", "near stopped"]);
  });

  it("is looked after while nobody starts anything; the one used last stays", async () => {
    const clock = virtualClock();
    const { pool, bytes, sessions } = open({ clock });
    const workspace = workspaceOf(1, []);
    const deadline = within(NEVER);
    const first = await pool.lease(workspace, { path: "a.one" }, deadline);
    first.release();
    clock.advance(1);
    (await pool.lease(workspace, { path: "a.py" }, deadline)).release();
    bytes.set("one", 400);
    bytes.set("first", 2_000);
    clock.advance(5_000);
    await expect.poll(() => sessions[0]?.state).toBe("stopped");
    clock.advance(5_000);
    clock.advance(5_000);
    expect(sessions.map(({ server, state }) => `${server} ${state}`)).toEqual(["one stopped", "first ready"]);
  });
});

describe("what does not know the workspace yet", () => {
  it("is asked about a lone file where its row says that it can be, and about nothing where not", async () => {
    const { pool, said } = open({ neverReady: true });
    const workspace = workspaceOf(1, []);
    expect((await pool.lease(workspace, { path: "a.one" }, within(), true)).session.state).toBe("indexing");
    expect(await refusedWith(pool.lease(workspace, { path: "a.one" }, within(300)))).toMatchObject({
      facts: { state: "indexing" },
    });
    await refusedWith(pool.lease(workspace, { path: "a.py" }, within(50), true));
    await expect.poll(() => said, { timeout: 20_000 }).toContain("1 first indexing");
    expect(await refusedWith(pool.lease(workspace, { path: "a.py" }, within(300), true))).toMatchObject({
      reason: "NOT_READY",
      facts: { server: "first", state: "indexing" },
    });
  });
});

describe("starts", () => {
  it("are held up for some seconds only by one that hangs", async () => {
    const { pool, sessions } = open({
      startsAtOnce: 1,
      options: ({ server }) => (server === "one" ? { on: { initialize: { do: "silence" } } } : {}),
    });
    const workspace = workspaceOf(1, []);
    const hanging = refusedWith(pool.lease(workspace, { path: "a.one" }, within(6_000)));
    expect((await pool.lease(workspace, { path: "a.py" }, within(20_000))).run.number).toBe(1);
    expect(sessions[0]?.state).toBe("starting");
    expect(await hanging).toMatchObject({ reason: "NOT_READY", facts: { server: "one", state: "starting" } });
  });

  it("go on a few at a time; who waits too long is told so", async () => {
    const { pool, sessions } = open({
      startsAtOnce: 1,
      options: ({ server }) => (server === "one" ? { on: { initialize: { do: "delay", ms: 1_500 } } } : {}),
    });
    const workspace = workspaceOf(1, []);
    const slow = ask(pool, workspace, "a.one");
    const late = await refusedWith(pool.lease(workspace, { path: "a.py" }, within(200)));
    expect(late).toMatchObject({ reason: "NOT_READY", facts: { server: "first", state: "starting" } });
    // It was not even begun.
    expect(sessions.map(({ state }) => state)).toEqual(["starting", "stopped"]);
    const patient = ask(pool, workspace, "a.py");
    await slow;
    expect(sessions.map(({ server }) => server)).toEqual(["one", "first"]);
    expect((await patient).run.number).toBe(1);
    const gaveUp = await refusedWith(pool.lease(workspace, { path: "a.near" }, within(20_000, AbortSignal.abort())));
    expect(gaveUp.reason).toBe("CANCELLED");
  });
});
