import {
  AbstractMessageReader,
  AbstractMessageWriter,
  type DataCallback,
  type Disposable,
  type Message,
  type MessageReader,
  type MessageWriter,
} from "vscode-jsonrpc/node";
import type { Clock, OpenCommand } from "../../base/index.ts";
import { BrokenStream, Frames } from "./frames.ts";

/** Messages read and not yet handled from which on a server has to wait. */
const MOST_UNHANDLED = 256;
/** Bytes that may wait for a server to read them. */
const MOST_UNREAD = 64 * 1024 * 1024;
/** Milliseconds a server may leave what it is sent unread. */
const UNREAD_MS = 60_000;

/** Milliseconds in which a program that takes nothing any more may end by itself. */
const DEAF_MS = 1_000;

/** What a wire tells of itself. */
export interface WireListener {
  /** It cannot be used any more, and why: for people. Once. */
  broken(note: string): void;
  /** Something came. */
  heard(): void;
}

/** JSON-RPC over a program's pipes, with bounds both ways. */
export class Wire {
  readonly reader: MessageReader;
  readonly writer: MessageWriter;
  readonly #process: OpenCommand;
  #unhandled = 0;
  #paused = false;

  constructor(process: OpenCommand, clock: Clock, listener: WireListener) {
    this.#process = process;
    let broken = false;
    const once = (note: string): void => {
      if (broken) return;
      broken = true;
      listener.broken(note);
    };
    this.reader = new Reader(process, (count) => this.#took(count), { heard: () => listener.heard(), broken: once });
    this.writer = new Writer(process, clock, once);
  }

  /** To be called as each message is handled: a flood waits in the pipe, not in memory. */
  handled(): void {
    this.#unhandled -= 1;
    if (!this.#paused || this.#unhandled > MOST_UNHANDLED / 2) return;
    this.#paused = false;
    this.#process.resume();
  }

  #took(count: number): void {
    this.#unhandled += count;
    if (this.#paused || this.#unhandled < MOST_UNHANDLED) return;
    this.#paused = true;
    this.#process.pause();
  }
}

class Reader extends AbstractMessageReader implements MessageReader {
  readonly #process: OpenCommand;
  readonly #took: (count: number) => void;
  readonly #listener: WireListener;
  readonly #frames = new Frames();
  #ended = false;

  constructor(process: OpenCommand, took: (count: number) => void, listener: WireListener) {
    super();
    this.#process = process;
    this.#took = took;
    this.#listener = listener;
  }

  listen(callback: DataCallback): Disposable {
    this.#process.onOutput((bytes) => {
      if (this.#ended) return;
      this.#listener.heard();
      try {
        for (const body of this.#frames.push(bytes)) {
          const message = messageOf(body);
          this.#took(1);
          callback(message);
        }
      } catch (thrown) {
        this.#ended = true;
        this.#listener.broken(thrown instanceof BrokenStream ? thrown.message : "it sent a message that cannot be understood");
      }
    });
    return { dispose: () => this.dispose() };
  }

  override dispose(): void {
    this.#ended = true;
    super.dispose();
  }
}

function messageOf(body: Buffer): Message {
  let message: unknown;
  try {
    message = JSON.parse(body.toString("utf8"));
  } catch {
    throw new BrokenStream("it sent a message that is no JSON");
  }
  if (typeof message !== "object" || message === null || Array.isArray(message)) {
    throw new BrokenStream("it sent a message that is no JSON object");
  }
  return message as Message;
}

class Writer extends AbstractMessageWriter implements MessageWriter {
  readonly #process: OpenCommand;
  readonly #clock: Clock;
  readonly #broken: (note: string) => void;
  #unread = 0;
  #endWait: (() => void) | undefined;

  constructor(process: OpenCommand, clock: Clock, broken: (note: string) => void) {
    super();
    this.#process = process;
    this.#clock = clock;
    this.#broken = broken;
  }

  /** Handed over before it returns, so that messages arrive in the order of the calls. */
  async write(message: Message): Promise<void> {
    const body = Buffer.from(JSON.stringify(message));
    const frame = Buffer.concat([Buffer.from(`Content-Length: ${body.byteLength}\r\n\r\n`, "latin1"), body]);
    this.#unread += frame.byteLength;
    if (this.#unread > MOST_UNREAD) this.#broken(`it left ${this.#unread} bytes of what it is sent unread`);
    this.#endWait ??= this.#wait();
    const sent = await this.#process.send(frame);
    this.#unread -= frame.byteLength;
    this.#endWait?.();
    this.#endWait = this.#unread > 0 ? this.#wait() : undefined;
    if (sent) return;
    // Most likely it ended, and its end says more.
    this.#clock.after(DEAF_MS, () => this.#broken("it closed its input"));
    throw new Error("the program is gone");
  }

  end(): void {
    this.#process.end();
  }

  override dispose(): void {
    this.#endWait?.();
    super.dispose();
  }

  #wait(): () => void {
    return this.#clock.after(UNREAD_MS, () => this.#broken(`it left what it is sent unread for ${UNREAD_MS / 1000} s`));
  }
}
