import type { Fs } from "../../base/index.ts";
import type { SourceFailure } from "./source.ts";

/** What a failure means to people, with the command that mends it. */
export function explainFailure(fs: Fs, failure: SourceFailure): string {
  if (failure.what === "watch" && failure.errno === "ENOSPC")
    return limit(fs, "max_user_watches", "directories that may be watched", 524_288);
  if (failure.what === "watch" && failure.errno === "EMFILE")
    return limit(fs, "max_user_instances", "watchers a user may have", 1_024);
  if (failure.errno === "EMFILE" || failure.errno === "ENFILE")
    return "no file descriptors are left, so the disk is polled; raise the limit (ulimit -n) and restart the daemon";
  return `watching failed (${failure.errno}), so the disk is polled`;
}

function limit(fs: Fs, name: string, what: string, least: number): string {
  const now = readLimit(fs, `/proc/sys/fs/inotify/${name}`);
  const wanted = Math.max(least, (now ?? 0) * 2);
  const is = now === undefined ? "" : ` (${now})`;
  return `the system's limit of ${what}${is} is reached, so the disk is polled; run: sudo sysctl fs.inotify.${name}=${wanted}`;
}

function readLimit(fs: Fs, path: string): number | undefined {
  let fd: number;
  try {
    fd = fs.openSync(path, 0);
  } catch {
    // Not Linux, or no procfs: the advice stands without the figure.
    return undefined;
  }
  try {
    const into = Buffer.alloc(32);
    const said = Number(into.toString("latin1", 0, fs.readSync(fd, into, 0, into.byteLength, 0)));
    return Number.isSafeInteger(said) && said > 0 ? said : undefined;
  } finally {
    fs.closeSync(fd);
  }
}
