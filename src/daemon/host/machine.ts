import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import * as fs from "node:fs";
import * as os from "node:os";
import { GinError } from "../base/index.ts";

/** Ids of this machine and of its present boot. */
export interface Machine {
  /** Changes with each boot: tells recovery whether what was applied but not synced may be gone. */
  readonly boot: string;
  /** Stays: tells whether the store came from another machine. Hashed, so that the machine's own id goes nowhere. */
  readonly machine: string;
}

/** Reads both. Throws UNSUPPORTED where the boot cannot be told: recovery would have to guess. */
export function readMachine(): Machine {
  const boot = process.platform === "darwin" ? sysctl("kern.bootsessionuuid") : text("/proc/sys/kernel/random/boot_id");
  if (boot === undefined) throw new GinError("UNSUPPORTED", "this system does not say which boot it is", "mount /proc");
  const id = process.platform === "darwin" ? sysctl("kern.uuid") : (text("/etc/machine-id") ?? text("/var/lib/dbus/machine-id"));
  // A container often has no machine id; its host name is what stays the same there.
  const machine = createHash("sha256")
    .update(id ?? `hostname:${os.hostname()}`)
    .digest("hex")
    .slice(0, 32);
  return { boot, machine };
}

/**
 * Identity of a data directory: its real path and inode. A copy or a restored backup has another, and then gets new
 * incarnations. Not its device number, which may change with a boot.
 */
export function dataIdentity(directory: string): string {
  const real = fs.realpathSync.native(directory);
  const stat = fs.lstatSync(real, { bigint: true });
  return createHash("sha256").update(`${real}\0${stat.ino}`).digest("hex").slice(0, 32);
}

function text(file: string): string | undefined {
  try {
    const found = fs.readFileSync(file, "utf8").trim();
    return found === "" ? undefined : found;
  } catch {
    // Not there on this system; the caller has the next source.
    return undefined;
  }
}

function sysctl(name: string): string | undefined {
  try {
    return execFileSync("/usr/sbin/sysctl", ["-n", name], { encoding: "utf8", env: {} }).trim() || undefined;
  } catch {
    // Not known to this version of macOS; the caller has the next source.
    return undefined;
  }
}
