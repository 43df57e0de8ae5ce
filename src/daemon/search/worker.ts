import { setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { nodeFs, refused, systemClock } from "../base/index.ts";
import { createTrees, openReader } from "../store/index.ts";
import { Corpus } from "./corpus.ts";
import { Listings } from "./listing.ts";
import type { SearchAnswer, SearchJob, SearchThreadData } from "./messages.ts";
import { both, count, files, type Ground, type Steps, show } from "./work.ts";

// Entry file of a search thread. It reads the store through a connection of its own, and holds only what can be read again, so it can be ended at
// any moment. Jobs take turns, so that no search waits for a longer one.
if (parentPort === null) throw new Error("worker.ts runs in a worker thread only");
const port = parentPort;
const { directory, part, parts, room } = workerData as SearchThreadData;

/** One job's turn, in milliseconds. */
const TURN_MS = 5;

/** How much later a search thread comes when processors are short. */
const NICE = 5;
// On Linux this is the calling thread's alone: short calls, which the main thread answers, go first.
if (process.platform === "linux") setPriority(0, NICE);

const reader = openReader(nodeFs, directory);
const ground: Ground = {
  listings: new Listings(createTrees((hash) => reader.treeNode(hash))),
  corpus: new Corpus(reader, room),
  mine: (hash) => Number.parseInt(hash.slice(0, 8), 16) % parts === part,
};

interface Running {
  readonly id: number;
  readonly steps: Steps<unknown>;
  readonly flags: Int32Array;
}

const running: Running[] = [];
const answer = (message: SearchAnswer) => port.postMessage(message);

function begin(job: SearchJob): Steps<unknown> {
  const looked = () => Atomics.add(job.flags, 1, 1);
  if (job.kind === "count") return count(ground, job.input, looked);
  if (job.kind === "given") return both(ground, job.input, looked);
  return job.kind === "show" ? show(ground, job.input) : files(ground, job.input);
}

/** One turn of one job; false when it has ended. */
function turn({ id, steps, flags }: Running): boolean {
  const until = systemClock.monotonicMs() + TURN_MS;
  try {
    for (let step = 0; ; step++) {
      if (Atomics.load(flags, 0) !== 0) {
        answer({ id, kind: "stopped" });
        return false;
      }
      const { done, value } = steps.next();
      if (done === true) {
        answer({ id, kind: "done", result: value as never });
        return false;
      }
      if (step % 8 === 7 && systemClock.monotonicMs() >= until) return true;
    }
  } catch (thrown) {
    answer({ id, kind: "refused", error: refused(thrown) });
    return false;
  }
}

function go(): void {
  const job = running.shift();
  if (job !== undefined && turn(job)) running.push(job);
  if (running.length > 0) setImmediate(go);
  // A segment that gc unlinked keeps its place on the disk while its file is open.
  else reader.letGo();
}

port.on("message", (job: SearchJob) => {
  running.push({ id: job.id, steps: begin(job), flags: job.flags });
  if (running.length === 1) setImmediate(go);
});
