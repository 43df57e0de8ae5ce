import { errnoOf, GinError, type Random } from "../../base/index.ts";
import type { Ground } from "./ground.ts";
import { type Held, lstatIfThere, O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY, toFileStat } from "./handles.ts";
import { invalid, ioError } from "./refuse.ts";
import { TEMP_PREFIX } from "./sensitive.ts";
import { checkNewName } from "./syntax.ts";
import type { Staged } from "./types.ts";
import { inDirectory, inParent, split } from "./walk.ts";

/** What gin itself makes: anything else that begins so belongs to somebody, and is only hidden. */
const TEMP_NAME = /^\.gin-tmp-[0-9a-f]{32}(?:-a\u00e9|-ae\u0301|-away)?$/u;

/** Bytes handed to one write(2). */
const WRITE_BYTES = 1 << 20;

/** Whether gin made a name. */
export function isTemp(name: string): boolean {
  return TEMP_NAME.test(name);
}

/** A fresh name: 128 random bits, so nobody can have planted anything there. */
export function tempName(random: Random): string {
  return TEMP_PREFIX + Buffer.from(random.bytes(16)).toString("hex");
}

/** Ending of the names that hold what was taken away from its place: after a crash they are somebody's content, not gin's own. */
const AWAY = "-away";

/** A fresh name for what is taken away. */
export function awayName(random: Random): string {
  return tempName(random) + AWAY;
}

/** Whether a temp's path is one of those. */
export function holdsTakenAway(temp: string): boolean {
  return temp.endsWith(AWAY);
}

/** Tries fresh names until `make` does not meet an existing one. Only a repeating Random gets past the first. */
function withFreshName<T>(random: Random, make: (name: string) => T): T {
  for (let attempt = 1; ; attempt++) {
    try {
      return make(tempName(random));
    } catch (thrown) {
      if (errnoOf(thrown) !== "EEXIST" || attempt === 16) throw thrown;
    }
  }
}

/** Makes a file nobody else has (O_EXCL, mode 0600 until its content is whole) and gives its descriptor. */
export function createExclusive(ground: Ground, directory: Held, name: string): number {
  return ground.fs.openSync(ground.handles.at(directory, name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
}

/** Writes all of `bytes` at the start of a descriptor. */
export function writeAll(ground: Ground, fd: number, bytes: Uint8Array): void {
  for (let offset = 0; offset < bytes.byteLength; ) {
    offset += ground.fs.writeSync(fd, bytes, offset, Math.min(WRITE_BYTES, bytes.byteLength - offset), offset);
  }
}

/** `at` a temp's directory and name; PATH_INVALID for a path gin did not mint. */
export function inTempParent<T>(ground: Ground, temp: string, use: (directory: Held, name: string) => T): T {
  const { directory, name } = split(temp);
  if (!isTemp(name)) throw invalid(temp, "is none of gin's temps");
  return inDirectory(ground, directory, (held) => {
    try {
      return use(held, name);
    } catch (thrown) {
      throw ioError(thrown, temp);
    }
  });
}

/** Writes a content beside its target. When anything fails nothing is left. */
export function stage(ground: Ground, path: string, bytes: Uint8Array, mode: number): Staged {
  return inParent(ground, path, (directory, name) => {
    checkTarget(ground, directory, path, name);
    return withFreshName(ground.random, (temp) => {
      const fd = createExclusive(ground, directory, temp);
      try {
        ground.failPoints.hit("stage.created");
        writeAll(ground, fd, bytes);
        // After the write: writing would clear set-id bits. On the descriptor: the umask has no say.
        ground.fs.fchmodSync(fd, mode & 0o7777);
        ground.failPoints.hit("stage.written");
        return stagedAt(path, temp, toFileStat(ground.fs.fstatSync(fd)));
      } catch (thrown) {
        ground.fs.unlinkSync(ground.handles.at(directory, temp));
        throw thrown;
      } finally {
        ground.fs.closeSync(fd);
      }
    });
  });
}

/** The same for a symlink. */
export function stageLink(ground: Ground, path: string, target: string): Staged {
  if (target === "" || target.includes("\0") || /\p{Surrogate}/u.test(target))
    throw invalid(path, "would be a symlink to nothing that can be named");
  return inParent(ground, path, (directory, name) => {
    checkTarget(ground, directory, path, name);
    return withFreshName(ground.random, (temp) => {
      const at = ground.handles.at(directory, temp);
      ground.fs.symlinkSync(target, at);
      ground.failPoints.hit("stage.created");
      return stagedAt(path, temp, toFileStat(ground.fs.lstatSync(at)));
    });
  });
}

/** A name that is not there yet must be one that may be made. */
function checkTarget(ground: Ground, directory: Held, path: string, name: string): void {
  if (/^[\x20-\x5b\x5d-\x7e]*$/.test(name)) return;
  if (lstatIfThere(ground.fs, ground.handles.at(directory, name)) === undefined) checkNewName(path, name);
}

function stagedAt(path: string, temp: string, stat: { readonly inode: bigint; readonly device: bigint }): Staged {
  const { directory } = split(path);
  return { path, temp: directory === "" ? temp : `${directory}/${temp}`, inode: stat.inode, device: stat.device };
}

/** Removes a temp; one that is gone, or whose directory is, is fine. */
export function discard(ground: Ground, temp: string): void {
  const removed = ifThere(() =>
    inTempParent(ground, temp, (directory, name) => {
      ground.fs.unlinkSync(ground.handles.at(directory, name));
      return true;
    }),
  );
  // Others may have moved it, and its directory with it.
  if (removed !== true) ground.litter.left = true;
}

/** Runs `act`; gives undefined when what it is about is not there. */
export function ifThere<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch (thrown) {
    if (thrown instanceof GinError && thrown.reason === "PATH_NOT_FOUND") return undefined;
    throw thrown;
  }
}
