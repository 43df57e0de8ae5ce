import { type FailPoint, type Fs, GinError, nodeFs } from "../base/index.ts";
import { backup, STORE_FILE } from "./commands/backup.ts";
import { HANDLERS, type Transaction } from "./commands/index.ts";
import { storeError } from "./errors.ts";
import { ensureDirectory, exists } from "./files.ts";
import { Garbage } from "./gc/garbage.ts";
import { setMeta } from "./meta.ts";
import { checkVersion, configureFile, configureWriter, migrate } from "./schema.ts";
import { SIDE_ABOVE_BYTES, SideWriter } from "./side.ts";
import { type Database, loadSqlite, type Statement } from "./sqlite.ts";
import type { Commands, NewObject, StoreOptions } from "./types.ts";
import { checkpointWal } from "./wal.ts";
import type { Handler, Work } from "./work.ts";

/** What the store thread is started with: plain values only. */
export interface WriterOptions extends Pick<StoreOptions, "directory" | "failAt" | "slowSyncMs"> {
  /** For a new store. */
  readonly storeId: string;
  readonly cursorKey: Uint8Array;
  readonly nowMs: number;
}

/** WAL bytes (as estimated) after which the idle thread, and after which any commit, moves the WAL into the file. */
const WAL_IDLE_BYTES = 16 * 1024 * 1024;
const WAL_BUSY_BYTES = 64 * 1024 * 1024;
/** Index and row pages a transaction writes beside its contents. */
const WAL_TRANSACTION_BYTES = 64 * 1024;

/**
 * The one connection that writes. Runs one command at a time, each a transaction of its own.
 * States: working → broken, at the first answer of the disk or of SQLite that leaves open what is on disk (a failed sync is
 * never tried again); nothing leaves "broken" but a new start, whose recovery reads the truth.
 */
export class Writer {
  private readonly work: Work;
  private readonly db: Database;
  private readonly side: SideWriter;
  private readonly options: WriterOptions;
  private readonly statements = new Map<string, Statement>();
  private broken: GinError | undefined;
  private level: "FULL" | "NORMAL" = "FULL";
  private walBytes = 0;
  private hits = 0;
  private readonly begin: Statement;
  private readonly end: Statement;

  /** Opens the store, making or migrating it. Throws STORE_TOO_NEW, STORE_CORRUPT, STORE_READ_ONLY, DISK_FULL, IO_FAILED. `fs` is for side files. */
  constructor(options: WriterOptions, fs: Fs = nodeFs) {
    this.options = options;
    const hit = (point: FailPoint) => this.hit(point);
    const delay = () => this.delay();
    try {
      this.db = openForWriting(options);
      this.walBytes = walSize(options.directory);
      this.side = new SideWriter(fs, options.directory, this.db, hit, delay);
    } catch (thrown) {
      throw storeError(thrown);
    }
    const { db, side } = this;
    const garbage = new Garbage();
    this.work = { db, side, garbage, directory: options.directory, hit, statement: (sql) => this.statement(sql) };
    this.begin = this.statement("BEGIN IMMEDIATE");
    this.end = this.statement("COMMIT");
  }

  /** Runs one transaction to its end. Throws a GinError; then nothing of it was written. */
  run<K extends Transaction>(command: K, value: Commands[K]["in"]): Commands[K]["out"] {
    if (this.broken !== undefined) throw this.broken;
    const handler: Handler<K> = HANDLERS[command];
    try {
      const objects = handler.objects?.(value) ?? [];
      this.place(objects);
      const durable = typeof handler.durable === "boolean" ? handler.durable : handler.durable(value);
      this.setLevel(durable ? "FULL" : "NORMAL");
      this.begin.run();
      const result = handler.run(this.work, value);
      if (durable) this.delay();
      this.end.run();
      this.side.settle(true);
      this.count(objects);
      handler.after?.(this.work);
      return result;
    } catch (thrown) {
      throw this.failed(thrown);
    }
  }

  /** Copies the store; other commands run between its steps. */
  async backup(value: Commands["backup"]["in"]): Promise<Commands["backup"]["out"]> {
    this.side.copies++;
    try {
      return await backup(this.work, value);
    } catch (thrown) {
      throw storeError(thrown);
    } finally {
      this.side.copies--;
    }
  }

  /** Called when nothing waits: side segments ahead of their use, and the WAL kept short. */
  rest(): void {
    if (this.broken !== undefined) return;
    if (this.walBytes > WAL_IDLE_BYTES) this.tryCheckpoint();
    try {
      if (this.side.unprepared) this.side.prepare();
    } catch (thrown) {
      // Not asked for by anybody: the save that needs the segment tries again, and is told.
      this.failed(thrown);
    }
  }

