import { expect, test } from "vitest";
import {
  BACK_OFF_MS,
  GOOD_MS,
  type Machine,
  MOST_CRASHES,
  moved,
  NEVER_STARTED,
  SERVER_EVENTS,
  type ServerEvent,
} from "../../../src/daemon/lsp/session/machine.ts";
import type { ServerState } from "../../../src/daemon/lsp/types.ts";

/** Rows are states, columns the events in their order: start, initialised, known, working, ended, stop. */
const TABLE: Readonly<Record<ServerState, string>> = {
  stopped: "starting -        -     -        -       -",
  starting: "-       indexing ready -        crashed stopping",
  indexing: "-       -        ready -        crashed stopping",
  ready: "-          -        -     indexing crashed stopping",
  stopping: "-       -        -     -        stopped -",
  crashed: "starting -        -     -        -       stopped",
  broken: "-         -        -     -        -       stopped",
};

const walk = (events: readonly ServerEvent[], from: Machine = NEVER_STARTED, nowMs = 0): Machine =>
  events.reduce((machine, event) => moved(machine, event, nowMs), from);

const REACHED: Readonly<Record<ServerState, Machine>> = {
  stopped: NEVER_STARTED,
  starting: walk(["start"]),
  indexing: walk(["start", "initialised"]),
  ready: walk(["start", "known"]),
  stopping: walk(["start", "known", "stop"]),
  crashed: walk(["start", "ended"]),
  broken: { state: "broken", crashes: MOST_CRASHES, goodSinceMs: undefined, startAtMs: 0 },
};

test("every state with every event: the documented move or none at all", () => {
  for (const [state, row] of Object.entries(TABLE)) {
    const machine = REACHED[state as ServerState];
    expect(machine.state).toBe(state);
    const found = SERVER_EVENTS.map((event) => {
      const next = moved(machine, event, BACK_OFF_MS);
      return next === machine ? "-" : next.state;
    });
    expect(found, state).toEqual(row.split(/ +/));
  }
});

test("after a crash it starts again in 1, 2, 4 and 8 seconds, not a moment before; the fifth breaks it, and only a stop mends that", () => {
  let machine = NEVER_STARTED;
  const waited: number[] = [];
  for (let now = 0; machine.state !== "broken"; ) {
    machine = walk(["start", "known", "ended"], machine, now);
    if (machine.state !== "crashed") continue;
    waited.push(machine.startAtMs - now);
    expect(moved(machine, "start", machine.startAtMs - 1)).toBe(machine);
    now = machine.startAtMs;
  }
  expect(waited).toEqual([1_000, 2_000, 4_000, 8_000]);
  expect(machine.crashes).toBe(5);
  expect(moved(machine, "start", Number.MAX_SAFE_INTEGER)).toBe(machine);
  expect(walk(["stop", "start"], machine)).toEqual(REACHED.starting);
});

test("ten minutes of work, from its initialisation on, make up for every crash before; less, or time spent starting, for none", () => {
  const crashed: Machine = { state: "crashed", crashes: 3, goodSinceMs: undefined, startAtMs: 0 };
  const indexing = moved(moved(crashed, "start", 0), "initialised", 1_000);
  const ready = walk(["known", "working", "known"], indexing, 5_000);
  expect(moved(ready, "ended", 1_000 + GOOD_MS - 1)).toMatchObject({ state: "crashed", crashes: 4 });
  expect(moved(ready, "ended", 1_000 + GOOD_MS)).toMatchObject({ state: "crashed", crashes: 1, startAtMs: 2_000 + GOOD_MS });
  expect(moved(moved(crashed, "start", 0), "ended", 2 * GOOD_MS)).toMatchObject({ crashes: 4 });
});
