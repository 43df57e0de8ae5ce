import { expect, test, vi } from "vitest";
import type { Run, Session } from "../../../src/daemon/lsp/session/index.ts";
import { alive, fakeSession, within } from "../../helpers/lsp/session.ts";
import { virtualClock } from "../lease/virtual-clock.ts";

const CRASHED = { reason: "NOT_READY", retryable: true, facts: { server: "fake", state: "crashed" } };

/** Waits for what is real (a process), not for time. */
const soon = (check: () => void): Promise<void> => vi.waitFor(check, { timeout: 20_000, interval: 5 });

test.for([
  [{ do: "crash", code: 3 }, "it ended with exit status 3"],
  [{ do: "crash-mid" }, "it ended with exit status 1"],
  [{ do: "huge", bytes: 64 * 1024 * 1024 + 1 }, "it sent a message of 67108865 bytes, and 67108864 are the most"],
  [{ do: "no-length" }, "it sent a message without a Content-Length"],
  [{ do: "bad-json" }, "it sent a message that is no JSON"],
  [{ do: "raw", text: "Content-Length: 4\r\n\r\nnull" }, "it sent a message that is no JSON object"],
  [{ do: "raw", text: "now listening\n" }, "it sent something that is no message"],
] as const)("a server that does %j is ended, and everything asked of it is refused as crashed", async ([action, note]) => {
  const session = fakeSession({ on: { "textDocument/hover": { do: "silence" } } });
  const run = await session.run(within());
  const pid = session.pid as number;
  const asked = [run.request("textDocument/hover", {}, within()), run.request("fake/do", action, within())];
  for (const one of await Promise.allSettled(asked)) expect(one).toMatchObject({ status: "rejected", reason: CRASHED });
  await run.ended;
  expect([session.state, session.note, session.current, session.pid]).toEqual(["crashed", note, undefined, undefined]);
  expect(alive(pid)).toBe(false);
  await expect(run.request("fake/log", {}, within())).rejects.toMatchObject(CRASHED);
  await expect(run.notify("fake/note", {})).rejects.toMatchObject(CRASHED);
});

test("killed from outside: said so, and the next that asks waits for the back-off and gets a new process", async () => {
  const session = fakeSession();
  const run = await session.run(within());
  process.kill(session.pid as number, "SIGKILL");
  await run.ended;
  expect(session.note).toBe("it ended with exit status 137 (SIGKILL: by the system when memory is short, or by somebody)");
  // Not worth waiting for: the back-off is longer than the caller has.
  await expect(session.run(within(100))).rejects.toMatchObject({ ...CRASHED, message: `fake crashed: ${session.note}` });
  const next = await session.run(within());
  expect([next.number, session.restarts, session.state, session.note]).toEqual([2, 1, "ready", ""]);
});

test("each caller sees one crash at most; after the fifth it is broken, and a stop gives it another chance", async () => {
  const clock = virtualClock();
  const deadline = () => within(60_000, undefined, clock);
  const session = fakeSession(
    { on: { initialized: { do: "crash" }, "fake/log": { do: "crash" } } },
    { readiness: { kind: "progress", matches: /./, graceMs: 1 } },
    clock,
  );
  const waits: number[] = [];
  for (let crash = 1; crash <= 5; crash += 1) {
    const began = clock.monotonicMs();
    let done = false;
    const asked = session.run(deadline());
    void asked
      .catch(() => {})
      .finally(() => {
        done = true;
      });
    // Time moves only while it waits for its back-off.
    while (!done) {
      if (session.state === "crashed") clock.advance(100);
      await new Promise((resolve) => setImmediate(resolve));
    }
    waits.push(clock.monotonicMs() - began);
    await expect(asked).rejects.toMatchObject({ facts: { state: crash < 5 ? "crashed" : "broken" }, retryable: crash < 5 });
  }
  expect(waits).toEqual([0, 1_000, 2_000, 4_000, 8_000]);
  expect([session.state, session.note, session.restarts]).toEqual(["broken", "it ended with exit status 1", 4]);
  await expect(session.run(deadline())).rejects.toMatchObject({
    reason: "NOT_READY",
    retryable: false,
    facts: { state: "broken" },
  });
  await session.stop();
  expect([session.state, session.note]).toEqual(["stopped", ""]);
  await expect(session.run(deadline())).rejects.toMatchObject(CRASHED);
});

