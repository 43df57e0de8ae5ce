import { Worker } from "node:worker_threads";
import { type Clock, GinError, threadEntry } from "../base/index.ts";
import type { TextJob, TextJobName, TextJobs, WorkerAnswer } from "./messages.ts";

/** Megabytes of heap a job may take; more is too_large. Three texts of 8 MiB in lines of one byte stay below. */
const HEAP_MB = 1024;

interface Pending {
  readonly job: TextJob;
  readonly settle: (result: TextJobs[TextJobName]["out"] | undefined) => void;
  readonly fail: (error: GinError) => void;
}

/** How to make a text worker. */
export interface TextWorkerOptions {
  /** What its jobs are called in messages, e.g. "merge". */
  readonly noun: string;
  /** Entry file of the thread; by default found beside the bundle, or the source. */
  readonly entry: URL | undefined;
  readonly clock: Clock;
  /** Longest run of one job, counted from when the thread has it; undefined for jobs that bound their own steps. */
  readonly limitMs: number | undefined;
}

/**
 * One thread for work on texts, started at the first job and kept. Jobs run one after the other. A thread that does not
 * answer in time, or whose job is cancelled while it runs, is ended and replaced: that is the only way to stop it.
 * States: idle → starting → ready ⇄ running; any → idle when the thread ends; closed is final.
 */
export class TextWorker {
  readonly #noun: string;
  readonly #entry: URL | undefined;
  readonly #clock: Clock;
  readonly #limitMs: number | undefined;
  readonly #queue: Pending[] = [];
  #thread: Worker | undefined;
  #ready = false;
  #running: Pending | undefined;
  #stopTimer: (() => void) | undefined;
  #closed = false;

  constructor(options: TextWorkerOptions) {
    this.#noun = options.noun;
    this.#entry = options.entry;
    this.#clock = options.clock;
    this.#limitMs = options.limitMs;
  }

  /** Works in the thread. Undefined past the time or memory limit; rejects with CANCELLED, or INTERNAL when the thread cannot run. */
  run<K extends TextJobName>(kind: K, input: TextJobs[K]["in"], signal?: AbortSignal): Promise<TextJobs[K]["out"] | undefined> {
    return new Promise((resolve, reject) => {
      if (this.#closed || signal?.aborted === true) {
        reject(new GinError("CANCELLED", `the ${this.#noun} was cancelled`));
        return;
      }
      const done = () => signal?.removeEventListener("abort", cancel);
      const pending: Pending = {
        job: { kind, input } as TextJob,
        settle: (result) => {
          done();
          resolve(result as TextJobs[K]["out"] | undefined);
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
        pending.fail(new GinError("CANCELLED", `the ${this.#noun} was cancelled`));
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
    for (const pending of open) pending.fail(new GinError("CANCELLED", `the ${this.#noun} was cancelled`));
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
    if (this.#limitMs !== undefined) {
      this.#stopTimer = this.#clock.after(this.#limitMs, () => {
        this.#replace();
        pending.settle(undefined);
      });
    }
    // Copies, handed over: a view would drag its whole buffer along, and the caller keeps its own.
    const copies: ArrayBuffer[] = [];
    const copied = Object.entries(pending.job.input).map(([name, value]: [string, unknown]) => {
      if (!(value instanceof Uint8Array)) return [name, value];
      const copy = new Uint8Array(value);
      copies.push(copy.buffer);
      return [name, copy];
    });
    this.#thread?.postMessage({ kind: pending.job.kind, input: Object.fromEntries(copied) }, copies);
  }

  #start(): void {
    const entry = this.#entry ?? threadEntry(import.meta.url, "history-worker.mjs");
    const thread = new Worker(entry, { execArgv: [], resourceLimits: { maxOldGenerationSizeMb: HEAP_MB } });
    this.#thread = thread;
    thread.on("message", (answer: WorkerAnswer) => {
      if (this.#thread !== thread) return;
      if (answer.kind === "ready") this.#ready = true;
      else this.#finish()?.settle(answer.result);
      this.#next();
    });
    thread.on("error", (error: NodeJS.ErrnoException) => this.#broke(thread, error));
    thread.on("exit", () => this.#broke(thread, new Error("the text worker ended by itself")));
  }

  /** The thread died by itself. Out of memory is an answer about the job; anything else is a fault of gin's. */
  #broke(thread: Worker, error: NodeJS.ErrnoException): void {
    if (this.#thread !== thread) return;
    this.#thread = undefined;
    this.#ready = false;
    const struck = this.#finish() ?? this.#queue.shift();
    if (error.code === "ERR_WORKER_OUT_OF_MEMORY") struck?.settle(undefined);
    else struck?.fail(new GinError("INTERNAL", `the ${this.#noun} worker failed`, undefined, { cause: error }));
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
