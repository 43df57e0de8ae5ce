import { chmodSync, lstatSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { GinError, toGinError } from "../base/index.ts";

/** Bytes of a socket's path that every system takes. */
const PATH_MAX = 103;

/** A socket bound under a name of its own, to be moved to where clients look. */
export interface SocketName {
  /** Bind here. */
  readonly temporary: string;
  /** Makes it 0600 and renames it into place. Throws GinError IO_FAILED. */
  publish(): void;
  /** Takes the name away, unless another socket stands there by now. */
  remove(): void;
}

/**
 * Names for binding a Unix socket. `path` lies in a directory that only its owner can enter, and the caller holds the
 * lock that makes it the only daemon there: so what stands at `path` is a leftover.
 */
export function socketName(path: string): SocketName {
  const temporary = join(dirname(path), `.${basename(path).slice(0, 8)}.${process.pid.toString(36)}`);
  if (Buffer.byteLength(path) > PATH_MAX || Buffer.byteLength(temporary) > PATH_MAX) {
    throw new GinError("INVALID_REQUEST", "the socket's path is too long for a socket", "use a shorter runtime directory", {
      facts: { limit: PATH_MAX },
    });
  }
  rmSync(temporary, { force: true });
  let inode: bigint | undefined;
  return {
    temporary,
    publish() {
      try {
        chmodSync(temporary, 0o600);
        inode = lstatSync(temporary, { bigint: true }).ino;
        renameSync(temporary, path);
      } catch (thrown) {
        throw toGinError(thrown);
      }
    },
    remove() {
      if (lstatSync(path, { bigint: true, throwIfNoEntry: false })?.ino === inode && inode !== undefined)
        rmSync(path, { force: true });
    },
  };
}
