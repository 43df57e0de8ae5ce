import type { ServerState } from "../types.ts";

/** Crashes after which a server is broken. */
export const MOST_CRASHES = 5;
/** Milliseconds of work after which earlier crashes are forgotten. */
export const GOOD_MS = 10 * 60_000;
/** Milliseconds before a start after the first crash; doubled by each further one (1, 2, 4, 8 s; after the fifth it is broken). */
export const BACK_OFF_MS = 1_000;

/**
 * What happens to a server:
 * - `start`: somebody needs it; a process is started.
 * - `initialised`: it answered `initialize`, and has the workspace yet to look at.
 * - `known`: it says that it knows the workspace (at once, where it answers only when it does).
 * - `working`: it says that it is looking at the workspace again.
 * - `ended`: its process ended, or is being ended because it broke the protocol or never answered.
 * - `stop`: it is to end; crashes are forgotten by that.
 */
export const SERVER_EVENTS = ["start", "initialised", "known", "working", "ended", "stop"] as const;
export type ServerEvent = (typeof SERVER_EVENTS)[number];

/**
 * The moves. An event that a state does not name has no meaning there and moves nothing. "crashed" stands for "broken" as well where an `ended`
 * leads to it: that is decided by the count of crashes.
 *
 *     stopped ──start──▶ starting ──initialised──▶ indexing ──known──▶ ready
 *        ▲                  │  └────────known────────┼──────────────▶  │  ▲
 *        │                  │                        ◀─────working─────┘  │
 *        │                  └──ended──▶ crashed ◀──ended── (indexing, ready)
 *        │                                 │ └─start, when its back-off is over─▶ starting
 *        │                                 └─the fifth ended─▶ broken
 *        ├──────stop── crashed, broken
 *        └──ended── stopping ◀──stop── (starting, indexing, ready)
 */
const MOVES: Readonly<Record<ServerState, Partial<Readonly<Record<ServerEvent, ServerState>>>>> = {
  stopped: { start: "starting", stop: "stopped" },
  starting: { initialised: "indexing", known: "ready", ended: "crashed", stop: "stopping" },
  indexing: { known: "ready", ended: "crashed", stop: "stopping" },
  ready: { working: "indexing", ended: "crashed", stop: "stopping" },
  stopping: { ended: "stopped", stop: "stopping" },
  crashed: { start: "starting", stop: "stopped" },
  broken: { stop: "stopped" },
};

/** A server's state and what decides its next one. Times are monotonic milliseconds. */
export interface Machine {
  readonly state: ServerState;
  /** Crashes without `GOOD_MS` of work between them. */
  readonly crashes: number;
  /** Since when this run has worked; undefined before it is initialised. */
  readonly goodSinceMs: number | undefined;
  /** When it may be started again after a crash. */
  readonly startAtMs: number;
}

/** A server that was never started. */
export const NEVER_STARTED: Machine = { state: "stopped", crashes: 0, goodSinceMs: undefined, startAtMs: 0 };

/** The machine after an event; the very same one when the event moves nothing. */
export function moved(machine: Machine, event: ServerEvent, nowMs: number): Machine {
  const to = MOVES[machine.state][event];
  if (to === undefined || to === machine.state) return machine;
  if (event === "start") {
    return nowMs < machine.startAtMs ? machine : { ...machine, state: to, goodSinceMs: undefined };
  }
  if (to === "stopped") return NEVER_STARTED;
  if (to !== "crashed") return { ...machine, state: to, goodSinceMs: machine.goodSinceMs ?? nowMs };
  const forgotten = machine.goodSinceMs !== undefined && nowMs - machine.goodSinceMs >= GOOD_MS;
  const crashes = forgotten ? 1 : machine.crashes + 1;
  return {
    state: crashes >= MOST_CRASHES ? "broken" : "crashed",
    crashes,
    goodSinceMs: undefined,
    startAtMs: nowMs + BACK_OFF_MS * 2 ** (crashes - 1),
  };
}
