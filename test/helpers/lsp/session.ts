import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type Clock, type Log, nodeCommands, systemClock } from "../../../src/daemon/base/index.ts";
import { createSession, type Deadline, type LaunchSpec, type Session } from "../../../src/daemon/lsp/session/index.ts";
import { atTeardown } from "../teardown.ts";
import { tempDir } from "../temp.ts";

const FAKE = fileURLToPath(new URL("fake-server.mjs", import.meta.url));

/** A log that nobody reads. */
export const silent: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** What is needed to start the fake server with its options (fake-server.mjs lists them), in a directory of its own unless one is given. */
export function fakeSpec(options: object = {}, more: Partial<LaunchSpec> = {}): LaunchSpec {
  return {
    server: "fake",
    command: [process.execPath, FAKE, JSON.stringify(options)],
    env: {},
    directory: tempDir("lsp"),
    initializationOptions: undefined,
    settings: () => null,
    asksSettings: false,
    readiness: { kind: "answers" },
    shutdownParams: "none",
    initializeMs: 20_000,
    ...more,
  };
}

/** A session that is closed at teardown. */
export function fakeSession(options: object = {}, more: Partial<LaunchSpec> = {}, clock: Clock = systemClock): Session {
  const session = createSession(fakeSpec(options, more), {
    clock,
    commands: nodeCommands,
    log: silent,
    processId: process.pid,
    version: "0.0.0",
  });
  atTeardown(() => session.close());
  return session;
}

/** A deadline so many milliseconds from now; generous by default, as the machine may be busy. */
export function within(
  ms = 20_000,
  signal: Deadline["signal"] = new AbortController().signal,
  clock: Clock = systemClock,
): Deadline {
  return { atMs: clock.monotonicMs() + ms, signal };
}

/** How many of these objects somebody still holds. */
export function heldOf(objects: readonly WeakRef<object>[]): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return objects.filter((one) => one.deref() !== undefined).length;
}

/** What the fake server says it received. */
export interface FakeLog {
  readonly received: readonly { readonly method: string; readonly params?: unknown; readonly id?: number }[];
  readonly cancelled: readonly number[];
  readonly pid: number;
  readonly grandchild: number | null;
  readonly processId: number | null;
}

/** The kernel's letter for what a process does ("S" sleeps, "Z" was not reaped); "" for one that is gone. */
export function processState(pid: number): string {
  try {
    return /\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, "latin1"))?.[1] ?? "";
  } catch {
    return "";
  }
}

/** False for a process that is gone, or only waits for its parent to look. */
export const alive = (pid: number): boolean => !["", "Z"].includes(processState(pid));
