import { parentPort } from "node:worker_threads";
import { refused } from "../../base/index.ts";
import type { ReplaceAnswer, ReplacedFile, ReplaceJob } from "./messages.ts";
import { compileReplace, type Ready } from "./replace-text.ts";

// Entry file of a replacing thread: a job in, an answer out, one at a time. It holds nothing between them and can be ended at any moment.
if (parentPort === null) throw new Error("worker.ts runs in a worker thread only");
const port = parentPort;

function work(job: ReplaceJob): ReplaceAnswer {
  try {
    const replace = compileReplace(job);
    const files = job.files.map(({ path, bytes }): ReplacedFile => {
      let ready: Ready;
      try {
        ready = replace(bytes, path);
      } catch (thrown) {
        return { kind: "refused", ...refused(thrown) };
      }
      // Only what cannot be looked into is left out. A file that matches and cannot be changed refuses all of them.
      return { kind: "done", ...ready() };
    });
    return { kind: "files", files };
  } catch (thrown) {
    return { kind: "refused", ...refused(thrown) };
  }
}

port.on("message", (job: ReplaceJob) => port.postMessage(work(job)));
