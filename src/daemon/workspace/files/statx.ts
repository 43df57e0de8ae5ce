import { loadNative } from "./koffi.ts";
import type { FileStat } from "./types.ts";

/** Facts of a name in a directory held open, a symlink's as its own; undefined where they cannot be had this way, for whatever reason. */
export type Statx = (directoryFd: number, name: string) => FileStat | undefined;

/** Of statx(2), from linux/stat.h and linux/fcntl.h: the same on every Linux. */
const AT_SYMLINK_NOFOLLOW = 0x100;
const BASIC_STATS = 0x7ff;
const BYTES = 256;
/** Places in the answer: in bytes, in words of 8, and in words of 4. */
const MODE = 28;
const [INODE, SIZE, CTIME, MTIME] = [4, 5, 12, 14];
const [LINKS, CTIME_NS, MTIME_NS, MAJOR, MINOR] = [4, 26, 30, 34, 35];

const KINDS: ReadonlyMap<number, FileStat["kind"]> = new Map([
  [0o100000, "file"],
  [0o040000, "directory"],
  [0o120000, "symlink"],
]);

let loaded: Statx | undefined | "none";

/**
 * statx(2) by descriptor and name, a third of what lstat through the descriptor's name in procfs costs: a look at a whole tree is mostly
 * that. Loaded once a process; undefined where koffi (optional) or the C library's statx is missing.
 */
export function loadStatx(): Statx | undefined {
  loaded ??= load() ?? "none";
  return loaded === "none" ? undefined : loaded;
}

function load(): Statx | undefined {
  const native = loadNative("int statx(int, const char *, int, unsigned int, void *)");
  if (native === undefined) return undefined;
  const answer = new Uint8Array(BYTES);
  const words = new Uint32Array(answer.buffer);
  const longs = new BigInt64Array(answer.buffer);
  const mode = new Uint16Array(answer.buffer, MODE, 1);
  const long = (at: number): bigint => longs[at] ?? 0n;
  const word = (at: number): number => words[at] ?? 0;
  return (directoryFd, name) => {
    if (native.call(directoryFd, name, AT_SYMLINK_NOFOLLOW, BASIC_STATS, answer) !== 0) return undefined;
    const bits = mode[0] ?? 0;
    const kind = KINDS.get(bits & 0o170000) ?? "special";
    return {
      kind,
      size: Number(long(SIZE)),
      mode: bits & 0o7777,
      executable: kind === "file" && (bits & 0o111) !== 0,
      mtimeNs: long(MTIME) * 1_000_000_000n + BigInt(word(MTIME_NS)),
      ctimeNs: long(CTIME) * 1_000_000_000n + BigInt(word(CTIME_NS)),
      device: deviceOf(word(MAJOR), word(MINOR)),
      inode: BigInt.asUintN(64, long(INODE)),
      links: word(LINKS),
    };
  };
}

let device = { major: -1, minor: -1, number: 0n };

/** A device's number as makedev(3) makes it; most often that of the file before. */
function deviceOf(major: number, minor: number): bigint {
  if (device.major === major && device.minor === minor) return device.number;
  const [high, low] = [BigInt(major), BigInt(minor)];
  const number = ((high & ~0xfffn) << 32n) | ((high & 0xfffn) << 8n) | ((low & ~0xffn) << 12n) | (low & 0xffn);
  device = { major, minor, number };
  return number;
}
