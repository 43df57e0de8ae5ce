// First open of 20 k files until all are recorded and the base is made, against `git add -A && git commit` of the same files.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { plainEnv, scratch } from "./support/daemon.ts";
import { Times } from "./support/measure.ts";
import { atMost, report, shown } from "./support/report.ts";
import { openHost, openWhole, plant } from "./support/whole.ts";

const FILES = 20_000;
const ROUNDS = 5;

const git = (root: string, ...args: string[]): void =>
  void execFileSync("git", ["-C", root, "-c", "user.name=b", "-c", "user.email=b@b", ...args], { env: plainEnv });

const ours: number[] = [];
const theirs: number[] = [];
let bytes = 0;
let stored = 0;
for (let round = 0; round < ROUNDS; round++) {
  const root = scratch("tree");
  plant(root, FILES);
  const store = await openHost(join(scratch("data"), "data"), root);
  const from = performance.now();
  const workspace = await openWhole(store);
  while (store.read.workspaces()[0]?.imported !== true) await new Promise((resolve) => setTimeout(resolve, 1));
  ours.push(performance.now() - from);
  const progress = workspace.importProgress();
  if (progress.files !== FILES || progress.note !== "") throw new Error(`not all was imported: ${JSON.stringify(progress)}`);
  bytes = progress.bytes;
  stored = store.read.facts().bytes;
  await workspace.close();
  await store.close();
  git(root, "init", "-q");
  const start = performance.now();
  git(root, "add", "-A");
  git(root, "commit", "-q", "-m", "x");
  theirs.push(performance.now() - start);
}
const [gin, peer] = [new Times(ours), new Times(theirs)];
report(
  "import",
  {
    "import to git add and commit": atMost(gin.p50 / peer.p50, 1),
    "stored to imported bytes (compressed later)": shown(stored / bytes),
  },
  { import_p50_ms: gin.p50, git_p50_ms: peer.p50, files: FILES, bytes },
  ROUNDS,
);
process.exit(0);
