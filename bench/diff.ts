// Diff between two checkpoints through the SDK against `git diff` between two commits of the same files: many small changes in a
// wide tree, a long file with many edits, two files that have little in common. Each pair is asked for once in a round, and
// there are more pairs than answers are kept of, so that no answer comes from memory.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { join } from "node:path";
import type { GinClient } from "../src/clients/sdk/index.ts";
import { plainEnv, scratch, startDaemon } from "./support/daemon.ts";
import { sideBySide } from "./support/measure.ts";
import { atMost, report, shown } from "./support/report.ts";

const FILES = 20_000;
const CHANGES = 100;
const PAIRS = 8;
const RUNS = 40;
const WARM = 8;

/** mulberry32, seeded: the same fixture in every run. */
let state = 20_261_130;
const chance = (below: number): number => {
  state = (state + 0x6d2b79f5) | 0;
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) % below;
};
const line = (): string => `  const value${chance(100_000)} = compute(input${chance(50)}, ${chance(1_000)});\n`;
const text = (lines: number): string[] => Array.from({ length: lines }, line);
/** Lines of a small vocabulary: unlike files share some of them, which is what makes a search for the shortest script long. */
const unlike = (lines: number): string[] => Array.from({ length: lines }, () => `  step(${chance(lines)});\n`);

const daemon = await startDaemon();
const gin: GinClient = await daemon.client();
const gitDir = join(scratch("git"), "repository");
const gitEnv = {
  ...plainEnv,
  GIT_DIR: gitDir,
  GIT_WORK_TREE: daemon.root,
  GIT_CONFIG_NOSYSTEM: "1",
  HOME: scratch("home"),
  GIT_AUTHOR_NAME: "bench",
  GIT_AUTHOR_EMAIL: "bench@localhost",
  GIT_COMMITTER_NAME: "bench",
  GIT_COMMITTER_EMAIL: "bench@localhost",
};

/** Runs git and gives how many bytes it wrote. */
function git(...args: string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn("git", args, { cwd: daemon.root, env: gitEnv, stdio: ["ignore", "pipe", "inherit"] });
    let bytes = 0;
    child.stdout.on("data", (part: Buffer) => {
      bytes += part.length;
    });
    child.once("error", reject);
    child.once("close", (code) => (code === 0 ? resolve(bytes) : reject(new Error(`git ${args[0]} ended with ${code}`))));
  });
}

const held = new Map<string, string>();
let saves = 0;

/** Saves files through gin, commits the same, and gives the checkpoint. */
async function save(files: ReadonlyMap<string, string>): Promise<string> {
  const shaOf = (path: string): string => {
    const before = held.get(path);
    return before === undefined ? "absent" : createHash("sha256").update(before).digest("hex");
  };
  const edits = [...files].map(([path, content]) => ({
    path,
    expect: shaOf(path),
    text: content,
  }));
  const { checkpoint } = await gin.save({ requestId: `bench-${++saves}`, edits });
  for (const [path, content] of files) held.set(path, content);
  return checkpoint;
}

async function commit(name: string): Promise<void> {
  await git("add", "-A");
  await git("commit", "-q", "-m", name);
  await git("tag", name);
}

await git("init", "-q");
const paths = Array.from({ length: FILES }, (_, n) => `src/part${n % 40}/group${n % 7}/file${n}.ts`);
for (const half of [paths.slice(0, FILES / 2), paths.slice(FILES / 2)]) {
  await save(new Map(half.map((path) => [path, text(20).join("")])));
}

/** What a case diffs: checkpoints by their commits' names, each pair of neighbours once a round. */
interface Line {
  readonly prefix: string;
  readonly checkpoints: string[];
  readonly name: string;
}

/** Makes a history of PAIRS steps. */
async function history(name: string, prefix: string, step: (n: number) => Map<string, string>): Promise<Line> {
  const checkpoints: string[] = [];
  for (let n = 0; n <= PAIRS; n += 1) {
    checkpoints.push(await save(step(n)));
    await commit(`${name}${n}`);
  }
  return { prefix, checkpoints, name };
}

const wide = await history("wide", "src", () => {
  const changed = new Map<string, string>();
  while (changed.size < CHANGES) {
    const path = paths[chance(FILES)] ?? "";
    const lines = (held.get(path) ?? "").split(/(?<=\n)/);
    lines[chance(lines.length)] = line();
    changed.set(path, lines.join(""));
  }
  return changed;
});
const longLines = text(20_000);
const long = await history("long", "long.ts", () => {
  for (let n = 0; n < 200; n += 1) longLines[chance(longLines.length)] = line();
  return new Map([["long.ts", longLines.join("")]]);
});
const unlike5 = await history("unlike", "unlike.ts", () => new Map([["unlike.ts", unlike(5_000).join("")]]));
const unlike20 = await history("wilder", "wilder.ts", () => new Map([["wilder.ts", unlike(20_000).join("")]]));

const ginDiff = (line: Line) => async (run: number) => {
  const at = run % PAIRS;
  const request = { from: line.checkpoints[at] ?? "", to: line.checkpoints[at + 1] ?? "", prefix: line.prefix, limit: 1_048_576 };
  let bytes = 0;
  let cursor = "";
  do {
    const page = await gin.diff({ ...request, cursor });
    for (const file of page.files) bytes += file.patch.length;
    cursor = page.nextCursor;
  } while (cursor !== "");
  if (bytes === 0) throw new Error(`gin found nothing between ${line.name}${at} and its next`);
};
const gitDiff = (line: Line) => async (run: number) => {
  const at = run % PAIRS;
  const bytes = await git("diff", `${line.name}${at}`, `${line.name}${at + 1}`, "--", line.prefix);
  if (bytes === 0) throw new Error(`git found nothing between ${line.name}${at} and its next`);
};

const times = await sideBySide(
  {
    wide: ginDiff(wide),
    gitWide: gitDiff(wide),
    long: ginDiff(long),
    gitLong: gitDiff(long),
    unlike: ginDiff(unlike5),
    gitUnlike: gitDiff(unlike5),
    unlike20: ginDiff(unlike20),
    gitUnlike20: gitDiff(unlike20),
    gitStart: () => git("--version"),
  },
  { runs: RUNS, warm: WARM, rounds: 10 },
);

report(
  "diff",
  {
    "100 changes in 20 k files, to git diff": atMost(times.wide.p50 / times.gitWide.p50, 2),
    "200 edits in 20 k lines, to git diff": atMost(times.long.p50 / times.gitLong.p50, 2),
    "two unlike files of 5 k lines, to git diff": atMost(times.unlike.p50 / times.gitUnlike.p50, 2),
    "unlike files of 20 k lines to those of 5 k": atMost(times.unlike20.p50 / times.unlike.p50, 8),
    "git diff of unlike files of 20 k lines to those of 5 k": shown(times.gitUnlike20.p50 / times.gitUnlike.p50),
    "git --version to git diff of the long file": shown(times.gitStart.p50 / times.gitLong.p50),
  },
  {
    gin_wide_ms: times.wide.p50,
    git_wide_ms: times.gitWide.p50,
    gin_long_ms: times.long.p50,
    git_long_ms: times.gitLong.p50,
    gin_unlike_5k_ms: times.unlike.p50,
    git_unlike_5k_ms: times.gitUnlike.p50,
    gin_unlike_20k_ms: times.unlike20.p50,
    git_unlike_20k_ms: times.gitUnlike20.p50,
    git_start_ms: times.gitStart.p50,
  },
  RUNS,
);
await daemon.stop();
process.exit(0);
