import { createRequire } from "node:module";
import { Worker } from "node:worker_threads";
import type { SearchThreadData } from "./messages.ts";

/** First code of a thread that runs from source: Node 20 gives worker threads no loader by `--import`, so it is registered inside. */
const FROM_SOURCE = `const { workerData } = require("node:worker_threads");
import(workerData.loader).then(({ register }) => { register(); return import(workerData.entry); });`;

/** Megabytes of heap a thread may take beside what it keeps. */
const HEAP_MB = 1024;

/** Starts a search thread: `search-worker.mjs` beside the bundle, or from source the entry beside this file, by the tsx of the development tree. */
export function startThread(data: SearchThreadData): Worker {
  const source = import.meta.url.endsWith(".ts");
  const entry = new URL(source ? "./worker.ts" : "./search-worker.mjs", import.meta.url);
  const options = { execArgv: [], resourceLimits: { maxOldGenerationSizeMb: HEAP_MB } };
  if (!source) return new Worker(entry, { ...options, workerData: data });
  const loader = new URL("./index.mjs", `file://${createRequire(import.meta.url).resolve("tsx/esm/api")}`).href;
  return new Worker(FROM_SOURCE, { ...options, eval: true, workerData: { ...data, loader, entry: entry.href } });
}
