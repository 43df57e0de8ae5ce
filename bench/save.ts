// Save of one 4 KiB file, durable: the engine in process and through the SDK, against one SQLite commit, plain Node, and git.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { plainEnv, scratch, startDaemon } from "./support/daemon.ts";
import { openEngine } from "./support/engine.ts";
import { sideBySide } from "./support/measure.ts";
import { atLeast, atMost, report, shown } from "./support/report.ts";
import { openBareSqlite } from "./support/sqlite.ts";

const RUNS = 600;
const content = (run: number): Buffer => Buffer.from(`${run} `.padEnd(4096, "the same text again and again "));
const hash = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

const engine = await openEngine(scratch("engine"));
const daemon = await startDaemon();
const sdk = await daemon.client();
const sqlite = openBareSqlite(join(scratch("sqlite"), "bare.db"));
const plain = scratch("plain");
const git = scratch("git");
const gitDo = (...args: string[]): void =>
  void execFileSync("git", ["-C", git, "-c", "user.name=b", "-c", "user.email=b@b", "-c", "core.fsync=all", ...args], {
    env: plainEnv,
  });
gitDo("init", "-q");
mkdirSync(join(plain, "src"));

let engineExpect = "absent";
let sdkExpect = "absent";
const saveEngine = async (run: number): Promise<void> => {
  const bytes = content(run);
  await engine.save(`e${run}`, [{ path: "src/file.txt", expect: engineExpect, content: bytes }]);
  engineExpect = hash(bytes);
};
const saveSdk = async (run: number): Promise<void> => {
  const bytes = content(run);
  const answer = await sdk.save({ requestId: `s${run}`, edits: [{ path: "src/file.txt", expect: sdkExpect, data: bytes }] });
  sdkExpect = hash(bytes);
  if (answer.paths[0]?.sha256 !== sdkExpect) throw new Error("the save answered another hash");
};
/** What a careful program does without gin: temp, fsync, rename, fsync of the directory. */
const savePlain = (run: number): void => {
  const bytes = content(run);
  const temp = join(plain, "src", `.tmp-${run}`);
  const fd = openSync(temp, "wx");
  writeSync(fd, bytes);
  fsyncSync(fd);
  closeSync(fd);
  renameSync(temp, join(plain, "src/file.txt"));
  const directory = openSync(join(plain, "src"), "r");
  fsyncSync(directory);
  closeSync(directory);
};
const saveGit = (run: number): void => {
  writeFileSync(join(git, "file.txt"), content(run));
  gitDo("add", "file.txt");
  gitDo("commit", "-q", "-m", "x");
};

const times = await sideBySide(
  { engine: saveEngine, sdk: saveSdk, sqlite: (run) => sqlite(content(run)), plain: savePlain },
  { runs: RUNS, warm: 60, rounds: 20 },
);
const slow = await sideBySide({ git: saveGit }, { runs: 40, warm: 3 });
report(
  "save",
  {
    "engine to one SQLite commit": atMost(times.engine.p50 / times.sqlite.p50, 4),
    "SDK to plain Node": atMost(times.sdk.p50 / times.plain.p50, 3),
    "git commit to SDK": atLeast(slow.git.p50 / times.sdk.p50, 10),
    "engine p99 to its p50": shown(times.engine.at(0.99) / times.engine.p50),
  },
  {
    engine_p50_ms: times.engine.p50,
    sdk_p50_ms: times.sdk.p50,
    sdk_p99_ms: times.sdk.at(0.99),
    sqlite_p50_ms: times.sqlite.p50,
    plain_p50_ms: times.plain.p50,
    git_p50_ms: slow.git.p50,
  },
  RUNS,
);
await engine.close();
await daemon.stop();
process.exit(0);
