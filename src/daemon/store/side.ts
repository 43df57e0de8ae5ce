import type { FailPoint, Fs } from "../base/index.ts";
import {
  ensureDirectory,
  exists,
  OPEN_NEW,
  OPEN_READ,
  OPEN_WRITE,
  readUpTo,
  removeFile,
  syncDirectory,
  writeAll,
} from "./files.ts";
import type { Database } from "./sqlite.ts";
import type { Hash } from "./types.ts";

/** Contents above this go to the side store: in SQLite they would bloat the WAL and stall every commit behind them. */
export const SIDE_ABOVE_BYTES = 1024 * 1024;
/** A segment that has reached this is left for the next one; one save's contents are never split over segments. */
const SEGMENT_BYTES = 64 * 1024 * 1024;

/** Where contents were put. */
export interface SidePlace {
  readonly segment: number;
  readonly offset: number;
}

/** Where a data directory keeps its segments. */
export function sideDirectory(directory: string): string {
  return `${directory}/side`;
}

/** File of a segment; numbers start at 1. */
export function segmentFile(directory: string, segment: number): string {
  return `${sideDirectory(directory)}/${String(segment).padStart(6, "0")}.seg`;
}

/**
 * The writing end of the side store; lives in the store thread.
 * Contents are appended to one segment and synced once a commit, before the transaction whose rows name (segment, offset,
 * size). A crash in between leaves a tail that no row names: the next append writes over it. Segments are made, and their
 * names synced, ahead of their use (`prepare`), so that a save never pays for a directory's fsync.
 */
export class SideWriter {
  private readonly fs: Fs;
  private readonly directory: string;
  private readonly hit: (point: FailPoint) => void;
  private readonly delay: () => void;
  private segment = 1;
  private end = 0;
  /** Of the running command: where its contents are, and the end they reach. */
  private readonly placed = new Map<Hash, SidePlace>();
  private reach = 0;
  /** Of the current segment. */
  private fd: number | undefined;
  /** Number of the newest segment that is made and whose name is durable. */
  private made = 0;
  /** Segments that no row will name once the running command's transaction is on disk. */
  private readonly emptied: number[] = [];
  /** Backups that copy segments now: while there are any, none may go. */
  copies = 0;

  /** `delay` is called at each sync (slowSyncMs). The schema must be there. */
  constructor(fs: Fs, directory: string, db: Database, hit: (point: FailPoint) => void, delay: () => void) {
    this.fs = fs;
    this.directory = directory;
    this.hit = hit;
    this.delay = delay;
    const last = db.prepare("SELECT id, bytes FROM segment ORDER BY id DESC LIMIT 1").get() as
      | { id: number; bytes: number }
      | undefined;
    if (last !== undefined) {
      this.segment = last.id;
      this.end = last.bytes;
    }
  }

  /** True when there is something for `prepare` to do. */
  get unprepared(): boolean {
    return this.made < this.segment + 1;
  }

  /** Makes the current segment and the next one. Called when the store thread has nothing else to do. */
  prepare(): void {
    if (!this.unprepared) return;
    ensureDirectory(this.fs, sideDirectory(this.directory));
    for (const segment of [this.segment, this.segment + 1]) {
      const file = segmentFile(this.directory, segment);
      if (!exists(this.fs, file)) this.fs.closeSync(this.fs.openSync(file, OPEN_NEW, 0o600));
    }
    syncDirectory(this.fs, sideDirectory(this.directory));
    syncDirectory(this.fs, this.directory);
    this.made = this.segment + 1;
  }

  /** Appends contents and syncs them, one fdatasync for all. They count once `settle(true)` is called. */
  append(contents: ReadonlyMap<Hash, Uint8Array>): void {
    if (this.end >= SEGMENT_BYTES) this.next();
    if (this.made < this.segment) this.prepare();
    this.fd ??= this.fs.openSync(segmentFile(this.directory, this.segment), OPEN_WRITE);
    let offset = this.end;
    for (const [sha256, bytes] of contents) {
      writeAll(this.fs, this.fd, bytes, offset);
      this.placed.set(sha256, { segment: this.segment, offset });
      offset += bytes.length;
    }
    this.reach = offset;
    this.hit("side.appended");
    this.delay();
    this.fs.fdatasyncSync(this.fd);
    this.hit("side.synced");
  }

  /** Where the running command's content was appended. */
  place(sha256: Hash): SidePlace | undefined {
    return this.placed.get(sha256);
  }

  /** The running command's transaction is over: what it appended counts, or is written over by the next one. */
  settle(committed: boolean): void {
    if (committed && this.placed.size > 0) this.end = this.reach;
    if (!committed) this.emptied.length = 0;
    this.placed.clear();
  }

  /** Number of the segment that is appended to: those before it never grow again. */
  get current(): number {
    return this.segment;
  }

  /** Leaves the current segment for the next one. Between two appends only. */
  roll(): void {
    this.next();
  }

  /** The bytes; fewer than `length` when the segment was cut. */
  read(segment: number, offset: number, length: number): Uint8Array {
    const fd = this.fs.openSync(segmentFile(this.directory, segment), OPEN_READ);
    try {
      return readUpTo(this.fs, fd, length, offset);
    } finally {
      this.fs.closeSync(fd);
    }
  }

  /** Numbers of the segments that have a file. */
  files(): number[] {
    if (!exists(this.fs, sideDirectory(this.directory))) return [];
    const names = this.fs.readdirSync(sideDirectory(this.directory)).map((name) => name.toString());
    return names.filter((name) => /^\d{6,}\.seg$/.test(name)).map((name) => Number.parseInt(name, 10));
  }

  /** Has a segment unlinked after the running command's transaction; that one must be durable if it is what frees it. */
  unlinkLater(segment: number): void {
    this.emptied.push(segment);
  }

  /** Unlinks what was asked for, the transaction being on disk. Not synced: a file that comes back is found again. */
  unlinkNow(): void {
    for (const segment of this.emptied.splice(0)) {
      this.hit("gc.unlinked");
      removeFile(this.fs, segmentFile(this.directory, segment));
    }
  }

  close(): void {
    if (this.fd !== undefined) this.fs.closeSync(this.fd);
    this.fd = undefined;
  }

  private next(): void {
    this.close();
    this.segment++;
    this.end = 0;
  }
}

/** The reading end: keeps the files of segments open, which never change where rows name them. */
export class SideReader {
  private readonly fs: Fs;
  private readonly directory: string;
  private readonly open = new Map<number, number>();

  constructor(fs: Fs, directory: string) {
    this.fs = fs;
    this.directory = directory;
  }

  /** The bytes; fewer than `length` when the segment was cut, which the caller's hash check finds. */
  read(segment: number, offset: number, length: number): Uint8Array {
    let fd = this.open.get(segment);
    if (fd === undefined) {
      fd = this.fs.openSync(segmentFile(this.directory, segment), OPEN_READ);
      this.open.set(segment, fd);
    }
    return readUpTo(this.fs, fd, length, offset);
  }

  /** Lets go of every file: one that was unlinked takes its place on the disk until then. Reading goes on. */
  close(): void {
    for (const fd of this.open.values()) this.fs.closeSync(fd);
    this.open.clear();
  }
}
