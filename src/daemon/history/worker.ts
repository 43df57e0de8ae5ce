import { parentPort } from "node:worker_threads";
import { merge3 } from "./merge3.ts";
import type { MergeJob, WorkerAnswer } from "./messages.ts";

// Entry file of the merge worker. It holds no state between jobs, so it can be ended at any moment.
if (parentPort === null) throw new Error("worker.ts runs in a worker thread only");
const port = parentPort;
const answer = (message: WorkerAnswer) => port.postMessage(message);
port.on("message", (job: MergeJob) => answer({ kind: "merged", result: merge3(job.base, job.ours, job.theirs) }));
answer({ kind: "ready" });
