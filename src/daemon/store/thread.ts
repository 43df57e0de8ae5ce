import { Worker } from "node:worker_threads";
import { GinError, threadEntry } from "../base/index.ts";
import { uncarry } from "./errors.ts";
import type { Commands } from "./types.ts";
import type { FromWorker, ToWorker } from "./worker.ts";
import { Writer, type WriterOptions } from "./writer.ts";

/** Where transactions run. */
export interface WriterHandle {
  write<K extends keyof Commands>(command: K, value: Commands[K]["in"]): Promise<Commands[K]["out"]>;
  /** Resolves when nothing is under way. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

type Waiting = { readonly resolve: (result: never) => void; readonly reject: (error: GinError) => void };

/**
 * The store thread as the daemon sees it: messages go out in order and each is answered. Does not keep the process alive
 * unless an answer is due. A thread that dies takes every waiting and later write with it (INTERNAL).
 */
class Thread implements WriterHandle {
  private readonly worker: Worker;
  private readonly waiting = new Map<number, Waiting>();
  private readonly whenSettled: (() => void)[] = [];
  private dead: GinError | undefined;
  private last = 0;
  readonly opened: Promise<void>;
  private readonly exited: Promise<void>;

  constructor(options: WriterOptions, entry: URL | undefined) {
    this.worker = startWorker(options, entry);
    this.opened = new Promise<void>((resolve, reject) => this.waiting.set(0, { resolve: resolve as () => void, reject }));
    this.worker.on("message", (message: FromWorker) => this.answered(message));
    this.worker.on("error", (thrown) => this.died(thrown));
    this.exited = new Promise((resolve) => {
      this.worker.on("exit", () => {
        this.died(undefined);
        resolve();
      });
    });
  }

  write<K extends keyof Commands>(command: K, value: Commands[K]["in"]): Promise<Commands[K]["out"]> {
    return this.send({ command, value } as Omit<ToWorker, "id">);
  }

  settled(): Promise<void> {
    return this.waiting.size === 0 ? Promise.resolve() : new Promise((resolve) => this.whenSettled.push(resolve));
  }

  async close(): Promise<void> {
    if (this.dead === undefined) await this.send({ command: "close" } as Omit<ToWorker, "id">);
    // Its last answer let the process end without it.
    this.worker.ref();
    await this.exited;
  }

  private send<T>(message: Omit<ToWorker, "id">): Promise<T> {
    if (this.dead !== undefined) return Promise.reject(this.dead);
    const id = ++this.last;
    return new Promise<T>((resolve, reject) => {
      try {
        this.worker.postMessage({ ...message, id });
      } catch (thrown) {
        reject(new GinError("INTERNAL", "a transaction cannot be sent to the store thread", undefined, { cause: thrown }));
        return;
      }
      if (this.waiting.size === 0) this.worker.ref();
      this.waiting.set(id, { resolve: resolve as Waiting["resolve"], reject });
    });
  }

  private answered(message: FromWorker): void {
    const waiting = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    if ("error" in message) waiting?.reject(uncarry(message.error));
    else waiting?.resolve(message.result as never);
    if (this.waiting.size > 0) return;
    this.worker.unref();
    for (const resolve of this.whenSettled.splice(0)) resolve();
  }

  private died(cause: unknown): void {
    this.dead ??= new GinError("INTERNAL", "the store thread has ended", "restart the daemon", { cause });
    for (const { reject } of this.waiting.values()) reject(this.dead);
    this.waiting.clear();
    for (const resolve of this.whenSettled.splice(0)) resolve();
  }
}

/** Transactions on the calling thread (StoreOptions.inline). */
class Inline implements WriterHandle {
  private readonly writer: Writer;
  private running: Promise<unknown> = Promise.resolve();

  constructor(options: WriterOptions) {
    this.writer = new Writer(options);
  }

  async write<K extends keyof Commands>(command: K, value: Commands[K]["in"]): Promise<Commands[K]["out"]> {
    if (command !== "backup") return this.writer.run(command as never, value as never);
    const copy = this.writer.backup(value as Commands["backup"]["in"]);
    this.running = copy.catch(() => undefined);
    return copy;
  }

  async settled(): Promise<void> {
    await this.running;
  }

  async close(): Promise<void> {
    this.writer.close();
  }
}

/** Opens the writing side. Throws what Writer's constructor throws. */
export async function openWriter(options: WriterOptions, inline: boolean, entry: URL | undefined): Promise<WriterHandle> {
  if (inline) return new Inline(options);
  const thread = new Thread(options, entry);
  try {
    await thread.opened;
  } catch (thrown) {
    await thread.close().catch(() => undefined);
    throw thrown;
  }
  return thread;
}

function startWorker(workerData: WriterOptions, entry: URL | undefined): Worker {
  return new Worker(entry ?? threadEntry(import.meta.url, "store-worker.mjs"), { workerData });
}
