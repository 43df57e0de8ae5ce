import * as fs from "node:fs";
import { promisify } from "node:util";
import type { Fs, Programs } from "./fs.ts";

const read = promisify(fs.read);

/** No kind at all: a file system that keeps none in its directories. */
function isUntold(entry: fs.Dirent<Buffer>): boolean {
  return !(
    entry.isFile() ||
    entry.isSymbolicLink() ||
    entry.isSocket() ||
    entry.isFIFO() ||
    entry.isBlockDevice() ||
    entry.isCharacterDevice()
  );
}

/** The real file system. Only this module and the host room import node:fs; a lint rule holds the rest to the port. */
export const nodeFs: Fs = {
  openSync: (path, flags, mode) => fs.openSync(path, flags, mode),
  closeSync: (fd) => fs.closeSync(fd),
  fstatSync: (fd) => fs.fstatSync(fd, { bigint: true }),
  lstatSync: (path) => fs.lstatSync(path, { bigint: true }),
  fsTypeSync: (path) => fs.statfsSync(path).type,
  lstatIfThereSync: (path) => fs.lstatSync(path, { bigint: true, throwIfNoEntry: false }),
  readSync: (fd, into, offset, length, position) => fs.readSync(fd, into, offset, length, position),
  writeSync: (fd, from, offset, length, position) => fs.writeSync(fd, from, offset, length, position),
  fchmodSync: (fd, mode) => fs.fchmodSync(fd, mode),
  ftruncateSync: (fd, length) => fs.ftruncateSync(fd, length),
  readdirSync: (path) => fs.readdirSync(path, { encoding: "buffer" }),
  readdirTypesSync: (path) =>
    fs
      .readdirSync(path, { encoding: "buffer", withFileTypes: true })
      .map((entry) => ({ name: entry.name, directory: entry.isDirectory() || isUntold(entry) })),
  readlinkSync: (path) => fs.readlinkSync(path, { encoding: "buffer" }),
  symlinkSync: (target, path) => fs.symlinkSync(target, path),
  linkSync: (from, to) => fs.linkSync(from, to),
  renameSync: (from, to) => fs.renameSync(from, to),
  unlinkSync: (path) => fs.unlinkSync(path),
  mkdirSync: (path, mode) => {
    fs.mkdirSync(path, { mode });
  },
  rmdirSync: (path) => fs.rmdirSync(path),
  read: async (fd, into, offset, length, position) => (await read(fd, into, offset, length, position)).bytesRead,
  fsync: promisify(fs.fsync),
  fdatasync: promisify(fs.fdatasync),
  fsyncSync: (fd) => fs.fsyncSync(fd),
  fdatasyncSync: (fd) => fs.fdatasyncSync(fd),
};

/** The real programs. */
export const nodePrograms: Programs = {
  realpath(path) {
    try {
      return fs.realpathSync(path);
    } catch {
      // Whatever keeps it from being looked at keeps it from being started.
      return undefined;
    }
  },
  isExecutable(path) {
    try {
      fs.accessSync(path, fs.constants.X_OK);
      return fs.statSync(path).isFile();
    } catch {
      return false;
    }
  },
};
