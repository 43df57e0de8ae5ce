import { Worker } from "node:worker_threads";
import { type Clock, GinError, revive, threadEntry } from "../../base/index.ts";
import type { ReplaceAnswer, ReplacedFile, ReplaceJob } from "./messages.ts";

/** Longest time one call may match, in milliseconds: RE2 is linear for one match, not for all of a text's. */
const REPLACE_MS = 30_000;

/** Megabytes of heap the thread may take. */
const HEAP_MB = 1024;

/** Jobs at the same time: each thread may take HEAP_MB. */
const MOST_THREADS = 2;

let running = 0;
/** Jobs that wait for one of them to end, first come first served. */
const waiting = new Set<() => void>();

/**
 * Replaces in a thread of its own, so that no pattern holds anybody up; waits while MOST_THREADS are at work. Rejects with INVALID_REGEX, INVALID_REQUEST, CANCELLED,
 * DEADLINE_EXCEEDED past the time limit, RESOURCE_LIMIT when it takes too much memory.
 */
export async function replaceInThread(
  job: ReplaceJob,
  clock: Clock,
  signal: AbortSignal,
  ms = REPLACE_MS,
): Promise<readonly ReplacedFile[]> {
  await turn(signal);
  try {
    return await inThread(job, clock, signal, ms);
  } finally {
    const [next] = waiting;
    if (next === undefined) running -= 1;
    else next();
  }
}

/** Waits for a place among the running jobs; whoever ends hands his on. Throws CANCELLED. */
async function turn(signal: AbortSignal): Promise<void> {
  if (running < MOST_THREADS) {
    running += 1;
    return;
  }
  await new Promise<void>((resolve, reject) => {
    const over = (): void => {
      waiting.delete(begin);
      signal.removeEventListener("abort", abort);
    };
    const begin = (): void => {
      over();
      resolve();
    };
    const abort = (): void => {
      over();
      reject(cancelled());
    };
    waiting.add(begin);
    signal.addEventListener("abort", abort);
    if (signal.aborted) abort();
  });
}

function inThread(job: ReplaceJob, clock: Clock, signal: AbortSignal, ms: number): Promise<readonly ReplacedFile[]> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(cancelled());
      return;
    }
    const thread = take();
    const settle = (done: () => void, whole: boolean): void => {
      stopClock();
      signal.removeEventListener("abort", abort);
      thread.told = () => {};
      if (whole) giveBack(thread, clock);
      else void thread.worker.terminate();
      done();
    };
    const abort = (): void => settle(() => reject(cancelled()), false);
    const stopClock = clock.after(ms, () => settle(() => reject(tooLong(ms)), false));
    signal.addEventListener("abort", abort);
    thread.told = (answer) => {
      if (answer instanceof GinError) settle(() => reject(answer), false);
      else settle(() => (answer.kind === "files" ? resolve(answer.files) : reject(revive(answer))), true);
    };
    thread.worker.ref();
    thread.worker.postMessage(job);
  });
}

/** How long a thread without work is kept, in milliseconds: starting one costs more than most jobs. */
const IDLE_MS = 60_000;

/** A thread, and who hears of its answer or its end. */
interface Thread {
  readonly worker: Worker;
  told: (answer: ReplaceAnswer | GinError) => void;
}

/** The thread that waits for the next job, and what stops its wait. */
let idle: { readonly thread: Thread; readonly stopWait: () => void } | undefined;

/** The waiting thread, or a new one. */
function take(): Thread {
  const waiting = idle;
  idle = undefined;
  waiting?.stopWait();
  if (waiting !== undefined) return waiting.thread;
  // Its listeners stay for good: a worker whose message listener was once removed hears nothing any more.
  const thread: Thread = { worker: start(), told: () => {} };
  thread.worker.on("message", (answer: ReplaceAnswer) => thread.told(answer));
  thread.worker.on("error", (cause: Error & { code?: string }) => thread.told(broke(cause)));
  thread.worker.on("exit", () => thread.told(broke(undefined)));
  return thread;
}

/** Keeps one thread for the next job; it holds up no end of the process. */
function giveBack(thread: Thread, clock: Clock): void {
  if (idle !== undefined) {
    void thread.worker.terminate();
    return;
  }
  const forget = (): void => {
    if (idle?.thread !== thread) return;
    idle.stopWait();
    idle = undefined;
    void thread.worker.terminate();
  };
  thread.worker.unref();
  thread.told = forget;
  idle = { thread, stopWait: clock.after(IDLE_MS, forget) };
}

function start(): Worker {
  const resourceLimits = { maxOldGenerationSizeMb: HEAP_MB };
  return new Worker(threadEntry(import.meta.url, "replace-worker.mjs"), { execArgv: [], resourceLimits });
}

function cancelled(): GinError {
  return new GinError("CANCELLED", "the call was cancelled");
}

function tooLong(ms: number): GinError {
  return new GinError("DEADLINE_EXCEEDED", `matching took longer than ${ms} ms`, "use a plainer pattern, or fewer files", {
    retryable: false,
  });
}

function broke(cause: (Error & { code?: string }) | undefined): GinError {
  if (cause?.code === "ERR_WORKER_OUT_OF_MEMORY") {
    return new GinError("RESOURCE_LIMIT", "replacing takes too much memory", "replace in fewer files at once", {
      facts: { limit: HEAP_MB, unit: "MiB" },
    });
  }
  return new GinError("INTERNAL", "the replacing thread ended by itself", undefined, { cause });
}
