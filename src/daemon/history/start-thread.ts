import { createRequire } from "node:module";
import { Worker, type WorkerOptions } from "node:worker_threads";

/** First code of a thread that runs from source: Node 20 gives worker threads no loader by `--import`, so it is registered inside. */
const FROM_SOURCE = `const { workerData } = require("node:worker_threads");
import(workerData.loader).then(({ register }) => { register(); return import(workerData.entry); });`;

/** Starts a thread at a bundled entry (.mjs), or at its TypeScript source (.ts) with the tsx of the development tree. */
export function startThread(entry: URL, options: WorkerOptions): Worker {
  if (!entry.pathname.endsWith(".ts")) return new Worker(entry, { ...options, execArgv: [] });
  // The CommonJS form of this module looks for its loader in the wrong folder; its neighbour does not.
  const loader = new URL("./index.mjs", `file://${createRequire(import.meta.url).resolve("tsx/esm/api")}`).href;
  return new Worker(FROM_SOURCE, { ...options, execArgv: [], eval: true, workerData: { loader, entry: entry.href } });
}
