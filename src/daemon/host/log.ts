import * as fs from "node:fs";
import * as path from "node:path";
import { pino } from "pino";
import { ensurePrivateDirectory } from "../../paths/index.ts";
import { GinError, type Log, toGinError } from "../base/index.ts";

/** How the daemon logs. */
export interface LogOptions {
  /** HOST/logs/daemon.log. */
  readonly file: string;
  readonly level: "debug" | "info" | "warn" | "error";
  /** Bytes of one file before it is rotated. */
  readonly maxBytes: number;
  /** In the foreground each line goes to stderr too. */
  readonly stderr: boolean;
}

/** Rotated files kept beside the current one: daemon.log.1 is the youngest. */
const KEPT = 3;

/** The daemon's log: JSON lines, written before the call returns so that the last ones survive a crash. */
export interface DaemonLog extends Log {
  /** Lets go of the file; later lines go to stderr alone. */
  close(): void;
}

/** Opens the log (0600 in a 0700 directory). */
export function openLog(options: LogOptions): DaemonLog {
  ensurePrivateDirectory(path.dirname(options.file));
  const file = openFile(options);
  const stream = {
    write(line: string): void {
      file.write(line);
      if (options.stderr) writeStderr(line);
    },
  };
  const logger = pino(
    {
      level: options.level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: describeError },
    },
    stream,
  );
  return {
    debug: (facts, message) => logger.debug(facts, message),
    info: (facts, message) => logger.info(facts, message),
    warn: (facts, message) => logger.warn(facts, message),
    error: (facts, message) => logger.error(facts, message),
    close: () => file.close(),
  };
}

function openFile({ file, maxBytes }: LogOptions): RotatingFile {
  try {
    return new RotatingFile(file, maxBytes);
  } catch (cause) {
    const { reason, facts } = toGinError(cause);
    throw new GinError(reason, "the log file cannot be written", "make the host directory writable, or free space", {
      cause,
      facts,
    });
  }
}

/** What is logged of anything thrown: never its other properties, since the facts of an error may hold file content. */
function describeError(thrown: unknown): object {
  if (!(thrown instanceof Error)) return { message: String(thrown) };
  const { name, message, stack, cause } = thrown;
  const reason = thrown instanceof GinError ? { reason: thrown.reason } : {};
  const code = "code" in thrown && typeof thrown.code === "string" ? { code: thrown.code } : {};
  return { name, message, ...reason, ...code, stack, ...(cause === undefined ? {} : { cause: describeError(cause) }) };
}

/** A line on stderr. A closed or full pipe there must not end the daemon: the file has the line. */
export function writeStderr(line: string): void {
  try {
    fs.writeSync(2, line);
  } catch {
    // Nobody reads it.
  }
}

/** Appends lines to a file of bounded size. A full disk loses lines, never the daemon; the count is logged once there is room. */
class RotatingFile {
  readonly #path: string;
  readonly #maxBytes: number;
  #fd: number | undefined;
  #size = 0;
  #lost = 0;

  constructor(file: string, maxBytes: number) {
    this.#path = file;
    this.#maxBytes = maxBytes;
    this.#open();
  }

  write(line: string): void {
    if (this.#fd === undefined) return;
    const bytes = Buffer.from(line);
    try {
      if (this.#size > 0 && this.#size + bytes.length > this.#maxBytes) this.#rotate();
      if (this.#lost > 0)
        this.#append(Buffer.from(`${JSON.stringify({ level: 40, lost: this.#lost, msg: "log lines were lost" })}\n`));
      this.#lost = 0;
      this.#append(bytes);
    } catch {
      this.#lost++;
    }
  }

  close(): void {
    if (this.#fd !== undefined) fs.closeSync(this.#fd);
    this.#fd = undefined;
  }

  #append(bytes: Buffer): void {
    if (this.#fd !== undefined) this.#size += fs.writeSync(this.#fd, bytes);
  }

  #open(): void {
    this.#fd = fs.openSync(this.#path, "a", 0o600);
    this.#size = fs.fstatSync(this.#fd).size;
  }

  #rotate(): void {
    this.close();
    try {
      for (let at = KEPT; at > 1; at--) {
        if (fs.existsSync(`${this.#path}.${at - 1}`)) fs.renameSync(`${this.#path}.${at - 1}`, `${this.#path}.${at}`);
      }
      fs.renameSync(this.#path, `${this.#path}.1`);
    } finally {
      this.#open();
    }
  }
}
