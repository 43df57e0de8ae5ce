import { VERSION } from "../../paths/index.ts";
import type { HeldLock, LockNote, LockTaker } from "./types.ts";

/** A lock, or who has it; `holder` is undefined when that one has not said so yet. */
export type Taken = ({ readonly held: true } & HeldLock) | { readonly held: false; readonly holder: LockNote | undefined };

/** Tries and milliseconds between them before an unexplained refusal is believed. */
const TRIES = 12;
const PAUSE_MS = 20;

/**
 * Takes a lock, trying again for a quarter of a second while nobody alive claims to hold it: processes that start in the same
 * instant can refuse each other in the middle of taking it, and then none would win. Blocks the thread meanwhile.
 */
export function takeFirmly(take: LockTaker, file: string, host: string): Taken {
  const note: LockNote = { host, pid: process.pid, version: VERSION };
  for (let tries = 1; ; tries++) {
    const lock = take(file, JSON.stringify(note));
    if (lock.held) return { held: true, release: () => lock.release() };
    const holder = readNote(lock.note);
    if ((holder !== undefined && isAlive(holder.pid)) || tries === TRIES) return { held: false, holder };
    // Uneven pauses part those who started together.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS + (process.pid % 7) * 3);
  }
}

/** A note as written above; undefined when it is empty or something else. */
export function readNote(note: string): LockNote | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(note);
  } catch {
    // Nothing written yet.
    return undefined;
  }
  if (typeof parsed !== "object" || parsed === null) return undefined;
  const at = parsed as Record<string, unknown>;
  const { host, pid, version } = at;
  return typeof host === "string" && typeof pid === "number" && typeof version === "string" ? { host, pid, version } : undefined;
}

/** Whether a process of that id exists, also one of another user. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    return thrown instanceof Error && "code" in thrown && thrown.code === "EPERM";
  }
}
