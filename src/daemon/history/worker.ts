import { parentPort } from "node:worker_threads";
import { diffLines } from "./diff.ts";
import { packEdits } from "./edits.ts";
import { diffHunks } from "./hunks.ts";
import { merge3 } from "./merge3.ts";
import type { TextJob, TextJobName, TextJobs, WorkerAnswer } from "./messages.ts";

// Entry file of a text worker. It holds no state between jobs, so it can be ended at any moment.
if (parentPort === null) throw new Error("worker.ts runs in a worker thread only");
const port = parentPort;
const answer = (message: WorkerAnswer) => port.postMessage(message);

const WORK: { readonly [K in TextJobName]: (input: TextJobs[K]["in"]) => TextJobs[K]["out"] } = {
  merge: ({ base, ours, theirs }) => merge3(base, ours, theirs),
  edits: ({ a, b }) => packEdits(diffLines(a, b)),
  hunks: ({ a, b, context }) => diffHunks(a, b, context < 0 ? undefined : context),
};

function work<K extends TextJobName>(job: { readonly kind: K; readonly input: TextJobs[K]["in"] }): TextJobs[K]["out"] {
  return WORK[job.kind](job.input);
}

port.on("message", (job: TextJob) => answer({ kind: "done", result: work(job) }));
answer({ kind: "ready" });
