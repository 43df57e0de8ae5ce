import { type Clock, GinError, type Random } from "../base/index.ts";
import type {
  CauseName,
  Content,
  FenceCheck,
  Hash,
  JournalStep,
  NewCheckpoint,
  NewObject,
  PathChange,
  PathState,
  SaveCommit,
  Store,
  TreeNode,
} from "../store/index.ts";
import { sameState } from "./content.ts";
import type { Decided } from "./judge.ts";
import { CAPTURE_BYTES } from "./limits.ts";
import type { Observed } from "./observe.ts";

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
}

/** A change outside gin, as the checkpoint that records it sees it. */
interface Outside extends PathChange {
  readonly cause: "import" | "external";
  readonly bytes: Uint8Array | undefined;
}

/** A planned commit and where the line stands after it. */
export interface Planned {
  /** Undefined when there is nothing to write. */
  readonly commit: SaveCommit | undefined;
  readonly line: Line;
  /** Paths whose outside change this commit records, and under which checkpoint. */
  readonly absorbed: ReadonlyMap<string, { readonly checkpoint: string; readonly cause: string }>;
  /** Paths the save itself changes. */
  readonly changed: readonly Decided[];
  /** The save's own checkpoint; undefined when it changes nothing. */
  readonly own: NewCheckpoint | undefined;
  /** Nodes this plan put into `pending`: taken out again when the plan is given up. */
  readonly fresh: readonly Hash[];
}

/** Who saves and why. */
export interface Author {
  readonly principal: string;
  readonly requestId: string;
  readonly message: string;
  readonly cause: CauseName;
}

/**
 * Turns observations and decisions into one commit: first a checkpoint for what was imported, then one for what changed
 * outside, then the save's own. `decided` is undefined when only the outside changes are to be recorded.
 * Throws TOO_LARGE when bytes about to be replaced cannot be kept.
 */
export function planCommit(
  view: PlanView,
  line: Line,
  seen: Iterable<Observed>,
  decided: readonly Decided[] | undefined,
  author: Author | undefined,
  fence: FenceCheck | undefined,
): Planned {
  const outside = outsideChanges(view, seen, decided ?? []);
  const changed = (decided ?? []).filter((one) => !sameState(one.after, one.seen.content));
  for (const one of changed) checkKept(view.store, one.seen);
  const build = new Builder(view, line);
  const absorbed = new Map<string, { checkpoint: string; cause: string }>();
  for (const cause of ["import", "external"] as const) {
    const changes = outside.filter((one) => one.cause === cause);
    if (changes.length === 0) continue;
    const made = build.checkpoint({ principal: "", requestId: "", message: "", cause }, changes);
    for (const one of changes) {
      absorbed.set(one.path, { checkpoint: made.id, cause });
      if (one.after !== null && one.bytes !== undefined && one.bytes.byteLength <= CAPTURE_BYTES)
        build.keep(one.after.sha256, one.bytes);
    }
  }
  let own: NewCheckpoint | undefined;
  if (changed.length > 0 && author !== undefined) {
    own = build.checkpoint(author, changed.map(toChange));
    for (const one of changed) {
      if (one.seen.content !== null && one.seen.bytes !== undefined) build.keep(one.seen.content.sha256, one.seen.bytes);
      if (one.after !== null && one.bytes !== undefined) build.keep(one.after.sha256, one.bytes);
    }
  }
  const journal: JournalStep[] =
    own === undefined
      ? []
      : changed.map(({ slot, seen: { content }, after, mode }) => ({ path: slot.path, before: content, after, mode }));
  if (build.checkpoints.length === 0) return { commit: undefined, line, absorbed, changed: [], own, fresh: build.fresh };
  const commit: SaveCommit = {
    workspace: view.workspace,
    generation: line.generation,
    epoch: view.epoch,
    ...(fence === undefined ? {} : { fence }),
    checkpoints: build.checkpoints,
    objects: [...build.objects.values()],
    nodes: build.nodes,
    journal,
  };
  return { commit, line: build.line, absorbed, changed: own === undefined ? [] : changed, own, fresh: build.fresh };
}

/**
 * Records outside edits that a save displaced while it was applied: one checkpoint with what they had written, one that is the
 * save again. The files need nothing: the save's content stands there.
 */
