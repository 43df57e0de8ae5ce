import { fstatSync, writeSync } from "node:fs";
import { Socket } from "node:net";
import type { Writable } from "node:stream";
import { pollPipe } from "./poll.ts";

/** Bytes that may wait for the host before nothing more is read from it. */
const HIGH_WATER_BYTES = 1_048_576;

/** Milliseconds between looks at a standard output that cannot tell by itself that its reader left. */
const PROBE_MS = 250;

const NOTHING = new Uint8Array(0);

/**
 * Standard output: one promise for everyone who waits for room, and the news that the reader left. A socket pair (what Node hosts give)
 * tells at once; of a pipe only poll(2) can tell, looked at while something runs; without koffi the next write finds out.
 */
export class Output {
  readonly #fd: number;
  readonly #stream: Writable;
  readonly #kind: "socket" | "pipe" | "other";
  #room: Promise<void> | undefined;
  #probe: NodeJS.Timeout | undefined;
  #gone = false;
  #onGone: (() => void) | undefined;
  /** A half-closed socket pair looks like one whose reader left, so from then on it is asked like a pipe. */
  #halfClosed = false;

  /** Takes over descriptor `fd`. */
  constructor(fd = 1) {
    this.#fd = fd;
    const stat = fstatSync(fd);
    this.#kind = stat.isSocket() ? "socket" : stat.isFIFO() ? "pipe" : "other";
    if (this.#kind === "other") {
      this.#stream = process.stdout;
    } else {
      const socket = new Socket({ fd, readable: this.#kind === "socket", writable: true, allowHalfOpen: true });
      // Hosts that shut down their unused direction (some do for every child) make this end while they still read.
      socket.on("end", () => {
        if (!isClosed(fd)) this.#halfClosed = true;
        else this.#leave();
      });
      if (this.#kind === "socket") socket.resume();
      this.#stream = socket;
    }
    // EPIPE, ECONNRESET and whatever else a write fails with: nobody will read this any more.
    this.#stream.on("error", () => this.#leave());
  }

  /** Called once when the reader is known to have left. */
  onGone(listener: () => void): void {
    this.#onGone = listener;
    if (this.#gone) listener();
  }

  /** True while too much waits for the host. */
  get full(): boolean {
    return !this.#gone && this.#stream.writableLength > HIGH_WATER_BYTES;
  }

  /** Writes a line; resolves when there is room for more, at once for a reader that left. */
  write(line: string): Promise<void> {
    if (!this.#gone) this.#stream.write(line);
    return this.room();
  }

  /** Resolves when no more than a little waits: everyone waits on the same promise. */
  room(): Promise<void> {
    if (!this.full) return Promise.resolve();
    this.#room ??= new Promise((resolve) => {
      const done = (): void => {
        this.#stream.off("drain", done).off("close", done).off("error", done);
        this.#room = undefined;
        resolve();
      };
      this.#stream.on("drain", done).on("close", done).on("error", done);
    });
    return this.#room;
  }

  /** Says whether calls run: a reader that leaves a pipe is looked for only then. */
  watch(running: boolean): void {
    if (!running || this.#gone || this.#kind === "other") {
      clearInterval(this.#probe);
      this.#probe = undefined;
      return;
    }
    this.#probe ??= setInterval(() => this.#look(), PROBE_MS).unref();
  }

  /** Resolves when everything written has reached the reader, or can reach nobody. */
  flushed(): Promise<void> {
    if (this.#gone) return Promise.resolve();
    return new Promise((resolve) => {
      this.#stream.once("close", resolve).once("error", resolve);
      this.#stream.write(NOTHING, () => resolve());
    });
  }

  #look(): void {
    if (this.#kind === "socket") {
      if (this.#halfClosed && isClosed(this.#fd)) this.#leave();
    } else if (pollPipe(this.#fd) === "closed") {
      this.#leave();
    }
  }

  #leave(): void {
    if (this.#gone) return;
    this.#gone = true;
    this.watch(false);
    this.#stream.destroy();
    this.#onGone?.();
  }
}

/** Whether a socket's peer is closed and not only half-closed: an empty write carries nothing and yet finds out. */
function isClosed(fd: number): boolean {
  try {
    writeSync(fd, NOTHING);
    return false;
  } catch (thrown) {
    // Full is not closed.
    return !(thrown instanceof Error && "code" in thrown && thrown.code === "EAGAIN");
  }
}
