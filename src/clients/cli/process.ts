import { type DaemonMetadata, processStart } from "../../paths/index.ts";

/** Whether the process that published itself still runs: the same id and the same start. False where the platform does not tell starts. */
export function verifiedAlive(daemon: DaemonMetadata): boolean {
  return daemon.process_start !== "" && processStart(daemon.pid) === daemon.process_start;
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
