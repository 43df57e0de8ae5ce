// Origin of a file with 1,000 checkpoints, through the SDK, against `git blame` of the same history: the whole file, and a page as it is asked for.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { plainEnv, scratch, startDaemon } from "./support/daemon.ts";
import { sideBySide } from "./support/measure.ts";
import { atLeast, atMost, report, shown } from "./support/report.ts";

const CHECKPOINTS = 1_000;
const LINES = 400;
const RUNS = 1_500;
const hash = (text: string): string => createHash("sha256").update(text).digest("hex");

/** The same small edits every time: a line changed, now and then one put in or taken out. */
function* versions(): Generator<string> {
  let state = 1;
  const dice = (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return state % below;
  };
  const lines = Array.from({ length: LINES }, (_, line) => `const value${line} = ${line};`);
  yield `${lines.join("\n")}\n`;
  for (let version = 1; version < CHECKPOINTS; version += 1) {
    const at = dice(lines.length);
    const text = `const value${at} = ${version}; // ${dice(1_000_000)}`;
    const kind = dice(6);
    if (kind === 0) lines.splice(at, 0, text);
    else if (kind === 1 && lines.length > LINES / 2) lines.splice(at, 1, text);
    else lines[at] = text;
    yield `${lines.join("\n")}\n`;
  }
}

const daemon = await startDaemon();
const sdk = await daemon.client();
const git = scratch("git");
const gitDo = (...args: string[]): Buffer =>
  execFileSync("git", ["-C", git, "-c", "user.name=b", "-c", "user.email=b@b", ...args], { env: plainEnv, maxBuffer: 1 << 26 });
gitDo("init", "-q");
let commands = "";
let expect = "absent";
let version = 0;
for (const text of versions()) {
  version += 1;
  const data = Buffer.from(text);
  await sdk.save({ requestId: `v${version}`, edits: [{ path: "src/file.ts", expect, data }] });
  expect = hash(text);
  commands += `commit refs/heads/main\ncommitter b <b@b> ${1_700_000_000 + version} +0000\ndata 1\nx\nM 100644 inline src/file.ts\ndata ${data.length}\n${text}\n`;
}
execFileSync("git", ["-C", git, "fast-import", "--quiet"], { env: plainEnv, input: commands });
gitDo("reset", "-q", "--hard", "main");
gitDo("gc", "-q");

const ask = async (): Promise<number> => {
  const { spans } = await sdk.origin({ path: "src/file.ts", limit: 1_000 });
  return spans.length;
};
const firstFrom = performance.now();
const first = ask();
// While it is computed for the first time, other calls go on.
let others = 0;
let slowest = 0;
let done = false;
void first.then(() => (done = true));
while (!done) {
  const from = performance.now();
  await sdk.readPath({ path: "src/file.ts", limit: 64 });
  slowest = Math.max(slowest, performance.now() - from);
  others += 1;
}
const spans = await first;
const firstMs = performance.now() - firstFrom;
const times = await sideBySide(
  {
    gin: ask,
    page: () => sdk.origin({ path: "src/file.ts" }),
    // What the machine makes of the smallest call there is, in the same run.
    read: () => sdk.readPath({ path: "src/file.ts", content: false }),
  },
  { runs: RUNS, warm: 300 },
);
const blame = await sideBySide({ git: () => gitDo("blame", "--porcelain", "src/file.ts") }, { runs: 20, warm: 2 });
report(
  "origin",
  {
    "git blame to Origin, warm": atLeast(blame.git.p50 / times.gin.p50, 5),
    "p99 of a page of 100 spans, warm, in ms": atMost(times.page.at(0.99), 5),
    "p99 of the whole file, warm, in ms": shown(times.gin.at(0.99)),
    "p99 of a read without content, in ms": shown(times.read.at(0.99)),
    "git blame to the first Origin": shown(blame.git.p50 / firstMs),
    "slowest other call meanwhile, in ms": shown(slowest),
  },
  {
    origin_p50_ms: times.gin.p50,
    page_of_100_p50_ms: times.page.p50,
    read_p50_ms: times.read.p50,
    first_ms: firstMs,
    git_blame_p50_ms: blame.git.p50,
    spans,
    other_calls_meanwhile: others,
  },
  RUNS,
);
await daemon.stop();
process.exit(0);