test("two that wait for the same back-off share the one start", async () => {
  const session = fakeSession();
  const first = await session.run(within());
  await expect(first.request("fake/do", { do: "crash" }, within())).rejects.toMatchObject(CRASHED);
  const [one, two] = await Promise.all([session.run(within()), session.run(within())]);
  expect([one === two, one.number, session.restarts]).toEqual([true, 2, 1]);
});

test.for([
  [{ do: "error", code: -32002 }, "it refused initialize with code -32002"],
  [{ do: "crash", code: 9 }, "it ended with exit status 9"],
  [{ do: "answer", result: null }, "it answered initialize with no capabilities"],
  [{ do: "answer", result: { capabilities: { positionEncoding: "utf-7" } } }, "it counts characters in a way it was not offered"],
] as const)("a server that answers initialize with %j has crashed", async ([action, note]) => {
  const session = fakeSession({ on: { initialize: action } });
  await expect(session.run(within())).rejects.toMatchObject({ ...CRASHED, message: `fake crashed: ${note}` });
  expect(session.state).toBe("crashed");
});

test("dead silence to initialize: the caller is told that it is starting, and in the end it is given up", async () => {
  const clock = virtualClock();
  const session = fakeSession({ on: { initialize: { do: "silence" } } }, { initializeMs: 5_000 }, clock);
  const asked = session.run(within(2_000, undefined, clock));
  clock.advance(2_000);
  await expect(asked).rejects.toMatchObject({ facts: { state: "starting" } });
  const { pid } = session;
  clock.advance(3_000);
  expect([session.state, session.note]).toEqual(["crashed", "it did not answer initialize within 5000 ms"]);
  await soon(() => expect(alive(pid as number)).toBe(false));
});

test("a program that is not there, and a directory that is not: a crash that names no path", async () => {
  const missing = fakeSession({}, { command: ["/nowhere/at-all"] });
  await expect(missing.run(within())).rejects.toMatchObject({
    ...CRASHED,
    message: "fake crashed: it could not be started: its program or its directory is not there",
  });
  await expect(fakeSession({}, { directory: "/nowhere/at-all" }).run(within())).rejects.toMatchObject({
    ...CRASHED,
    message: "fake crashed: it could not be started: its program or its directory is not there",
  });
});

/** Stops its process as a debugger would: it neither reads nor says anything. */
async function frozen(clock = virtualClock()): Promise<{ session: Session; run: Run; clock: typeof clock; pid: number }> {
  const session = fakeSession({}, {}, clock);
  const run = await session.run(within(1_000, undefined, clock));
  const pid = session.pid as number;
  process.kill(pid, "SIGSTOP");
  return { session, run, clock, pid };
}

test("a server that says nothing to any question is ended after two minutes of it, not for one question too hard", async () => {
  const { session, run, clock, pid } = await frozen();
  const states: string[] = [];
  for (let asked = 1; asked <= 4; asked += 1) {
    const answer = run.request("textDocument/hover", {}, within(30_000, undefined, clock));
    // The pipe takes it before time moves on.
    await run.notify("fake/note", {});
    clock.advance(30_000);
    await expect(answer).rejects.toMatchObject({ facts: { state: "timed_out" } });
    states.push(session.state);
  }
  expect(states).toEqual(["ready", "ready", "ready", "crashed"]);
  expect(session.note).toBe("it said nothing for 120 s, and 4 questions ran out of time");
  await soon(() => expect(alive(pid)).toBe(false));
});

test("a server that does not read what it is sent is ended after a minute", async () => {
  const { session, run, clock, pid } = await frozen();
  const told = run.notify("fake/note", { text: "x".repeat(4 * 1024 * 1024) });
  clock.advance(59_999);
  expect(session.state).toBe("ready");
  clock.advance(1);
  await expect(told).rejects.toMatchObject(CRASHED);
  expect([session.state, session.note]).toEqual(["crashed", "it left what it is sent unread for 60 s"]);
  await soon(() => expect(alive(pid)).toBe(false));
});

test("a server that closes its input and lives on is ended", async () => {
  const session = fakeSession({ ignore: ["stdin-end"], on: { "fake/note": { do: "deaf" } } });
  const run = await session.run(within());
  const pid = session.pid as number;
  await run.notify("fake/note", {});
  await expect.poll(() => run.notify("fake/note", {}).catch((error: unknown) => error)).toMatchObject(CRASHED);
  await run.ended;
  expect([session.note, alive(pid)]).toEqual(["it closed its input", false]);
});
