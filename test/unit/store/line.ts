import { createHash } from "node:crypto";
import type {
  CommitResult,
  Content,
  NewCheckpoint,
  PathState,
  RequestRow,
  SaveCommit,
  Store,
} from "../../../src/daemon/store/index.ts";

// Apart from fixture.ts, because child processes use it and have no test runner.

export function sha(bytes: Uint8Array | string): string {
  return createHash("sha256").update(bytes).digest("hex");
}

export function file(bytes: Uint8Array | string, executable = false): Content {
  return { kind: "file", sha256: sha(bytes), size: Buffer.byteLength(bytes), executable };
}

export function request(id: string, more: Partial<RequestRow> = {}): RequestRow {
  const same = { scope: 1, principal: "alice", operation: "Save", outcome: "committed" as const, timeMs: 1 };
  return { ...same, id, digest: sha(id), answer: Buffer.from(`answer ${id}`), ...more };
}

/** A workspace's line of work, as the save engine would drive it. */
export class Line {
  generation = 0;
  epoch = 1;
  head = "";
  tree: string;
  private count = 0;

  constructor(
    readonly store: Store,
    readonly rowid: number,
  ) {
    this.tree = store.trees.empty;
  }

  static async make(store: Store, id = "ws_1"): Promise<Line> {
    const { rowid } = await store.write("workspace.create", {
      row: {
        id,
        name: `name of ${id}`,
        repository: "rp_1",
        repositoryName: "repo",
        root: `/srv/${id}`,
        device: "8",
        inode: "9",
        incarnation: "in_1",
        tree: store.trees.empty,
      },
    });
    return new Line(store, rowid);
  }

  /** The save of some paths, judged at this line's present state. */
  plan(
    contents: Record<string, Uint8Array | string | null>,
    more: Partial<SaveCommit> = {},
    checkpoint: Partial<NewCheckpoint> = {},
  ): SaveCommit {
    const { store, rowid, generation, epoch } = this;
    const paths = Object.entries(contents).map(([path, bytes]) => ({
      path,
      before: store.trees.get(this.tree, path),
      after: bytes === null ? null : (file(bytes) as PathState),
    }));
    const { root, nodes } = store.trees.change(this.tree, paths);
    const objects = Object.values(contents).flatMap((bytes) =>
      bytes === null ? [] : [{ sha256: sha(bytes), bytes: Buffer.from(bytes) }],
    );
    const id = `ck_${rowid}_${generation}_${++this.count}`;
    return {
      workspace: rowid,
      generation,
      epoch,
      objects,
      nodes,
      journal: paths.map((change) => ({ ...change, mode: 0o644 })),
      checkpoints: [
        {
          id,
          workspace: rowid,
          parents: this.head === "" ? [] : [this.head],
          generation: generation + 1,
          cause: "save",
          principal: "alice",
          requestId: "",
          message: "",
          timeMs: 1_000 + generation,
          tree: root,
          paths,
          ...checkpoint,
        },
      ],
      ...more,
    };
  }

  /** Commits planned saves and moves along. */
  async commit(...saves: SaveCommit[]): Promise<CommitResult[]> {
    const results = await this.store.write("commit", { saves, boot: "boot-1" });
    this.refresh();
    return results;
  }

  async save(
    contents: Record<string, Uint8Array | string | null>,
    more: Partial<SaveCommit> = {},
    checkpoint: Partial<NewCheckpoint> = {},
  ): Promise<string> {
    const save = this.plan(contents, more, checkpoint);
    const results = await this.commit(save);
    if (results[0] !== "committed") throw new Error(`the save was ${results[0]}`);
    return save.checkpoints[0]?.id ?? "";
  }

  refresh(): void {
    const row = this.store.read.workspace(this.rowid);
    if (row === undefined) throw new Error("the workspace is gone");
    ({ generation: this.generation, epoch: this.epoch, head: this.head, tree: this.tree } = row);
  }
}
