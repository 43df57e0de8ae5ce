import { systemRandom } from "../../../src/daemon/base/index.ts";
import { type AcquireInput, createLeases, type Fence, type Lease, type Leases } from "../../../src/daemon/lease/index.ts";
import { type CommitResult, type FenceCheck, openStore, type Store } from "../../../src/daemon/store/index.ts";
import { atTeardown } from "../../helpers/teardown.ts";
import { tempDir } from "../../helpers/temp.ts";
import { type VirtualClock, virtualClock } from "./virtual-clock.ts";

/** Leases over a real store with one workspace, on a virtual clock. */
export interface Desk {
  readonly store: Store;
  readonly clock: VirtualClock;
  readonly workspace: number;
  leases: Leases;
  /** Acquires without waiting, 60 s, principal "ann", unless told otherwise. */
  acquire(paths: readonly string[], more?: Partial<AcquireInput>): Promise<Lease>;
  /** Commits an empty save under a fence check. */
  commit(fence: FenceCheck | undefined): Promise<CommitResult | undefined>;
  /** Resolves when the store has answered everything sent so far and those answers were dealt with. */
  settled(): Promise<void>;
  /** A new daemon on the same store. */
  restart(): void;
}

/** Opens a desk; everything is closed at teardown. `real` puts the store into its own thread, as the daemon does. */
export async function openDesk(real = false): Promise<Desk> {
  const store = await openStore({ directory: tempDir("lease"), inline: !real });
  atTeardown(() => store.close());
  const at = { machine: "m", hostIdentity: "h", incarnations: [], leaseIncarnation: "li_first" };
  await store.write("takeover", at);
  const names = { id: "ws_1", name: "one", repository: "rp_1", repositoryName: "one" };
  const row = { ...names, root: "root", device: "1", inode: "1", incarnation: "in_1", tree: store.trees.empty };
  const { rowid: workspace } = await store.write("workspace.create", { row });
  const clock = virtualClock();
  const start = () => {
    const leases = createLeases({ store, clock, random: systemRandom });
    leases.load(workspace);
    return leases;
  };
  const desk: Desk = {
    store,
    clock,
    workspace,
    leases: start(),
    acquire: (paths, more = {}) =>
      desk.leases.acquire({ workspace, principal: "ann", paths, ttlMs: 60_000, intent: "", waitMs: 0, ...more }),
    async commit(fence) {
      const state = store.read.workspace(workspace);
      if (state === undefined) throw new Error("the workspace is gone");
      const nothing = { checkpoints: [], objects: [], nodes: [], journal: [] };
      const save = { workspace, generation: state.generation, epoch: state.epoch, ...nothing, ...(fence && { fence }) };
      return (await store.write("commit", { saves: [save], boot: "b" }))[0];
    },
    async settled() {
      for (let round = 0; round < 3; round += 1) {
        await store.write("applied", { saves: [] });
        await new Promise((done) => setImmediate(done));
      }
    },
    restart() {
      desk.leases.close();
      desk.leases = start();
    },
  };
  atTeardown(() => desk.leases.close());
  return desk;
}

/** A lease's fence. */
export const fenceOf = ({ leaseIncarnation, leaseEpoch }: Lease): Fence => ({ leaseIncarnation, leaseEpoch });

/** What a call throws or rejects with, in short: reason, message and facts. */
export async function refusal(call: () => unknown): Promise<{
  readonly reason: string;
  readonly message: string;
  readonly facts: Readonly<Record<string, unknown>>;
  readonly nextCall: unknown;
}> {
  try {
    await call();
  } catch (thrown) {
    if (thrown instanceof Error && "reason" in thrown) return thrown as never;
    throw thrown;
  }
  throw new Error("it was not refused");
}
