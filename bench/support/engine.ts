import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type Log, noFailPoints, systemClock, systemRandom } from "../../src/daemon/base/index.ts";
import { createMerger } from "../../src/daemon/history/index.ts";
import { createWorkspace, type EditInput, type SaveOutcome, type Workspace } from "../../src/daemon/workspace/index.ts";
import { repo } from "./daemon.ts";
import { openHost } from "./whole.ts";

const quiet: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** The save engine in this process, its store in a thread of its own, as the daemon wires them. */
export interface Engine {
  readonly workspace: Workspace;
  readonly root: string;
  /** Transactions the store was sent that wait for the disk. */
  commits(): number;
  save(requestId: string, edits: readonly EditInput[]): Promise<SaveOutcome>;
  close(): Promise<void>;
}

/** Opens it under `directory` (`data/` and `ws/`); `slowSyncMs` is put into each commit. */
export async function openEngine(directory: string, slowSyncMs = 0): Promise<Engine> {
  const root = join(directory, "ws");
  mkdirSync(root, { recursive: true });
  const inner = await openHost(join(directory, "data"), root, slowSyncMs);
  let commits = 0;
  const store: typeof inner = {
    ...inner,
    write(command, value) {
      if (command === "commit") commits++;
      return inner.write(command, value);
    },
  };
  const incarnations = store.read.workspaces().map(({ incarnation }) => incarnation);
  await store.write("takeover", { machine: "m", hostIdentity: "h", incarnations, leaseIncarnation: systemRandom.id("li") });
  const [found] = store.read.workspaces();
  if (found === undefined) throw new Error("the store has no workspace");
  const merger = createMerger({ worker: pathToFileURL(join(repo, "dist", "history-worker.mjs")) });
  const workspace = await createWorkspace({
    row: found,
    store,
    merger,
    leases: { judge: () => undefined },
    clock: systemClock,
    random: systemRandom,
    failPoints: noFailPoints,
    log: quiet,
    boot: "bench",
  });
  return {
    workspace,
    root,
    commits: () => commits,
    save: (requestId, edits) =>
      workspace.save({
        principal: "bench",
        requestId,
        leaseRequired: false,
        edits,
        onConflict: "refuse",
        message: "",
        dryRun: false,
        cause: "save",
        authorise: () => {},
        remember: (outcome) => ({
          scope: found.rowid,
          principal: "bench",
          id: requestId,
          operation: "Save",
          digest: "00".repeat(32),
          outcome: "committed",
          answer: Buffer.from(outcome.checkpoint),
          timeMs: 0,
        }),
      }),
    async close() {
      await workspace.close();
      await store.close();
      await merger.close();
    },
  };
}
