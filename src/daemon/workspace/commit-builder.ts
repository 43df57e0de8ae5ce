import type { Clock, Random } from "../base/index.ts";
import type { CauseName, Hash, NewCheckpoint, NewObject, PathChange, Store, TreeNode } from "../store/index.ts";
import type { WorkspaceDeps } from "./deps.ts";
import { paced } from "./slice.ts";

/** Where the next commit attaches: the head, as it will be once everything planned before is committed. */
export interface Line {
  readonly generation: number;
  /** "" before the first checkpoint. */
  readonly head: string;
  readonly tree: Hash;
}

/** What planning needs of the workspace. */
export interface PlanView {
  readonly workspace: number;
  readonly epoch: number;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  /** The head's tree before this batch: saves of a batch touch disjoint paths, so what it says of a path still holds. */
  readonly startTree: Hash;
  /** Nodes of trees planned in this batch and not in the store yet. */
  readonly pending: Map<Hash, Uint8Array>;
  /** Whether the whole tree was looked at: what is seen for the first time was made since. Default false. */
  readonly imported?: boolean;
}

/** The view of a commit that stands alone, on top of what is recorded at a line. */
export function viewAt({ row, store, clock, random }: WorkspaceDeps, line: Line): PlanView {
  return { workspace: row.rowid, epoch: row.epoch, store, clock, random, startTree: line.tree, pending: new Map() };
}

/** Who saves and why. */
export interface Author {
  readonly principal: string;
  readonly requestId: string;
  readonly message: string;
  readonly cause: CauseName;
  /** Ids of the checkpoints an undo or redo takes back, newest first. */
  readonly undoes?: readonly string[];
}

/** Collects the checkpoints of one commit. */
export class CommitBuilder {
  readonly checkpoints: NewCheckpoint[] = [];
  readonly nodes: TreeNode[] = [];
  readonly fresh: Hash[] = [];
  readonly objects = new Map<Hash, NewObject>();
  readonly #counts = new Set<Hash>();
  readonly #view: PlanView;
  line: Line;

  constructor(view: PlanView, line: Line) {
    this.#view = view;
    this.line = line;
  }

  async checkpoint(author: Author, paths: readonly PathChange[]): Promise<NewCheckpoint> {
    const { clock, random, workspace } = this.#view;
    const root = await this.#change(paths);
    const made: NewCheckpoint = {
      id: random.id("ck"),
      workspace,
      parents: this.line.head === "" ? [] : [this.line.head],
      generation: this.line.generation + 1,
      cause: author.cause,
      principal: author.principal,
      requestId: author.requestId,
      message: author.message,
      timeMs: clock.wallMs(),
      tree: root,
      paths,
      ...(author.undoes === undefined ? {} : { undoes: author.undoes }),
    };
    this.checkpoints.push(made);
    this.line = { generation: made.generation, head: made.id, tree: root };
    return made;
  }

  /** The changed tree; a wide change goes in runs of neighbouring paths, so that no run holds up other callers for long. */
  async #change(paths: readonly PathChange[]): Promise<Hash> {
    const { store, clock, pending } = this.#view;
    let root = this.line.tree;
    await paced(clock, runsOf(paths), (run) => {
      const changed = store.trees.change(root, run, pending);
      root = changed.root;
      for (const node of changed.nodes) {
        if (!pending.has(node.hash)) this.fresh.push(node.hash);
        pending.set(node.hash, node.data);
        this.nodes.push(node);
      }
    });
    return root;
  }

  keep(sha256: Hash, bytes: Uint8Array): void {
    if (this.objects.has(sha256) || this.#counts.has(sha256)) return;
    if (this.#view.store.read.hasObject(sha256)) this.#counts.add(sha256);
    else this.bring(sha256, bytes);
  }

  /** Keeps a content whether the store has it or not: for a commit that cannot be planned anew. */
  bring(sha256: Hash, bytes: Uint8Array): void {
    this.objects.set(sha256, { sha256, bytes });
  }

  /** Relies on contents that the store has: the commit asks once more, for gc may take them before. */
  countOn(contents: Iterable<Hash>): void {
    for (const sha256 of contents) this.#counts.add(sha256);
  }

  /** Contents relied on, as a commit carries them. */
  counts(): { readonly counts?: readonly Hash[] } {
    return this.#counts.size === 0 ? {} : { counts: [...this.#counts] };
  }
}

/** Paths changed in one go. */
const RUN = 512;

/** Neighbouring paths together: each run writes its own directories' nodes and little else. */
function* runsOf(paths: readonly PathChange[]): Generator<readonly PathChange[]> {
  if (paths.length <= RUN) {
    yield paths;
    return;
  }
  // What goes comes first: a name cannot be a file and a directory at once, not even between two runs.
  const rank = (one: PathChange): string => (one.after === null ? `0${one.path}` : `1${one.path}`);
  const sorted = [...paths].sort((one, other) => (rank(one) < rank(other) ? -1 : 1));
  for (let at = 0; at < sorted.length; at += RUN) yield sorted.slice(at, at + RUN);
}
