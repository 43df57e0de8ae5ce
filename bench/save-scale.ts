// Save of one file in recorded trees of 1 k, 10 k and 100 k files, and in one of 1 k with 10 k checkpoints behind it, against itself.
import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { scratch } from "./support/daemon.ts";
import { type Engine, openEngine } from "./support/engine.ts";
import { sideBySide } from "./support/measure.ts";
import { atMost, report, shown } from "./support/report.ts";

const SIZES = [1_000, 10_000, 100_000] as const;
const RUNS = 300;
const CHECKPOINTS = 10_000;
const hash = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");
/** 100 files a directory, in two levels. */
const path = (index: number): string => `d${Math.floor(index / 10_000)}/e${Math.floor(index / 100) % 100}/f${index % 100}.txt`;

/** A tree of that many files, all recorded. */
async function grow(size: number): Promise<Engine> {
  const engine = await openEngine(scratch(`scale-${size}`));
  for (let from = 0; from < size; from += 5_000) {
    const edits = [];
    for (let index = from; index < Math.min(from + 5_000, size); index++) {
      const bytes = Buffer.from(`file ${index}\n`);
      mkdirSync(join(engine.root, path(index), ".."), { recursive: true });
      writeFileSync(join(engine.root, path(index)), bytes);
      edits.push({ path: path(index), expect: hash(bytes), content: bytes });
    }
    // Nothing changes: it records what is there, as an import does.
    await engine.save(`grow${from}`, edits);
  }
  return engine;
}

/** Makes a history of that many checkpoints, of all but the file that is measured. */
async function age(engine: Engine, checkpoints: number): Promise<void> {
  const versions = new Map<number, string>();
  for (let at = 0; at < checkpoints; at += 50) {
    await Promise.all(
      Array.from({ length: 50 }, async (_, beside) => {
        const index = 100 + ((at + beside) % 900);
        const bytes = Buffer.from(`file ${index} as of ${at}\n`);
        const expect = versions.get(index) ?? hash(Buffer.from(`file ${index}\n`));
        await engine.save(`age${at + beside}`, [{ path: path(index), expect, content: bytes }]);
        versions.set(index, hash(bytes));
      }),
    );
  }
}

const engines: Engine[] = [];
for (const size of SIZES) engines.push(await grow(size));
const old = await grow(1_000);
await age(old, CHECKPOINTS);
engines.push(old);
const expects: string[] = engines.map(() => hash(Buffer.from("file 77\n")));
const saveIn =
  (at: number) =>
  async (run: number): Promise<void> => {
    const bytes = Buffer.from(`${run} `.padEnd(4096, "text "));
    await engines[at]?.save(`r${run}`, [{ path: path(77), expect: expects[at] as string, content: bytes }]);
    expects[at] = hash(bytes);
  };
const times = await sideBySide(
  { "1k": saveIn(0), "10k": saveIn(1), "100k": saveIn(2), old: saveIn(3) },
  { runs: RUNS, warm: 30, rounds: 20 },
);
report(
  "save-scale",
  {
    "100 k to 1 k": atMost(times["100k"].p50 / times["1k"].p50, 1.3),
    "10 k checkpoints to none": atMost(times.old.p50 / times["1k"].p50, 1.3),
    "10 k to 1 k": shown(times["10k"].p50 / times["1k"].p50),
  },
  {
    p50_1k_ms: times["1k"].p50,
    p50_10k_ms: times["10k"].p50,
    p50_100k_ms: times["100k"].p50,
    p50_history_ms: times.old.p50,
  },
  RUNS,
);
for (const engine of engines) await engine.close();
process.exit(0);
