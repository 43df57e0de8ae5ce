import { expect, test } from "vitest";
import type { Readiness, Session } from "../../../src/daemon/lsp/session/index.ts";
import { fakeSession, heldOf, within } from "../../helpers/lsp/session.ts";
import { type VirtualClock, virtualClock } from "../lease/virtual-clock.ts";

const INDEXING: Readiness = { kind: "progress", matches: /index/i, graceMs: 3_000 };

/** An initialised run of a server that has the workspace yet to look at. */
async function looking(options: object, clock: VirtualClock, readiness = INDEXING) {
  const session = fakeSession(options, { readiness }, clock);
  const run = await session.run(within(1_000, undefined, clock), true);
  /** Has the server say something, and waits until it was heard. */
  const say = (method: string, params: unknown) =>
    run.request("fake/do", { do: "notify", method, params }, within(1_000, undefined, clock));
  const progress = (token: string | number, value: object) => say("$/progress", { token, value });
  return { session, run, say, progress };
}

const ready = (session: Session, clock: VirtualClock, ms: number) => session.run(within(ms, undefined, clock));

test("no work begins within the grace: it is ready when that is over, not before", async () => {
  const clock = virtualClock();
  const { session } = await looking({}, clock);
  const asked = ready(session, clock, 10_000);
  clock.advance(2_999);
  expect(session.state).toBe("indexing");
  clock.advance(1);
  expect([session.state, (await asked).number]).toEqual(["ready", 1]);
});

test("work that matches by title or token has to end; a pause between two pieces is no end, other work does not count", async () => {
  const clock = virtualClock();
  const { session, progress } = await looking({}, clock);
  await progress("other", { kind: "begin", title: "Formatting" });
  await progress(7, { kind: "begin", title: "Indexing" });
  await progress("rust/indexing", { kind: "begin", title: "" });
  expect(session.progress).toEqual(["Formatting", "Indexing", ""]);
  clock.advance(60_000);
  await progress(7, { kind: "end" });
  await progress("7", { kind: "end" });
  clock.advance(60_000);
  expect(session.state).toBe("indexing");
  await progress("rust/indexing", { kind: "report", message: "99 %" });
  await progress("rust/indexing", { kind: "end" });
  clock.advance(99);
  await progress(8, { kind: "begin", title: "Indexing again" });
  clock.advance(60_000);
  expect(session.state).toBe("indexing");
  await progress(8, { kind: "end" });
  clock.advance(99);
  expect(session.state).toBe("indexing");
  clock.advance(1);
  expect([session.state, session.progress]).toEqual(["ready", ["Formatting"]]);
});

test("a ready server that looks at the workspace again is indexing again", async () => {
  const clock = virtualClock();
  const { session, progress } = await looking({}, clock);
  clock.advance(3_000);
  const states: string[] = [session.state];
  session.onState((state) => states.push(state));
  await progress(1, { kind: "begin", title: "Indexing" });
  const asked = ready(session, clock, 5_000);
  await progress(1, { kind: "end" });
  clock.advance(100);
  await asked;
  expect(states).toEqual(["ready", "indexing", "ready"]);
});

test("progress that never ends: not ready within any deadline, and says so; those who take less are answered", async () => {
  const clock = virtualClock();
  const { session, progress } = await looking({}, clock);
  await progress("endless", { kind: "begin", title: "Indexing" });
  const asked = ready(session, clock, 30_000);
  clock.advance(30_000);
  await expect(asked).rejects.toMatchObject({
    reason: "NOT_READY",
    retryable: true,
    facts: { server: "fake", state: "indexing" },
  });
  expect((await session.run(within(1_000, undefined, clock), true)).progress()).toEqual(["Indexing"]);
});

test("malformed progress is no work", async () => {
  const clock = virtualClock();
  const { session, say } = await looking({}, clock);
  for (const params of [
    {},
    { token: 1 },
    { token: {}, value: { kind: "begin", title: "Indexing" } },
    { token: 1, value: null },
  ]) {
    await say("$/progress", params);
  }
  expect(session.progress).toEqual([]);
  clock.advance(3_000);
  expect(session.state).toBe("ready");
});

test("a notification says it, both ways; one about something else says nothing", async () => {
  const clock = virtualClock();
  const readiness: Readiness = {
    kind: "notification",
    method: "experimental/serverStatus",
    ready: (params) => (params as { quiescent?: boolean }).quiescent,
  };
  const { session, say } = await looking({}, clock, readiness);
  clock.advance(600_000);
  expect(session.state).toBe("indexing");
  const found: string[] = [];
  for (const quiescent of [undefined, false, true, undefined, true, false, undefined, true]) {
    await say("experimental/serverStatus", { quiescent });
    found.push(session.state);
  }
  expect(found).toEqual(["indexing", "indexing", "ready", "ready", "ready", "indexing", "indexing", "ready"]);
});

test("the server's own way: it registers the work, does it, and is asked when it is done", async () => {
  const session = fakeSession({ progress: { title: "Indexing", ms: 150 } }, { readiness: { ...INDEXING, graceMs: 20_000 } });
  const states: string[] = [];
  session.onState((state) => states.push(state));
  expect((await session.run(within())).number).toBe(1);
  expect(states).toEqual(["starting", "indexing", "ready"]);
});

test("who waited in vain is not kept while it goes on indexing", async () => {
  const readiness = { kind: "progress", matches: /^Indexing/, graceMs: 20_000 } as const;
  const session = fakeSession({ progress: { ms: null } }, { readiness });
  await session.run(within(), true);
  await expect.poll(() => session.progress).toEqual(["Indexing"]);
  const signals: WeakRef<AbortSignal>[] = [];
  for (let count = 0; count < 20; count += 1) {
    const { signal } = new AbortController();
    signals.push(new WeakRef(signal));
    await expect(session.run(within(2, signal))).rejects.toMatchObject({ facts: { state: "indexing" } });
  }
  await expect.poll(() => heldOf(signals), { timeout: 20_000 }).toBeLessThan(5);
});
