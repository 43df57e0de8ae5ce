import { ensurePrivateDirectory, type HostPaths, readMetadata } from "../../paths/index.ts";
import { GinError } from "../base/index.ts";
import type { HeldLock, LockTaker } from "./types.ts";

/** Makes and verifies the host's directories (0700 each). Throws PathsError when one is not ours alone. */
export function prepareHost(paths: HostPaths): void {
  ensurePrivateDirectory(paths.host);
  ensurePrivateDirectory(paths.data);
  ensurePrivateDirectory(paths.tokens);
}

/**
 * Takes the host for this process: its lock and that of its data directory (two hosts may have been pointed at one
 * with `--data`). Throws BUSY naming the daemon that has it.
 */
export function takeHost(paths: HostPaths, take: LockTaker): HeldLock {
  const host = take(paths.lock);
  if (host === undefined)
    throw new GinError("BUSY", `a daemon already serves this host${whoServes(paths)}`, "use it, or stop it with gin stop");
  let data: HeldLock | undefined;
  try {
    data = take(paths.dataLock);
  } finally {
    if (data === undefined) host.release();
  }
  if (data === undefined)
    throw new GinError("BUSY", "another host's daemon uses this data directory", "name another with --data");
  const held = data;
  return {
    release() {
      held.release();
      host.release();
    },
  };
}

/** " (pid 12, version 0.1.0)" of the daemon that published itself last; "" when none did. */
function whoServes(paths: HostPaths): string {
  const metadata = readMetadata(paths.metadata);
  return metadata === undefined ? "" : ` (pid ${metadata.pid}, version ${metadata.version})`;
}
