// Save of 100 files, durable, against plain Node that syncs each file and each directory.
import { createHash } from "node:crypto";
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, writeSync } from "node:fs";
import { join } from "node:path";
import { scratch } from "./support/daemon.ts";
import { openEngine } from "./support/engine.ts";
import { sideBySide } from "./support/measure.ts";
import { atLeast, atMost, report, shown } from "./support/report.ts";

const FILES = 100;
const RUNS = 60;
const path = (index: number): string => `d${index % 10}/f${index}`;
const content = (run: number, index: number): Buffer => Buffer.from(`${run}.${index} `.padEnd(8192, "text "));

const engine = await openEngine(scratch("wide"));
const plain = scratch("plain");
for (let index = 0; index < 10; index++) mkdirSync(join(plain, `d${index}`));
const expect: string[] = new Array<string>(FILES).fill("absent");

const saveEngine = async (run: number): Promise<void> => {
  const edits = expect.map((before, index) => ({ path: path(index), expect: before, content: content(run, index) }));
  await engine.save(`w${run}`, edits);
  for (const [index, edit] of edits.entries()) expect[index] = createHash("sha256").update(edit.content).digest("hex");
};
const syncClose = (fd: number): void => {
  fsyncSync(fd);
  closeSync(fd);
};
const savePlain = (run: number): void => {
  for (let index = 0; index < FILES; index++) {
    const target = join(plain, path(index));
    const fd = openSync(`${target}.tmp`, "w");
    writeSync(fd, content(run, index));
    syncClose(fd);
    renameSync(`${target}.tmp`, target);
  }
  for (let index = 0; index < 10; index++) syncClose(openSync(join(plain, `d${index}`), "r"));
};

const commitsBefore = engine.commits();
const times = await sideBySide({ engine: saveEngine, plain: savePlain }, { runs: RUNS, warm: 5 });
const commits = (engine.commits() - commitsBefore) / (RUNS + 5);
report(
  "save-wide",
  {
    "plain Node to engine": atLeast(times.plain.p50 / times.engine.p50, 2),
    // One commit is one fsync; test/kernel/system counts the calls themselves with strace.
    "commits a save": atMost(commits, 2),
    "engine p99 to its p50": shown(times.engine.at(0.99) / times.engine.p50),
  },
  { engine_p50_ms: times.engine.p50, plain_p50_ms: times.plain.p50 },
  RUNS,
);
await engine.close();
process.exit(0);
