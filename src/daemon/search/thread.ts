import { Worker } from "node:worker_threads";
import { GinError, revive, threadEntry } from "../base/index.ts";
import type { SearchAnswer, SearchJob, SearchJobName, SearchJobs, SearchThreadData } from "./messages.ts";

/** Megabytes of heap a thread may take: what it keeps, and one large file more. */
const HEAP_MB = 1024;

interface Pending {
  readonly job: SearchJob;
  /** What was handed over with it is gone: it cannot be sent again. */
  readonly once: boolean;
  readonly resolve: (result: never) => void;
  readonly reject: (error: GinError) => void;
}

/** One search thread, started at its first job. It does not keep the process alive unless an answer is due. */
export class SearchThread {
  readonly #data: SearchThreadData;
  readonly #pending = new Map<number, Pending>();
  #thread: Worker | undefined;
  #last = 0;

  constructor(data: SearchThreadData) {
    this.#data = data;
  }

  /** Sends a job. Rejects with what the thread refuses it for, CANCELLED when it was told to stop, INTERNAL when the thread breaks. */
  run<K extends SearchJobName>(
    kind: K,
    input: SearchJobs[K]["in"],
    flags: Int32Array,
    transfer: ArrayBuffer[] = [],
  ): { readonly id: number; readonly result: Promise<SearchJobs[K]["out"]> } {
    const id = ++this.#last;
    const job = { id, kind, input, flags } as SearchJob;
    const result = new Promise<SearchJobs[K]["out"]>((resolve, reject) => {
      this.#pending.set(id, { job, once: transfer.length > 0, resolve: resolve as Pending["resolve"], reject });
      this.#send(job, transfer);
    });
    return { id, result };
  }

  /** Whether a job was not answered yet. */
  owes(id: number): boolean {
    return this.#pending.has(id);
  }

  /** Ends a thread that does not stop a job in time. The other jobs it had begin anew in its successor. */
  replace(stuck: number): void {
    this.#pending.get(stuck)?.reject(new GinError("CANCELLED", "the search was cancelled"));
    this.#pending.delete(stuck);
    void this.end();
    for (const [id, { job, once, reject }] of this.#pending) {
      if (once) {
        this.#pending.delete(id);
        reject(new GinError("BUSY", "the search was interrupted by another one", undefined, { retryAfterMs: 50 }));
      } else this.#send(job, []);
    }
  }

  /** Ends the thread, and what it keeps with it; the next job starts it again. Jobs that it owes stay open. */
  async end(): Promise<void> {
    const thread = this.#thread;
    this.#thread = undefined;
    await thread?.terminate();
  }

  /** Ends it for good. */
  async close(): Promise<void> {
    this.#fail(new GinError("CANCELLED", "the search was cancelled"));
    await this.end();
  }

  #send(job: SearchJob, transfer: ArrayBuffer[]): void {
    this.#thread ??= this.#start();
    this.#thread.ref();
    this.#thread.postMessage(job, transfer);
  }

  #start(): Worker {
    const resourceLimits = { maxOldGenerationSizeMb: HEAP_MB };
    const entry = threadEntry(import.meta.url, "search-worker.mjs");
    const thread = new Worker(entry, { execArgv: [], resourceLimits, workerData: this.#data });
    const broke = (cause: unknown) => {
      if (this.#thread !== thread) return;
      this.#thread = undefined;
      this.#fail(new GinError("INTERNAL", "a search thread ended by itself", undefined, { cause }));
    };
    thread.on("message", (answer: SearchAnswer) => {
      if (this.#thread === thread) this.#answered(answer);
    });
    thread.on("error", broke);
    thread.on("exit", broke);
    return thread;
  }

  #answered(answer: SearchAnswer): void {
    const pending = this.#pending.get(answer.id);
    this.#pending.delete(answer.id);
    if (this.#pending.size === 0) this.#thread?.unref();
    if (pending === undefined) return;
    if (answer.kind === "done") pending.resolve(answer.result as never);
    else if (answer.kind === "refused") pending.reject(revive(answer.error));
    else pending.reject(new GinError("CANCELLED", "the search was cancelled"));
  }

  #fail(error: GinError): void {
    const open = [...this.#pending.values()];
    this.#pending.clear();
    for (const { reject } of open) reject(error);
  }
}
