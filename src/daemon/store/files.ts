import constants from "node:constants";
import { errnoOf, type Fs } from "../base/index.ts";

/** Open flags by use; these are the store's own files, so no confined walk is needed. */
export const OPEN_READ = constants.O_RDONLY;
export const OPEN_WRITE = constants.O_RDWR;
/** Makes the file; fails when something has its name. */
export const OPEN_NEW = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL;
const OPEN_REPLACE = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC;

/** Largest note that is read. */
const NOTE_BYTES = 64 * 1024;

/** True when something is at the path. */
export function exists(fs: Fs, path: string): boolean {
  try {
    fs.lstatSync(path);
    return true;
  } catch (thrown) {
    if (errnoOf(thrown) === "ENOENT") return false;
    throw thrown;
  }
}

/** Makes a directory (0700) unless it is there; its parent must be. */
export function ensureDirectory(fs: Fs, path: string): void {
  try {
    fs.mkdirSync(path, 0o700);
  } catch (thrown) {
    if (errnoOf(thrown) !== "EEXIST") throw thrown;
  }
}

/** Makes the names in a directory durable. */
export function syncDirectory(fs: Fs, path: string): void {
  const fd = fs.openSync(path, OPEN_READ);
  try {
    fs.fsyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
}

/** Writes all of the bytes at a position: one write may take fewer. */
export function writeAll(fs: Fs, fd: number, bytes: Uint8Array, position: number): void {
  let done = 0;
  while (done < bytes.length) done += fs.writeSync(fd, bytes, done, bytes.length - done, position + done);
}

/** Reads up to `length` bytes at a position; fewer only at the end of the file. */
export function readUpTo(fs: Fs, fd: number, length: number, position: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let done = 0;
  while (done < length) {
    const read = fs.readSync(fd, bytes, done, length - done, position + done);
    if (read === 0) break;
    done += read;
  }
  return bytes.subarray(0, done);
}

/** Replaces a small text file in one step (0600). Not synced: it says something of a living process. */
export function replaceText(fs: Fs, path: string, text: string): void {
  const fresh = `${path}.new`;
  const fd = fs.openSync(fresh, OPEN_REPLACE, 0o600);
  try {
    writeAll(fs, fd, Buffer.from(text), 0);
  } finally {
    fs.closeSync(fd);
  }
  fs.renameSync(fresh, path);
}

/** A small text file, "" when absent. */
export function readText(fs: Fs, path: string): string {
  try {
    const fd = fs.openSync(path, OPEN_READ);
    try {
      return Buffer.from(readUpTo(fs, fd, NOTE_BYTES, 0)).toString("utf8");
    } finally {
      fs.closeSync(fd);
    }
  } catch (thrown) {
    if (errnoOf(thrown) === "ENOENT") return "";
    throw thrown;
  }
}

/** Removes a file unless it is gone already. */
export function removeFile(fs: Fs, path: string): void {
  try {
    fs.unlinkSync(path);
  } catch (thrown) {
    if (errnoOf(thrown) !== "ENOENT") throw thrown;
  }
}
