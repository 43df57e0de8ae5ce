import * as fs from "node:fs";
import type { Server } from "node:net";
import * as path from "node:path";
import { ensurePrivateDirectory, SOCKET_PATH_MAX } from "../../paths/index.ts";
import { GinError } from "../base/index.ts";

/** A published socket. */
export interface BoundSocket {
  readonly path: string;
  /** Removes the name, if it is still ours. Call it while the host's lock is held. */
  unlink(): void;
}

/**
 * Binds a server to a Unix socket so that whoever finds the name can connect: a temporary name, 0600, then a rename over
 * whatever an earlier daemon left. Only the holder of the host's lock may call it.
 */
export async function bindSocket(server: Server, file: string): Promise<BoundSocket> {
  const directory = path.dirname(file);
  ensurePrivateDirectory(directory);
  const temp = path.join(directory, `.${process.pid.toString(36)}.tmp`);
  if (Buffer.byteLength(temp) > SOCKET_PATH_MAX + 4) throw new GinError("INTERNAL", "the temporary socket name is too long");
  fs.rmSync(temp, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(temp, () => {
      server.off("error", reject);
      resolve();
    });
  });
  fs.chmodSync(temp, 0o600);
  const inode = fs.lstatSync(temp).ino;
  fs.renameSync(temp, file);
  return {
    path: file,
    unlink() {
      if (fs.lstatSync(file, { throwIfNoEntry: false })?.ino === inode) fs.rmSync(file, { force: true });
    },
  };
}
