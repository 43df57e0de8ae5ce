import { isObject } from "../sdk/index.ts";
import type { Style } from "./output.ts";

/** One line of the daemon's log. Nothing in it is safe for a terminal yet. */
export interface LogEntry {
  /** As the daemon wrote it, ISO 8601. */
  readonly time: string;
  /** "info", "error"; a number that is no level of ours as it is. */
  readonly level: string;
  readonly style: Style;
  readonly message: string;
  /** Everything else but the process id; errors with their stacks. */
  readonly facts: { readonly [name: string]: unknown };
}

const LEVELS: { readonly [level: number]: readonly [name: string, style: Style] } = {
  20: ["debug", "dim"],
  30: ["info", "green"],
  40: ["warn", "yellow"],
  50: ["error", "red"],
  60: ["fatal", "red"],
};

/** Reads a line of the log; undefined for one that is not JSON, because a crash cut it off: to be shown as it is. */
export function logEntry(line: string): LogEntry | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (!isObject(value)) return undefined;
  const { time, level, msg, pid: _pid, ...facts } = value;
  const [name, style] = LEVELS[Number(level)] ?? ([String(level), "dim"] as const);
  return { time: String(time), level: name, style, message: String(msg), facts };
}
