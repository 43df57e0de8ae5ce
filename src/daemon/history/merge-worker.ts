import type { Worker } from "node:worker_threads";
import { type Clock, GinError } from "../base/index.ts";
import type { Merge3 } from "./merge3.ts";
import type { MergeJob, WorkerAnswer } from "./messages.ts";
import { startThread } from "./start-thread.ts";

/** Megabytes of heap a merge may take; more is too_large. Three texts of 8 MiB in lines of one byte stay below. */
const HEAP_MB = 1024;

/**
 * Where the worker's entry is: `history-worker.mjs` beside the bundle, or the source beside this file.
 * From source it is run through tsx, which a packed gin neither has nor needs.
 */
function defaultEntry(): URL {
  return new URL(import.meta.url.endsWith(".ts") ? "./worker.ts" : "./history-worker.mjs", import.meta.url);
}

interface Pending {
  readonly job: MergeJob;
  readonly settle: (result: Merge3 | undefined) => void;
  readonly fail: (error: GinError) => void;
}

/**
 * One merge worker thread, started at the first job and kept. Jobs run one after the other. A thread that does not answer
 * in time, or whose job is cancelled while it runs, is ended and replaced: that is the only way to stop it.
 * States: idle → starting → ready ⇄ running; any → idle when the thread ends; closed is final.
 */
export class MergeWorker {
  readonly #entry: URL;
  readonly #clock: Clock;
  readonly #limitMs: number;
  readonly #queue: Pending[] = [];
  #thread: Worker | undefined;
  #ready = false;
  #running: Pending | undefined;
  #stopTimer: (() => void) | undefined;
  #closed = false;

  /** `limitMs`: longest run of one job, counted from when the thread has it. */
  constructor(entry: URL | undefined, clock: Clock, limitMs: number) {
    this.#entry = entry ?? defaultEntry();
    this.#clock = clock;
    this.#limitMs = limitMs;
  }

  /** Merges in the thread. Undefined past the time or memory limit; rejects with CANCELLED, or INTERNAL when the thread cannot run. */
  run(job: MergeJob, signal?: AbortSignal): Promise<Merge3 | undefined> {
    return new Promise((resolve, reject) => {
      if (this.#closed || signal?.aborted === true) {
        reject(new GinError("CANCELLED", this.#closed ? "the merger is closed" : "the merge was cancelled"));
        return;
      }
      const done = () => signal?.removeEventListener("abort", cancel);
      const pending: Pending = {
        job,
        settle: (result) => {
          done();
          resolve(result);
        },
        fail: (error) => {
          done();
          reject(error);
        },
      };
      const cancel = () => {
        const at = this.#queue.indexOf(pending);
        if (at >= 0) this.#queue.splice(at, 1);
        else this.#replace();
        pending.fail(new GinError("CANCELLED", "the merge was cancelled"));
      };
      signal?.addEventListener("abort", cancel, { once: true });
      this.#queue.push(pending);
      this.#next();
    });
  }

  /** Ends the thread; waiting jobs are CANCELLED. */
  async close(): Promise<void> {
    this.#closed = true;
    const open = this.#running === undefined ? this.#queue.splice(0) : [this.#running, ...this.#queue.splice(0)];
    for (const pending of open) pending.fail(new GinError("CANCELLED", "the merger is closed"));
    await this.#end();
  }

  #next(): void {
    if (this.#running !== undefined || this.#queue.length === 0) return;
    if (this.#thread === undefined) this.#start();
    if (!this.#ready) return;
    const pending = this.#queue.shift();
    if (pending === undefined) return;
    this.#running = pending;
    this.#thread?.ref();
    this.#stopTimer = this.#clock.after(this.#limitMs, () => {
      this.#replace();
      pending.settle(undefined);
    });
    // Copies, handed over: a view would drag its whole buffer along, and the caller keeps its own.
    const [base, ours, theirs] = [pending.job.base, pending.job.ours, pending.job.theirs].map((bytes) => new Uint8Array(bytes));
    this.#thread?.postMessage(
      { base, ours, theirs },
      [base, ours, theirs].flatMap((copy) => copy?.buffer ?? []),
    );
  }

  #start(): void {
    const thread = startThread(this.#entry, { resourceLimits: { maxOldGenerationSizeMb: HEAP_MB } });
    this.#thread = thread;
    thread.on("message", (answer: WorkerAnswer) => {
      if (this.#thread !== thread) return;
      if (answer.kind === "ready") this.#ready = true;
      else this.#finish()?.settle(answer.result);
      this.#next();
    });
    thread.on("error", (error: NodeJS.ErrnoException) => this.#broke(thread, error));
    thread.on("exit", () => this.#broke(thread, new Error("the merge worker ended by itself")));
  }

  /** The thread died by itself. Out of memory is an answer about the job; anything else is a fault of gin's. */
  #broke(thread: Worker, error: NodeJS.ErrnoException): void {
    if (this.#thread !== thread) return;
    this.#thread = undefined;
    this.#ready = false;
    const struck = this.#finish() ?? this.#queue.shift();
    if (error.code === "ERR_WORKER_OUT_OF_MEMORY") struck?.settle(undefined);
    else struck?.fail(new GinError("INTERNAL", "the merge worker failed", undefined, { cause: error }));
    this.#next();
  }

  #finish(): Pending | undefined {
    const pending = this.#running;
    this.#running = undefined;
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    // An idle thread does not keep the process alive.
    this.#thread?.unref();
    return pending;
  }

  #replace(): void {
    this.#finish();
    void this.#end();
    this.#next();
  }

  async #end(): Promise<void> {
    const thread = this.#thread;
    this.#thread = undefined;
    this.#ready = false;
    this.#finish();
    await thread?.terminate();
  }
}
