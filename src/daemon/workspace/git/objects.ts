import { type Clock, GinError, type OpenCommand } from "../../base/index.ts";
import type { Git } from "./run.ts";

/** Milliseconds without a question after which the process is ended. */
const IDLE_MS = 10_000;
const NEWLINE = 0x0a;

/** What is said of an object. */
export interface ObjectFacts {
  readonly kind: string;
  readonly size: number;
  /** Only from "--batch". */
  readonly bytes: Buffer;
}

interface Asked {
  readonly id: string;
  readonly resolve: (found: ObjectFacts) => void;
  readonly reject: (error: GinError) => void;
}

/** One `git cat-file` process that is asked for objects by id and answers in order. Started when it is needed, ended when it is not. */
export class Objects {
  readonly #git: Git;
  readonly #mode: "--batch" | "--batch-check";
  readonly #clock: Clock;
  #process: OpenCommand | undefined;
  #waiting: Asked[] = [];
  #said: Buffer[] = [];
  #length = 0;
  /** Bytes that must be there before looking again makes sense. */
  #wanted = 1;
  #endIdle: (() => void) | undefined;

  constructor(git: Git, mode: "--batch" | "--batch-check") {
    this.#git = git;
    this.#mode = mode;
    this.#clock = git.deps.clock;
  }

  ask(id: string): Promise<ObjectFacts> {
    if (!/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(id)) return Promise.reject(notThere(id));
    return new Promise((resolve, reject) => {
      this.#endIdle?.();
      this.#endIdle = undefined;
      this.#waiting.push({ id, resolve, reject });
      this.#process ??= this.#start();
      this.#process.write(Buffer.from(`${id}\n`));
    });
  }

  async close(): Promise<void> {
    this.#endIdle?.();
    const process = this.#process;
    this.#process = undefined;
    this.#giveUp("it was closed");
    await process?.close();
  }

  #start(): OpenCommand {
    const process = this.#git.deps.commands.open(this.#git.command(["cat-file", this.#mode]));
    this.#said = [];
    this.#length = 0;
    this.#wanted = 1;
    process.onOutput((bytes) => {
      if (this.#process !== process) return;
      this.#said.push(bytes);
      this.#length += bytes.byteLength;
      if (this.#length >= this.#wanted) this.#read();
    });
    void process.ended.then(({ reason }) => {
      if (this.#process !== process) return;
      this.#process = undefined;
      this.#giveUp(reason);
    });
    return process;
  }

  #giveUp(reason: string): void {
    const left = this.#waiting;
    this.#waiting = [];
    const why = new GinError("IO_FAILED", "git ended before it had answered", undefined, { cause: new Error(reason) });
    for (const { reject } of left) reject(why);
  }

  /** Takes the whole answers out of what was said. */
  #read(): void {
    let said = this.#said.length === 1 ? (this.#said[0] as Buffer) : Buffer.concat(this.#said);
    this.#wanted = 1;
    for (let asked = this.#waiting[0]; asked !== undefined; asked = this.#waiting[0]) {
      const end = said.indexOf(NEWLINE);
      if (end < 0) {
        this.#wanted = said.byteLength + 1;
        break;
      }
      const [, kind = "", size] = said.toString("latin1", 0, end).split(" ");
      const length = size === undefined ? 0 : Number(size);
      const content = this.#mode === "--batch" && size !== undefined;
      const whole = end + 1 + (content ? length + 1 : 0);
      if (said.byteLength < whole) {
        this.#wanted = whole;
        break;
      }
      this.#waiting.shift();
      if (size === undefined) asked.reject(notThere(asked.id));
      else asked.resolve({ kind, size: length, bytes: content ? Buffer.from(said.subarray(end + 1, end + 1 + length)) : EMPTY });
      said = said.subarray(whole);
    }
    this.#said = said.byteLength === 0 ? [] : [said];
    this.#length = said.byteLength;
    if (this.#waiting.length === 0) this.#endIdle = this.#clock.after(IDLE_MS, () => void this.close());
  }
}

const EMPTY = Buffer.alloc(0);

function notThere(id: string): GinError {
  return new GinError("ID_NOT_FOUND", "the repository has no such object", undefined, { facts: { id } });
}
