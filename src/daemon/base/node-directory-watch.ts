import { isUtf8 } from "node:buffer";
import * as fs from "node:fs";
import type { DirectoryWatch } from "./directory-watch.ts";

/** Events Linux keeps for a process when it does not say. */
const QUEUED_EVENTS = 16_384;

const floodListeners = new Set<() => void>();
let threshold: number | undefined;
let heard = 0;

/**
 * libuv takes everything the system's queue holds in one go and does not pass on that it overflowed. A queue that was full therefore shows as
 * one turn of the event loop with very many events; half the queue's length counts as that, for events of closed watches take room in it unseen.
 */
function countEvent(): void {
  threshold ??= Math.max(1, Math.floor(queueLength() / 2));
  if (heard++ === 0) {
    setImmediate(() => {
      heard = 0;
    });
  }
  if (heard === threshold) for (const listener of floodListeners) listener();
}

function queueLength(): number {
  try {
    const said = Number(fs.readFileSync("/proc/sys/fs/inotify/max_queued_events", "latin1"));
    return Number.isSafeInteger(said) && said > 0 ? said : QUEUED_EVENTS;
  } catch {
    // No Linux, or no procfs: a guess on the safe side costs a scan at worst.
    return QUEUED_EVENTS;
  }
}

function nameOf(bytes: Buffer | string | null): string | undefined {
  if (bytes === null) return undefined;
  if (typeof bytes === "string") return bytes;
  return isUtf8(bytes) ? bytes.toString() : undefined;
}

/** The real thing, by fs.watch. Does not keep the process alive. */
export const nodeDirectoryWatch: DirectoryWatch = {
  watch(path, listener) {
    const watcher = fs.watch(path, { persistent: false, encoding: "buffer" }, (event, name) => {
      countEvent();
      listener.event(nameOf(name), event === "rename");
    });
    watcher.on("error", (error: NodeJS.ErrnoException) => listener.failed(error.code ?? "EIO"));
    return { close: () => watcher.close() };
  },
  onFlood(listener) {
    floodListeners.add(listener);
    return () => floodListeners.delete(listener);
  },
  directoriesIn(path) {
    const names: string[] = [];
    for (const entry of fs.readdirSync(path, { encoding: "buffer", withFileTypes: true })) {
      const name = entry.isDirectory() ? nameOf(entry.name) : undefined;
      if (name !== undefined) names.push(name);
    }
    return names;
  },
};