  /** Moves the WAL into the file and lets go of both. */
  close(): void {
    if (!this.db.open) return;
    this.side.close();
    this.db.close();
  }

  private statement(sql: string): Statement {
    let found = this.statements.get(sql);
    if (found === undefined) {
      found = this.db.prepare<unknown[], unknown>(sql);
      this.statements.set(sql, found);
    }
    return found;
  }

  private place(objects: readonly NewObject[]): void {
    const fresh = new Map<string, Uint8Array>();
    for (const { sha256, bytes } of objects) {
      if (bytes.length <= SIDE_ABOVE_BYTES || fresh.has(sha256)) continue;
      const known = this.statement("SELECT 1 FROM object WHERE sha256 = ?").get(Buffer.from(sha256, "hex"));
      if (known === undefined) fresh.set(sha256, bytes);
    }
    if (fresh.size > 0) this.side.append(fresh);
  }

  /** Only between transactions: SQLite ignores it inside one. */
  private setLevel(level: "FULL" | "NORMAL"): void {
    if (this.level === level) return;
    this.db.pragma(`synchronous = ${level}`);
    this.level = level;
  }

  private count(objects: readonly NewObject[]): void {
    this.walBytes += WAL_TRANSACTION_BYTES;
    for (const { bytes } of objects) if (bytes.length <= SIDE_ABOVE_BYTES) this.walBytes += bytes.length;
    if (this.walBytes > WAL_BUSY_BYTES) this.tryCheckpoint();
  }

  /** The transaction before it stands whatever comes of this. */
  private tryCheckpoint(): void {
    try {
      this.checkpoint();
    } catch (thrown) {
      this.failed(thrown);
    }
  }

  private checkpoint(): void {
    checkpointWal(this.work);
    this.walBytes = 0;
  }

  private failed(thrown: unknown): GinError {
    const error = storeError(thrown);
    if (error.reason === "IO_FAILED" || error.reason === "STORE_CORRUPT") this.broken = error;
    try {
      // SQLite has already ended it after some errors.
      if (this.db.inTransaction) this.db.exec("ROLLBACK");
      this.side.settle(false);
      // Its slice may be undone, or its needs may lack what this transaction was to say.
      this.work.garbage.giveUp();
    } catch (again) {
      this.broken = storeError(again);
    }
    return error;
  }

  private delay(): void {
    const { slowSyncMs = 0 } = this.options;
    if (slowSyncMs > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, slowSyncMs);
  }

  private hit(point: FailPoint): void {
    const failAt = this.options.failAt;
    if (failAt === undefined || failAt.point !== point || ++this.hits !== failAt.nth) return;
    if (failAt.how === "exit") process.kill(process.pid, "SIGKILL");
    throw new GinError("INTERNAL", `stopped at ${point}`);
  }
}

function openForWriting(options: WriterOptions): Database {
  const { directory } = options;
  const file = `${directory}/${STORE_FILE}`;
  ensureDirectory(nodeFs, directory);
  if (exists(nodeFs, file)) lookOnly(file);
  const db = loadSqlite().open(file, { timeout: 5000 });
  try {
    if (checkVersion(db) === 0) configureFile(db);
    configureWriter(db);
    migrate(db, () => {
      setMeta(db, "storeId", options.storeId);
      setMeta(db, "cursorKey", options.cursorKey);
      setMeta(db, "createdMs", options.nowMs);
      setMeta(db, "requestsKeptSinceMs", options.nowMs);
      setMeta(db, "leaseIncarnation", "");
    });
    // A read-only store must be found now, not by the first save.
    db.exec("BEGIN IMMEDIATE; COMMIT");
    return db;
  } catch (thrown) {
    db.close();
    throw thrown;
  }
}

/** What a killed daemon left; a look at the name opens nothing. */
function walSize(directory: string): number {
  const wal = `${directory}/${STORE_FILE}-wal`;
  return exists(nodeFs, wal) ? Number(nodeFs.lstatSync(wal).size) : 0;
}

/** A writing connection may change a store even without a statement (it moves the WAL when it closes); this one may not. */
function lookOnly(file: string): void {
  const db = loadSqlite().open(file, { readonly: true, fileMustExist: true, timeout: 5000 });
  try {
    checkVersion(db);
  } finally {
    db.close();
  }
}
