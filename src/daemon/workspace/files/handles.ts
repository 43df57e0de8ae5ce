import constants from "node:constants";
import { errnoOf, type Fs } from "../../base/index.ts";
import { missingRoot, outside } from "./refuse.ts";
import type { Statx } from "./statx.ts";
import type { FileStat, FilesFeatures } from "./types.ts";

/** Flags of open(2) on this machine; their values differ between processors. */
export const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;

/** Names a thing without opening it: no device is woken, no FIFO's writer let go. The same on every Linux; Node does not name it. */
const O_PATH = 0o10000000;

const S_IFMT = 0o170000n;
const S_IFREG = 0o100000n;
const S_IFDIR = 0o040000n;
const S_IFLNK = 0o120000n;

/** What stat says, in gin's words. */
export function toFileStat(stat: ReturnType<Fs["fstatSync"]>): FileStat {
  const type = stat.mode & S_IFMT;
  const kind = type === S_IFREG ? "file" : type === S_IFDIR ? "directory" : type === S_IFLNK ? "symlink" : "special";
  const mode = Number(stat.mode & 0o7777n);
  return {
    kind,
    size: Number(stat.size),
    mode,
    executable: kind === "file" && (mode & 0o111) !== 0,
    mtimeNs: stat.mtimeNs,
    ctimeNs: stat.ctimeNs,
    device: stat.dev,
    inode: stat.ino,
    links: Number(stat.nlink),
  };
}

/** What is at a path a call can use, a symlink as itself; undefined when nothing is. */
export function lstatIfThere(fs: Fs, path: string | Buffer): FileStat | undefined {
  try {
    return toFileStat(fs.lstatSync(path));
  } catch (thrown) {
    if (errnoOf(thrown) === "ENOENT") return undefined;
    throw thrown;
  }
}

/** Something on disk that is held: by a descriptor, or (weaker walk, anything but a directory) by its identity only. */
export interface Held {
  /** Descriptor, or -1. */
  readonly fd: number;
  readonly stat: FileStat;
  /** Its path on the machine, as bytes where it is not UTF-8; only the weaker walk uses it. */
  readonly base: string | Buffer;
}

/** The calls a walk stands on. One implementation a system; all others go through these. */
export interface Handles {
  readonly confinement: FilesFeatures["confinement"];
  /** The path by which a call reaches `name` in a held directory, whatever happens to the names above it meanwhile. */
  at(directory: Held, name: string | Buffer): string | Buffer;
  /** What `name` is in a directory, a symlink as itself, without holding it; undefined when nothing is there. Throws system errors. */
  look(directory: Held, name: string): FileStat | undefined;
  /** Holds what `name` is in a directory, a symlink as itself; undefined when nothing is there. Throws system errors. */
  hold(directory: Held, name: string | Buffer): Held | undefined;
  /** Opens a held file or directory for reading: the very same one. */
  reopen(directory: Held, name: string | Buffer, held: Held): number;
  /** Opens the directory itself (for reading its names or fsync). */
  self(directory: Held): string | Buffer;
  close(held: Held): void;
}

/** Linux: children are reached through the handle's name in procfs, which the kernel resolves to the open directory itself. */
export class ProcHandles implements Handles {
  readonly confinement = "handle-walk";
  readonly #fs: Fs;
  readonly #statx: Statx | undefined;

  constructor(fs: Fs, statx: Statx | undefined) {
    this.#fs = fs;
    this.#statx = statx;
  }

  /** Holds the root; undefined when this system has no procfs or no O_PATH. Throws when the directory cannot be opened. */
  static root(fs: Fs, path: string): Held | undefined {
    if (process.platform !== "linux") return undefined;
    const fd = fs.openSync(path, O_PATH | O_DIRECTORY);
    try {
      const stat = toFileStat(fs.fstatSync(fd));
      const seen = fs.lstatSync(`/proc/self/fd/${fd}/.`);
      if (seen.ino === stat.inode && seen.dev === stat.device) return { fd, stat, base: path };
    } catch (thrown) {
      fs.closeSync(fd);
      if (errnoOf(thrown) !== "ENOENT") throw thrown;
      return undefined;
    }
    fs.closeSync(fd);
    return undefined;
  }

  at(directory: Held, name: string | Buffer): string | Buffer {
    const prefix = `/proc/self/fd/${directory.fd}/`;
    return typeof name === "string" ? prefix + name : Buffer.concat([Buffer.from(prefix), name]);
  }

