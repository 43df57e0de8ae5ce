import { isUtf8 } from "node:buffer";
import { errnoOf, type Fs, GinError } from "../../base/index.ts";
import type { Ground } from "./ground.ts";
import { toFileStat } from "./handles.ts";
import { invalid, notADirectory, notAFile, notFound } from "./refuse.ts";
import { TEMP_PREFIX } from "./sensitive.ts";
import { inTempParent } from "./temps.ts";
import type { DiskEntry, FileStat, OpenFile, ReadFile } from "./types.ts";
import { type Spot, walk } from "./walk.ts";
import type { Writers } from "./writers.ts";

/** How often a file whose size changes under the reading is read again. */
const ATTEMPTS = 16;

/** Opens the regular file a walk ended at. */
export function openSpot(ground: Ground, { parent, name, path, held }: Spot): number {
  if (held === undefined) throw notFound(path);
  if (held.stat.kind !== "file" || parent === undefined) throw notAFile(path, held.stat.kind);
  return ground.handles.reopen(parent, name, held);
}

/** Reads a whole regular file; `admit` sees its canonical path before it is opened. */
export function readFile(ground: Ground, path: string, maxBytes: number, admit?: (canonical: string) => void): ReadFile {
  return walk(ground, path, "all", (spot) => {
    admit?.(spot.path);
    const fd = openSpot(ground, spot);
    try {
      return { path: spot.path, ...readWhole(ground.fs, fd, spot.path, maxBytes, spot.held?.stat) };
    } finally {
      ground.fs.closeSync(fd);
    }
  });
}

/**
 * The bytes of a descriptor and its facts from before they were read: a change meanwhile shows as other facts later, never as
 * old facts over new bytes. `first`: the facts of the same file from just now. Bounded by the size it said, so a file that grows without end cannot keep us.
 */
function readWhole(
  fs: Fs,
  fd: number,
  path: string,
  maxBytes: number,
  first: FileStat | undefined,
): { stat: FileStat; bytes: Buffer } {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const stat = attempt === 0 && first !== undefined ? first : toFileStat(fs.fstatSync(fd));
    if (stat.size > maxBytes) throw tooLarge(path, maxBytes);
    // One byte more than it said: filling it shows that the file grew.
    const into = Buffer.allocUnsafe(stat.size + 1);
    let filled = 0;
    while (filled < into.byteLength) {
      const count = fs.readSync(fd, into, filled, into.byteLength - filled, filled);
      filled += count;
      if (count === 0 || filled === stat.size) break;
    }
    if (filled === stat.size) return { stat, bytes: into.subarray(0, filled) };
  }
  throw new GinError("BUSY", `${path} is being written by somebody else all the time`, undefined, { facts: { path } });
}

function tooLarge(path: string, maxBytes: number): GinError {
  return new GinError("TOO_LARGE", `${path} is larger than ${maxBytes} bytes`, undefined, {
    facts: { limit: maxBytes, unit: "bytes" },
  });
}

/** Opens a regular file for reading in pieces. */
export function openFile(ground: Ground, path: string): OpenFile {
  const { fs } = ground;
  const { fd, stat, canonical } = walk(ground, path, "all", (spot) => {
    const opened = openSpot(ground, spot);
    try {
      return { fd: opened, stat: toFileStat(fs.fstatSync(opened)), canonical: spot.path };
    } catch (thrown) {
      fs.closeSync(opened);
      throw thrown;
    }
  });
  let open = true;
  return {
    path: canonical,
    stat,
    async read(offset, length) {
      if (!open) throw new GinError("INTERNAL", "a file was read after it was closed");
      const into = Buffer.allocUnsafe(length);
      let filled = 0;
      while (filled < length) {
        const count = await fs.read(fd, into, filled, length - filled, offset + filled);
        if (count === 0) break;
        filled += count;
      }
      return into.subarray(0, filled);
    },
    unchanged() {
      if (!open) return false;
      const now = toFileStat(fs.fstatSync(fd));
      if (now.size !== stat.size || now.mtimeNs !== stat.mtimeNs || now.ctimeNs !== stat.ctimeNs) return false;
      const there = statThere(ground, canonical);
      return there !== undefined && there.inode === stat.inode && there.device === stat.device;
    },
    close() {
      if (open) fs.closeSync(fd);
      open = false;
    },
  };
}

