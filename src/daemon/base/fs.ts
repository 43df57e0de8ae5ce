import type { BigIntStats } from "node:fs";

/**
 * The file system, as the rooms see it: the calls of node:fs that gin uses and no others, so that tests can fail the
 * n-th one, count them, or stop at them. Paths are byte-safe where a Buffer is accepted.
 * Short calls are synchronous (2 µs each; a hop through the thread pool costs more); the ones that wait for a disk are not.
 */
export interface Fs {
  openSync(path: string | Buffer, flags: number, mode?: number): number;
  closeSync(fd: number): void;
  fstatSync(fd: number): BigIntStats;
  lstatSync(path: string | Buffer): BigIntStats;
  /** Number of the kind of file system a path is on, as statfs(2) gives it. */
  fsTypeSync(path: string | Buffer): number;
  /** Undefined where nothing is: an error that is thrown only to be caught costs more than the call. Throws for anything else. */
  lstatIfThereSync(path: string | Buffer): BigIntStats | undefined;
  readSync(fd: number, into: Uint8Array, offset: number, length: number, position: number | null): number;
  writeSync(fd: number, from: Uint8Array, offset: number, length: number, position: number | null): number;
  fchmodSync(fd: number, mode: number): void;
  ftruncateSync(fd: number, length: number): void;
  readdirSync(path: string | Buffer): Buffer[];
  /** Names with whether each may be a directory: true as well where the file system does not say without a look at the entry. */
  readdirTypesSync(path: string | Buffer): { readonly name: Buffer; readonly directory: boolean }[];
  readlinkSync(path: string | Buffer): Buffer;
  symlinkSync(target: string | Buffer, path: string | Buffer): void;
  linkSync(from: string | Buffer, to: string | Buffer): void;
  renameSync(from: string | Buffer, to: string | Buffer): void;
  unlinkSync(path: string | Buffer): void;
  mkdirSync(path: string | Buffer, mode: number): void;
  rmdirSync(path: string | Buffer): void;
  /** Asynchronous because they wait for the disk. */
  read(fd: number, into: Uint8Array, offset: number, length: number, position: number | null): Promise<number>;
  fsync(fd: number): Promise<void>;
  fdatasync(fd: number): Promise<void>;
  /** For the store thread, which may block. */
  fsyncSync(fd: number): void;
  fdatasyncSync(fd: number): void;
}

/** What is asked of programs before one is started. */
export interface Programs {
  /** Absolute path without symlinks; undefined where nothing is, or nothing that may be looked at. */
  realpath(path: string): string | undefined;
  /** Whether a path is a regular file that this process may execute. */
  isExecutable(path: string): boolean;
}
