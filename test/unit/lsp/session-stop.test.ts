import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { nodeFs } from "../../../src/daemon/base/index.ts";
import { residentBytes, type Session } from "../../../src/daemon/lsp/session/index.ts";
import { alive, type FakeLog, fakeSession, fakeSpec, within } from "../../helpers/lsp/session.ts";
import { spawnOwned } from "../../helpers/process.ts";
import { repo } from "../../helpers/repo.ts";
import { tempDir } from "../../helpers/temp.ts";
import { virtualClock } from "../lease/virtual-clock.ts";

const DEAF = ["shutdown", "exit", "stdin-end", "sigterm"];

const soon = (check: () => void): Promise<void> => vi.waitFor(check, { timeout: 20_000, interval: 5 });

/** Process ids of a server and of what it started. */
async function family(session: Session): Promise<number[]> {
  const log = (await (await session.run(within())).request("fake/log", {}, within())) as FakeLog;
  return [log.pid, log.grandchild].filter((pid) => pid !== null);
}

test.for([
  ["none", undefined],
  ["null", null],
] as const)("asked to end: shutdown with %s for params, then exit, and it ends by itself", async ([shutdownParams, params]) => {
  const logFile = join(tempDir("lsp"), "log");
  const session = fakeSession({ logFile }, { shutdownParams });
  const [pid] = await family(session);
  await session.stop();
  expect([session.state, session.note, session.pid, session.current, alive(pid as number)]).toEqual([
    "stopped",
    "",
    undefined,
    undefined,
    false,
  ]);
  const { received } = JSON.parse(readFileSync(logFile, "utf8")) as FakeLog;
  expect(received.slice(-2)).toEqual([
    { method: "shutdown", ...(params === null ? { params } : {}), id: expect.any(Number) },
    { method: "exit" },
  ]);
});

test("what is still asked when it is stopped is refused as stopped; whoever waits for a run gets the next one", async () => {
  const session = fakeSession({ on: { "fake/sleep": { do: "silence" } } });
  const run = await session.run(within());
  const asked = run.request("fake/sleep", {}, within());
  const stopped = Promise.all([session.stop(), session.stop()]);
  expect(session.state).toBe("stopping");
  const next = session.run(within());
  await expect(asked).rejects.toMatchObject({ reason: "NOT_READY", facts: { server: "fake", state: "stopped" } });
  await expect(run.request("fake/log", {}, within())).rejects.toMatchObject({ facts: { state: "stopped" } });
  await stopped;
  expect([(await next).number, session.restarts]).toEqual([2, 0]);
});

test("deaf to shutdown, exit, its input's end and SIGTERM: it is killed, and its child with it, within the bounds", async () => {
  const clock = virtualClock();
  const session = fakeSession({ ignore: DEAF, grandchild: true }, {}, clock);
  const log = (await (
    await session.run(within(1, undefined, clock))
  ).request("fake/log", {}, within(1, undefined, clock))) as FakeLog;
  const pids = [log.pid, log.grandchild as number];
  expect(pids.map(alive)).toEqual([true, true]);
  const stopped = session.stop();
  for (const ms of [2_000, 1_000, 1_000]) {
    await soon(() => expect(clock.timers()).toBe(1));
    clock.advance(ms - 1);
    expect([session.state, ...pids.map(alive)]).toEqual(["stopping", true, true]);
    clock.advance(1);
  }
  await stopped;
  expect([session.state, ...pids.map(alive)]).toEqual(["stopped", false, false]);
});

test.for([
  ["ends", []],
  ["crashes", ["crash"]],
] as const)("a server that %s and leaves a child behind takes it with it", async ([, how]) => {
  const session = fakeSession({ grandchild: true });
  const pids = await family(session);
  if (how.length === 0) await session.stop();
  else {
    const run = await session.run(within());
    await expect(run.request("fake/do", { do: "crash" }, within())).rejects.toMatchObject({ reason: "NOT_READY" });
    await run.ended;
  }
  expect(pids.map(alive)).toEqual([false, false]);
});

test("stopped before it was initialised: no politeness, no process; closed: no other start", async () => {
  const pidFile = join(tempDir("lsp"), "pids");
  const session = fakeSession({ pidFile, on: { initialize: { do: "silence" } } });
  const asked = session.run(within());
  await soon(() => expect(readFileSync(pidFile, "utf8")).toMatch(/^\d+\n/));
  const { pid } = session;
  const closed = session.close();
  await expect(asked).rejects.toMatchObject({ reason: "NOT_READY", facts: { state: "stopped" } });
  await closed;
  expect([session.state, alive(pid as number)]).toEqual(["stopped", false]);
  await expect(session.run(within())).rejects.toMatchObject({ reason: "NOT_READY", facts: { state: "stopped" } });
});

test("a caller that gives up while it starts leaves the start to the others", async () => {
  const session = fakeSession();
  const gone = new AbortController();
  const asked = session.run(within(20_000, gone.signal));
  gone.abort();
  await expect(asked).rejects.toMatchObject({ reason: "CANCELLED" });
  expect((await session.run(within())).number).toBe(1);
});

test.runIf(process.platform === "linux")(
  "kill -9 of the process that holds it ends a server that is deaf to everything",
  async () => {
    const { settings: _, ...spec } = fakeSpec({ ignore: DEAF });
    const holder = spawnOwned(process.execPath, ["--import", "tsx", "test/helpers/lsp/holder.ts", JSON.stringify(spec)], {
      cwd: repo,
    });
    const pid = Number(await new Promise<string>((resolve) => holder.stdout.setEncoding("utf8").once("data", resolve)));
    expect(alive(pid)).toBe(true);
    holder.kill("SIGKILL");
    await soon(() => expect(alive(pid)).toBe(false));
  },
);

test.runIf(process.platform === "linux")(
  "resident bytes are those of the whole group; none for one that is gone, or where nothing tells",
  async () => {
    const session = fakeSession({ grandchild: true });
    await session.run(within());
    const pid = session.pid as number;
    const alone = fakeSession();
    await alone.run(within());
    const found = residentBytes(nodeFs, [pid, alone.pid as number, 999_999_999]);
    const two = found.get(pid) ?? 0;
    const one = found.get(alone.pid as number) ?? 0;
    expect(one).toBeGreaterThan(20e6);
    expect(two).toBeGreaterThan(1.5 * one);
    expect(two).toBeLessThan(3 * one);
    expect(found.get(999_999_999)).toBe(0);
    await session.stop();
    expect(residentBytes(nodeFs, [pid])).toEqual(new Map([[pid, 0]]));
    const nowhere = {
      ...nodeFs,
      readdirSync: () => {
        throw new Error("no procfs");
      },
    };
    expect(residentBytes(nowhere, [pid])).toEqual(new Map([[pid, 0]]));
  },
);
