import { ensurePrivateDirectory, type HostPaths } from "../../paths/index.ts";
import { GinError } from "../base/index.ts";
import { takeFirmly } from "./lock.ts";
import type { HeldLock, LockTaker } from "./types.ts";

/** Makes and verifies the host's directories and the socket's (0700 each). Throws PathsError when one is not ours alone. */
export function prepareHost(paths: HostPaths): void {
  ensurePrivateDirectory(paths.host);
  ensurePrivateDirectory(paths.data);
  ensurePrivateDirectory(paths.tokens);
  ensurePrivateDirectory(paths.socketDirectory);
}

/**
 * Takes the host for this process: its lock and that of its data directory (two hosts may have been pointed at one
 * with `--data`). Throws BUSY naming the daemon that has it.
 */
export function takeHost(paths: HostPaths, take: LockTaker): HeldLock {
  const host = takeFirmly(take, paths.lock, paths.host);
  if (!host.held) {
    const who = host.holder === undefined ? "" : ` (pid ${host.holder.pid}, version ${host.holder.version})`;
    throw new GinError("BUSY", `a daemon already serves this host${who}`, "use it, or end it with gin stop");
  }
  let data: ReturnType<typeof takeFirmly>;
  try {
    data = takeFirmly(take, paths.dataLock, paths.host);
  } catch (thrown) {
    host.release();
    throw thrown;
  }
  if (!data.held) {
    host.release();
    const who = data.holder === undefined ? "another host" : `the host ${data.holder.host}`;
    throw new GinError("BUSY", `${who} uses this data directory`, "name another with --data (GIN_DATA)");
  }
  const held = data;
  return {
    release() {
      held.release();
      host.release();
    },
  };
}
