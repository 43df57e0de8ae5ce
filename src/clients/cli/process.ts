import { readFileSync } from "node:fs";
import { type DaemonMetadata, processStart } from "../../paths/index.ts";

/** Whether the process that published itself still runs: the same id and the same start. False where the platform does not tell starts. */
export function verifiedAlive(daemon: DaemonMetadata): boolean {
  return daemon.process_start !== "" && processStart(daemon.pid) === daemon.process_start && !isZombie(daemon.pid);
}

/** A process that ended and that its parent has not asked about yet: it holds nothing any more. */
function isZombie(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return ["Z", "X"].includes(stat.slice(stat.lastIndexOf(")") + 2).charAt(0));
  } catch {
    // No such process any more, or no procfs: no zombie that could be told.
    return false;
  }
}

/** Whether it may still run: as above, and where starts cannot be told, whether the id is in use. */
export function maybeAlive(daemon: DaemonMetadata): boolean {
  if (daemon.process_start !== "") return verifiedAlive(daemon);
  try {
    process.kill(daemon.pid, 0);
    return true;
  } catch {
    // ESRCH, or a process of somebody else: not ours either way.
    return false;
  }
}

/** Waits until `ended` holds; false when it does not within `ms`. */
export async function until(ended: () => boolean, ms: number): Promise<boolean> {
  const end = performance.now() + ms;
  while (!ended()) {
    if (performance.now() > end) return false;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  return true;
}