  look(directory: Held, name: string): FileStat | undefined {
    // Whatever it cannot answer, the other call says in Node's own words.
    return this.#statx?.(directory.fd, name) ?? lstatIfThere(this.#fs, this.at(directory, name));
  }

  hold(directory: Held, name: string | Buffer): Held | undefined {
    let fd: number;
    try {
      fd = this.#fs.openSync(this.at(directory, name), O_PATH | O_NOFOLLOW);
    } catch (thrown) {
      if (errnoOf(thrown) === "ENOENT") return undefined;
      throw thrown;
    }
    try {
      return { fd, stat: toFileStat(this.#fs.fstatSync(fd)), base: "" };
    } catch (thrown) {
      this.#fs.closeSync(fd);
      throw thrown;
    }
  }

  reopen(_directory: Held, _name: string | Buffer, held: Held): number {
    return this.#fs.openSync(`/proc/self/fd/${held.fd}`, O_RDONLY | O_NONBLOCK);
  }

  self(directory: Held): string {
    return `/proc/self/fd/${directory.fd}/.`;
  }

  close(held: Held): void {
    this.#fs.closeSync(held.fd);
  }
}

/**
 * Elsewhere: by path, with the identity (device, inode) of the directory compared before each use of a name in it. Weaker:
 * between the comparison and the use somebody may exchange a directory above; documented, and told in Capabilities.
 */
export class IdentityHandles implements Handles {
  readonly confinement = "identity-check";
  readonly #fs: Fs;
  readonly #root: string;

  /** `root`: the path the root was opened by. */
  constructor(fs: Fs, root: string) {
    this.#fs = fs;
    this.#root = root;
  }

  /** Holds the root. Throws when the directory cannot be opened. */
  static root(fs: Fs, path: string): Held {
    const fd = fs.openSync(path, O_RDONLY | O_DIRECTORY);
    try {
      return { fd, stat: toFileStat(fs.fstatSync(fd)), base: path };
    } catch (thrown) {
      fs.closeSync(fd);
      throw thrown;
    }
  }

  at(directory: Held, name: string | Buffer): string | Buffer {
    this.#recheck(directory);
    return below(directory.base, name);
  }

  look(directory: Held, name: string): FileStat | undefined {
    return lstatIfThere(this.#fs, this.at(directory, name));
  }

  hold(directory: Held, name: string | Buffer): Held | undefined {
    const path = this.at(directory, name);
    let stat: FileStat;
    try {
      stat = toFileStat(this.#fs.lstatSync(path));
    } catch (thrown) {
      if (errnoOf(thrown) === "ENOENT") return undefined;
      throw thrown;
    }
    if (stat.kind !== "directory") return { fd: -1, stat, base: "" };
    const fd = this.#fs.openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    try {
      const opened = toFileStat(this.#fs.fstatSync(fd));
      this.#recheck(directory);
      return { fd, stat: opened, base: path };
    } catch (thrown) {
      this.#fs.closeSync(fd);
      throw thrown;
    }
  }

  reopen(directory: Held, name: string | Buffer, held: Held): number {
    const fd = this.#fs.openSync(this.at(directory, name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    try {
      const opened = this.#fs.fstatSync(fd);
      if (opened.ino !== held.stat.inode || opened.dev !== held.stat.device)
        throw outside("the path", "was exchanged while it was opened");
      return fd;
    } catch (thrown) {
      this.#fs.closeSync(fd);
      throw thrown;
    }
  }

  self(directory: Held): string | Buffer {
    return this.at(directory, ".");
  }

  close(held: Held): void {
    if (held.fd >= 0) this.#fs.closeSync(held.fd);
  }

  #recheck(directory: Held): void {
    let now: ReturnType<Fs["lstatSync"]> | undefined;
    try {
      now = this.#fs.lstatSync(below(directory.base, "."));
    } catch (thrown) {
      if (directory.base !== this.#root || errnoOf(thrown) !== "ENOENT") throw thrown;
    }
    if (now?.ino === directory.stat.inode && now.dev === directory.stat.device) return;
    throw directory.base === this.#root
      ? missingRoot("is gone or was replaced")
      : outside("the path", "was exchanged while it was walked");
  }
}

/** `name` below a directory's path, in bytes when either is. */
function below(base: string | Buffer, name: string | Buffer): string | Buffer {
  if (typeof base === "string" && typeof name === "string") return `${base}/${name}`;
  return Buffer.concat([Buffer.from(base), Buffer.from("/"), Buffer.from(name)]);
}
