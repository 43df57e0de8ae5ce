// Opening a workspace of 20 k files again, nothing changed, until the whole tree was compared, against `git status`.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { plainEnv, scratch } from "./support/daemon.ts";
import { sideBySide } from "./support/measure.ts";
import { atMost, report } from "./support/report.ts";
import { openHost, openWhole, plant } from "./support/whole.ts";

const FILES = 20_000;

const git = (root: string, ...args: string[]): string =>
  execFileSync("git", ["-C", root, "-c", "user.name=b", "-c", "user.email=b@b", ...args], { env: plainEnv, encoding: "utf8" });

const root = scratch("tree");
plant(root, FILES);
git(root, "init", "-q");
git(root, "add", "-A");
git(root, "commit", "-q", "-m", "x");
const data = join(scratch("data"), "data");
const store = await openHost(data, root);
const first = await openWhole(store);
while (store.read.workspaces()[0]?.imported !== true) await new Promise((resolve) => setTimeout(resolve, 10));
// A file as new as the look is read again: two seconds on, none is, for git as for gin.
await new Promise((resolve) => setTimeout(resolve, 3_000));
await first.sync();
await first.close();
if (git(root, "status", "--porcelain") !== "") throw new Error("git sees changes");
const { generation } = first.state();

let open: Awaited<ReturnType<typeof openWhole>> | undefined;
const times = await sideBySide(
  {
    reopen: async () => {
      open = await openWhole(store);
      const state = await open.sync();
      if (state.generation !== generation) throw new Error("something was recorded");
    },
    close: async () => open?.close(),
    status: () => git(root, "status", "--porcelain"),
  },
  { runs: 12, warm: 2, rounds: 12 },
);
report(
  "reopen",
  { "reopen to git status": atMost(times.reopen.p50 / times.status.p50, 2.5) },
  { reopen_p50_ms: times.reopen.p50, status_p50_ms: times.status.p50, close_p50_ms: times.close.p50, files: FILES },
  12,
);
process.exit(0);