export function planRescue(
  view: PlanView,
  line: Line,
  author: Author,
  rescued: readonly { readonly path: string; readonly content: Content; readonly bytes: Uint8Array; readonly ours: PathState }[],
): { readonly commit: SaveCommit; readonly line: Line; readonly checkpoint: string } {
  const build = new Builder(view, line);
  const theirs = build.checkpoint(
    { principal: "", requestId: "", message: "an edit outside gin that a save replaced at the same moment", cause: "external" },
    rescued.map((one) => ({ path: one.path, before: one.ours, after: one.content })),
  );
  for (const one of rescued) build.keep(one.content.sha256, one.bytes);
  build.checkpoint(
    author,
    rescued.map((one) => ({ path: one.path, before: one.content, after: one.ours })),
  );
  const commit: SaveCommit = {
    workspace: view.workspace,
    generation: line.generation,
    epoch: view.epoch,
    checkpoints: build.checkpoints,
    objects: [...build.objects.values()],
    nodes: build.nodes,
    journal: [],
  };
  return { commit, line: build.line, checkpoint: theirs.id };
}

function toChange(one: Decided): PathChange {
  const from = one.slot.arrival?.from;
  const change = { path: one.slot.path, before: one.seen.content, after: one.after };
  return from === undefined ? change : { ...change, renamedFrom: from };
}

/** Bytes a save replaces or removes are kept with it, or they could not be given back. */
function checkKept(store: Store, seen: Observed): void {
  if (seen.content === null || seen.bytes !== undefined || store.read.hasObject(seen.content.sha256)) return;
  throw new GinError("TOO_LARGE", `${seen.path} is too large to be changed through gin`, undefined, {
    facts: { path: seen.path },
  });
}

/** Differences between what is recorded and what was seen, and what the tree must let go of to hold them. */
function outsideChanges(view: PlanView, seen: Iterable<Observed>, decided: readonly Decided[]): Outside[] {
  const changes: Outside[] = [];
  const settled = new Set<string>();
  for (const one of seen) {
    settled.add(one.path);
    const before = view.store.trees.get(view.startTree, one.path);
    if (sameState(before, one.content)) continue;
    changes.push({ path: one.path, before, after: one.content, cause: causeOf(view, one.path, before), bytes: one.bytes });
  }
  const present = new Set<string>();
  for (const one of changes) if (one.after !== null) present.add(one.path);
  for (const one of decided) if (one.after !== null) present.add(one.slot.path);
  for (const path of present) {
    for (const gone of inTheWay(view, path)) {
      if (settled.has(gone.path)) continue;
      settled.add(gone.path);
      changes.push({ path: gone.path, before: gone.content, after: null, cause: "external", bytes: undefined });
    }
  }
  return changes;
}

function causeOf(view: PlanView, path: string, before: PathState): "import" | "external" {
  return before === null && view.store.read.lastTouch(view.workspace, path) === undefined ? "import" : "external";
}

/** Recorded paths that cannot exist beside `path`: a file where it has a directory, or files below it. */
function* inTheWay(view: PlanView, path: string): Generator<{ path: string; content: Content }> {
  const { trees } = view.store;
  for (let cut = path.lastIndexOf("/"); cut > 0; cut = path.lastIndexOf("/", cut - 1)) {
    const above = path.slice(0, cut);
    const content = trees.get(view.startTree, above);
    if (content !== null) yield { path: above, content };
  }
  if (trees.list(view.startTree, path) !== undefined) yield* trees.walk(view.startTree, path);
}

/** Collects the checkpoints of one commit. */
class Builder {
  readonly checkpoints: NewCheckpoint[] = [];
  readonly nodes: TreeNode[] = [];
  readonly fresh: Hash[] = [];
  readonly objects = new Map<Hash, NewObject>();
  readonly #view: PlanView;
  line: Line;

  constructor(view: PlanView, line: Line) {
    this.#view = view;
    this.line = line;
  }

  checkpoint(author: Author, paths: readonly PathChange[]): NewCheckpoint {
    const { store, clock, random, workspace, pending } = this.#view;
    const { root, nodes } = store.trees.change(this.line.tree, paths, pending);
    for (const node of nodes) {
      if (!pending.has(node.hash)) this.fresh.push(node.hash);
      pending.set(node.hash, node.data);
      this.nodes.push(node);
    }
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
    };
    this.checkpoints.push(made);
    this.line = { generation: made.generation, head: made.id, tree: root };
    return made;
  }

  keep(sha256: Hash, bytes: Uint8Array): void {
    if (this.objects.has(sha256) || this.#view.store.read.hasObject(sha256)) return;
    this.objects.set(sha256, { sha256, bytes });
  }
}
