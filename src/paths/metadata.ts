import * as fs from "node:fs";
import { writePrivateFile } from "./private.ts";

/**
 * What a serving daemon tells of itself in HOST/daemon.json (0600). For finding the socket and for people: whether a
 * daemon lives is decided by the lock and by connecting, never by this file.
 */
export interface DaemonMetadata {
  readonly pid: number;
  /** Start time of the process as the kernel has it (see `processStart`); "" where it cannot be told. */
  readonly process_start: string;
  /** Wall milliseconds since 1970. */
  readonly started_ms: number;
  readonly version: string;
  readonly protocol: number;
  readonly socket: string;
  /** "" when no TCP port is open. */
  readonly endpoint: string;
  readonly mode: "foreground" | "on_demand";
}

/** Publishes; readers see the old file or the new one. */
export function writeMetadata(file: string, metadata: DaemonMetadata): void {
  writePrivateFile(file, `${JSON.stringify(metadata)}\n`);
}

/** The published metadata; undefined when there is none or it is not ours to understand. */
export function readMetadata(file: string): DaemonMetadata | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(fs.readFileSync(file, "utf8"));
  } catch {
    // Absent, or cut off by a power loss: the same as not published.
    return undefined;
  }
  return isMetadata(parsed) ? parsed : undefined;
}

function isMetadata(value: unknown): value is DaemonMetadata {
  if (typeof value !== "object" || value === null) return false;
  const at = value as Record<string, unknown>;
  const texts = ["process_start", "version", "socket", "endpoint", "mode"];
  return (
    texts.every((key) => typeof at[key] === "string") &&
    ["pid", "started_ms", "protocol"].every((key) => typeof at[key] === "number")
  );
}

/**
 * When a process started, in the kernel's clock ticks since boot, together with the boot's id, so that a reused process id is told
 * from the one recorded. "" when there is no such process or the platform does not say (no procfs).
 */
export function processStart(pid: number): string {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, "utf8");
    const boot = fs.readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    // The command's name is in parentheses and may hold blanks: fields are counted from its end; starttime is the 22nd.
    const ticks = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
    return ticks === undefined ? "" : `${boot}:${ticks}`;
  } catch {
    // No procfs, or no such process: both mean "cannot be told".
    return "";
  }
}
