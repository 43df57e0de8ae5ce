import { errnoOf } from "../../base/index.ts";
import type { Ground } from "./ground.ts";
import { type Held, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, toFileStat } from "./handles.ts";
import { createExclusive } from "./temps.ts";

/** What link(2) answers where there are no hard links, or not for this file. */
const NO_LINKS = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK", "EACCES"]);

/** Bytes copied at a time. */
const COPY_BYTES = 1 << 20;

/**
 * Moves an entry to a name where nothing may be, possibly in another directory; false when something is there. Tries
 * renameat2 without replacing, then link and unlink, then, where links are refused, an exclusive copy: the only one that
 * shows a half-written file for a moment, which recovery repairs.
 */
export function putNew(ground: Ground, from: Held, temp: string, to: Held, name: string): boolean {
  const { fs, handles, swap } = ground;
  const result = swap?.noReplace(from.fd, temp, to.fd, name) ?? "refused";
  if (result === "done") return true;
  if (result === "exists") return false;
  // For every other answer link(2) either works or says the reason in Node's own words.
  try {
    fs.linkSync(handles.at(from, temp), handles.at(to, name));
  } catch (thrown) {
    const errno = errnoOf(thrown) ?? "";
    if (errno === "EEXIST") return false;
    if (!NO_LINKS.has(errno)) throw thrown;
    if (!copyNew(ground, from, temp, to, name)) return false;
  }
  try {
    fs.unlinkSync(handles.at(from, temp));
  } catch (thrown) {
    // It is in place: that is the answer. A temp name that stays behind is swept when the root is opened next.
    if (errnoOf(thrown) === undefined) throw thrown;
    ground.litter.left = true;
  }
  return true;
}

function copyNew(ground: Ground, from: Held, temp: string, to: Held, name: string): boolean {
  const { fs, handles } = ground;
  const source = handles.at(from, temp);
  try {
    const stat = toFileStat(fs.lstatSync(source));
    if (stat.kind === "symlink") fs.symlinkSync(fs.readlinkSync(source), handles.at(to, name));
    else copyFile(ground, source, stat.mode, to, name);
    return true;
  } catch (thrown) {
    if (errnoOf(thrown) === "EEXIST") return false;
    throw thrown;
  }
}

function copyFile(ground: Ground, source: string | Buffer, mode: number, to: Held, name: string): void {
  const { fs, handles } = ground;
  const reading = fs.openSync(source, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const writing = createExclusive(ground, to, name);
    try {
      const piece = Buffer.allocUnsafe(COPY_BYTES);
      for (let offset = 0; ; ) {
        const count = fs.readSync(reading, piece, 0, piece.byteLength, offset);
        if (count === 0) break;
        for (let done = 0; done < count; ) done += fs.writeSync(writing, piece, done, count - done, offset + done);
        offset += count;
      }
      fs.fchmodSync(writing, mode);
    } catch (thrown) {
      fs.unlinkSync(handles.at(to, name));
      throw thrown;
    } finally {
      fs.closeSync(writing);
    }
  } finally {
    fs.closeSync(reading);
  }
}