/** What is at a canonical path; undefined also when the way to it is another one now. */
function statThere(ground: Ground, path: string): FileStat | undefined {
  try {
    return walk(ground, path, "none", ({ held }) => held?.stat);
  } catch (thrown) {
    if (thrown instanceof GinError && (thrown.reason === "NOT_A_DIRECTORY" || thrown.reason === "PATH_NOT_FOUND"))
      return undefined;
    throw thrown;
  }
}

/** A symlink's target. */
export function readLink(ground: Ground, path: string): { path: string; target: string; stat: FileStat } {
  return walk(ground, path, "above", ({ parent, name, path: canonical, held }) => {
    if (held === undefined) throw notFound(canonical);
    if (held.stat.kind !== "symlink" || parent === undefined) throw notAFile(canonical, held.stat.kind);
    const target = ground.fs.readlinkSync(ground.handles.at(parent, name));
    if (!isUtf8(target)) throw invalid(canonical, "is a symlink whose target is not UTF-8");
    return { path: canonical, target: target.toString(), stat: held.stat };
  });
}

/** A directory's entries. */
export function list(ground: Ground, path: string): { path: string; entries: DiskEntry[]; skipped: number } {
  return walk(ground, path, "all", ({ path: canonical, held }) => {
    if (held === undefined) throw notFound(canonical);
    if (held.stat.kind !== "directory") throw notADirectory(canonical, held.stat.kind);
    const entries: DiskEntry[] = [];
    let skipped = 0;
    for (const bytes of ground.fs.readdirSync(ground.handles.self(held)).sort(Buffer.compare)) {
      if (!isUtf8(bytes)) {
        skipped++;
        continue;
      }
      const name = bytes.toString();
      if (name.startsWith(TEMP_PREFIX)) continue;
      // Gone since the directory was read: as if it had never been in it.
      const stat = ground.handles.look(held, name);
      if (stat === undefined) continue;
      entries.push({ name, stat, sensitive: ground.guard(canonical === "" ? name : `${canonical}/${name}`) });
    }
    return { path: canonical, entries, skipped };
  });
}

/** Reads a temp: a file's bytes, or those of a symlink's target. */
export function readTemp(ground: Ground, temp: string, maxBytes: number): ReadFile {
  return inTempParent(ground, temp, (directory, name) => {
    const held = ground.handles.hold(directory, name);
    if (held === undefined) throw notFound(temp);
    try {
      if (held.stat.kind === "symlink")
        return { path: temp, stat: held.stat, bytes: ground.fs.readlinkSync(ground.handles.at(directory, name)) };
      if (held.stat.kind !== "file") throw notAFile(temp, held.stat.kind);
      const fd = ground.handles.reopen(directory, name, held);
      try {
        return { path: temp, ...readWhole(ground.fs, fd, temp, maxBytes, held.stat) };
      } finally {
        ground.fs.closeSync(fd);
      }
    } finally {
      ground.handles.close(held);
    }
  });
}

/** Whether anybody could still write to a temp's file. */
export function tempWriters(ground: Ground, temp: string): Writers {
  return inTempParent(ground, temp, (directory, name) => {
    const held = ground.handles.hold(directory, name);
    if (held === undefined) throw notFound(temp);
    try {
      if (held.stat.kind !== "file") return "none";
      const fd = ground.handles.reopen(directory, name, held);
      try {
        return ground.writers(fd);
      } finally {
        ground.fs.closeSync(fd);
      }
    } catch (thrown) {
      // A file this user may not read: then nobody here can say who else has it.
      if (errnoOf(thrown) === "EACCES") return "unknown";
      throw thrown;
    } finally {
      ground.handles.close(held);
    }
  });
}
