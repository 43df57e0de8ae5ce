import type { MessageInitShape } from "@bufbuild/protobuf";
import type { CheckpointSchema } from "../../../gen/gin/v1/history_pb.ts";
import type { Ground } from "../invocation.ts";

/** Checkpoints kept in the contract's form: as many as a burst of saves makes while its watchers catch up. */
const KEPT = 256;

/** A checkpoint in the contract's form, as whoever may see all paths sees it. */
export type ShownCheckpoint = MessageInitShape<typeof CheckpointSchema>;

/** What the watchers of a daemon share, so that fifty of them do not ask the store fifty times for the same thing. */
export class WatchShared {
  readonly #ground: Ground;
  /** By workspace id and generation, which name a checkpoint for good; oldest first. */
  readonly #checkpoints = new Map<string, ShownCheckpoint>();
  /** Number of each workspace's newest annotation, by its row. */
  readonly #newest = new Map<number, number>();

  constructor(ground: Ground) {
    this.#ground = ground;
    ground.annotations.onWrite(({ workspace, seq }) =>
      this.#newest.set(workspace, Math.max(seq, this.#newest.get(workspace) ?? 0)),
    );
  }

  /** A checkpoint that a watcher was told of lately. */
  checkpoint(workspace: string, generation: number): ShownCheckpoint | undefined {
    return this.#checkpoints.get(`${workspace} ${generation}`);
  }

  /** Keeps one for the others. */
  keep(workspace: string, generation: number, shown: ShownCheckpoint): void {
    this.#checkpoints.set(`${workspace} ${generation}`, shown);
    if (this.#checkpoints.size <= KEPT) return;
    const [oldest] = this.#checkpoints.keys();
    if (oldest !== undefined) this.#checkpoints.delete(oldest);
  }

  /** Number of a workspace's newest annotation; 0 when it has none. */
  newestAnnotation(workspace: number): number {
    let newest = this.#newest.get(workspace);
    if (newest === undefined) {
      newest = this.#ground.reader.annotations({ workspace, limit: 1 })[0]?.seq ?? 0;
      this.#newest.set(workspace, newest);
    }
    return newest;
  }
}
