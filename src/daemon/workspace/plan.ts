import { GinError } from "../base/index.ts";
import {
  type Content,
  type FenceCheck,
  type Hash,
  type JournalStep,
  type NewCheckpoint,
  type PathChange,
  type PathState,
  type SaveCommit,
  type Store,
  sameState,
  type Trees,
} from "../store/index.ts";
import { type Author, CommitBuilder, type Line, type PlanView } from "./commit-builder.ts";
import type { Decided } from "./judge.ts";
import { CAPTURE_BYTES } from "./limits.ts";
import type { Observed } from "./observe.ts";
import { paced } from "./slice.ts";

export { type Author, type Line, type PlanView, viewAt } from "./commit-builder.ts";

/** A change outside gin, as the checkpoint that records it sees it. */
interface Outside extends PathChange {
  cause: "import" | "external";
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

/**
 * Turns observations and decisions into one commit: first a checkpoint for what was imported, then one for what changed
 * outside, then the save's own. `decided` is undefined when only the outside changes are to be recorded.
 * Throws TOO_LARGE when bytes about to be replaced cannot be kept.
 */
export async function planCommit(
  view: PlanView,
  line: Line,
  seen: Iterable<Observed>,
  decided: readonly Decided[] | undefined,
  author: Author | undefined,
  fence: FenceCheck | undefined,
): Promise<Planned> {
  const { clock } = view;
  const outside = await outsideChanges(view, seen, decided ?? []);
  const changed = (decided ?? []).filter((one) => !sameState(one.after, one.seen.content));
  const counts = new Set<Hash>();
  await paced(clock, changed, (one) => checkKept(view.store, one.seen, counts));
  const build = new CommitBuilder(view, line);
  build.countOn(counts);
  try {
    return await fill(view, build, line, outside, changed, author, fence);
  } catch (thrown) {
    giveUp(view, build.fresh);
    throw thrown;
  }
}

/** Takes the nodes of a plan that is given up out of `pending`: the next plan must not take them for granted. */
export function giveUp(view: PlanView, fresh: readonly Hash[]): void {
  for (const hash of fresh) view.pending.delete(hash);
}

async function fill(
  view: PlanView,
  build: CommitBuilder,
  line: Line,
  outside: readonly Outside[],
  changed: readonly Decided[],
  author: Author | undefined,
  fence: FenceCheck | undefined,
): Promise<Planned> {
  const { clock } = view;
  const absorbed = new Map<string, { checkpoint: string; cause: string }>();
  for (const cause of ["import", "external"] as const) {
    const changes = outside.filter((one) => one.cause === cause);
    if (changes.length === 0) continue;
    const made = await build.checkpoint({ principal: "", requestId: "", message: "", cause }, withRenames(changes));
    await paced(clock, changes, ({ path, after, bytes }) => {
      absorbed.set(path, { checkpoint: made.id, cause });
      if (after === null) return;
      if (bytes === undefined) {
        // What a look at many paths found was sent ahead; the commit sees whether it is there.
        if (after.size <= CAPTURE_BYTES) build.countOn([after.sha256]);
      } else if (bytes.byteLength <= CAPTURE_BYTES) build.keep(after.sha256, bytes);
    });
  }
  let own: NewCheckpoint | undefined;
  if (changed.length > 0 && author !== undefined) {
    own = await build.checkpoint(author, changed.map(toChange));
    await paced(clock, changed, ({ seen: { content, bytes: before }, after, bytes }) => {
      if (content !== null && before !== undefined) build.keep(content.sha256, before);
      if (after !== null && bytes !== undefined) build.keep(after.sha256, bytes);
    });
  }
  if (build.checkpoints.length === 0) return { commit: undefined, line, absorbed, changed: [], own, fresh: build.fresh };
  const commit: SaveCommit = {
    workspace: view.workspace,
    generation: line.generation,
    epoch: view.epoch,
    ...(fence === undefined ? {} : { fence }),
    checkpoints: build.checkpoints,
    objects: [...build.objects.values()],
    ...build.counts(),
    nodes: build.nodes,
    journal: own === undefined ? [] : changed.map(toStep),
  };
  return { commit, line: build.line, absorbed, changed: own === undefined ? [] : changed, own, fresh: build.fresh };
}

function toStep({ slot, seen, after, mode }: Decided): JournalStep {
  return { path: slot.path, before: seen.content, after, mode };
}

/**
 * Records outside edits that a save displaced while it was applied: one checkpoint with what they had written, one that is the
 * save again. The files need nothing: the save's content stands there.
 */
export async function planRescue(
  view: PlanView,
  line: Line,
  author: Author,
  rescued: readonly { readonly path: string; readonly content: Content; readonly bytes: Uint8Array; readonly ours: PathState }[],
): Promise<{ readonly commit: SaveCommit; readonly line: Line; readonly checkpoint: string }> {
  const build = new CommitBuilder(view, line);
  const theirs = await build.checkpoint(
    { principal: "", requestId: "", message: "an edit outside gin that a save replaced at the same moment", cause: "external" },
    rescued.map((one) => ({ path: one.path, before: one.ours, after: one.content })),
  );
  for (const one of rescued) build.bring(one.content.sha256, one.bytes);
  await build.checkpoint(
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
function checkKept(store: Store, seen: Observed, counts: Set<Hash>): void {
  if (seen.content === null || seen.bytes !== undefined) return;
  if (store.read.hasObject(seen.content.sha256)) {
    counts.add(seen.content.sha256);
    return;
  }
  throw new GinError("TOO_LARGE", `${seen.path} is too large to be changed through gin`, undefined, {
    facts: { path: seen.path },
  });
}

/** Differences between what is recorded and what was seen, and what the tree must let go of to hold them. */
async function outsideChanges(view: PlanView, seen: Iterable<Observed>, decided: readonly Decided[]): Promise<Outside[]> {
  const changes: Outside[] = [];
  const settled = new Set<string>();
  await paced(view.clock, seen, (one) => {
    settled.add(one.path);
    const before = view.store.trees.get(view.startTree, one.path);
    if (sameState(before, one.content)) return;
    changes.push({ path: one.path, before, after: one.content, cause: "external", bytes: one.bytes });
  });
  if (view.imported !== true) await markFirst(view, changes);
  const seenFirst = new Map(changes.filter((one) => one.cause === "import").map((one) => [one.path, one]));
  const present = new Set<string>();
  for (const one of changes) if (one.after !== null) present.add(one.path);
  for (const one of decided) if (one.after !== null) present.add(one.slot.path);
  await paced(view.clock, present, (path) => {
    for (const gone of inTheWay(view.store.trees, view.startTree, path)) {
      // It took the place of something recorded: one checkpoint says both, for no tree holds the two.
      const first = seenFirst.get(path);
      if (first !== undefined) first.cause = "external";
      if (settled.has(gone.path)) continue;
      settled.add(gone.path);
      changes.push({ path: gone.path, before: gone.content, after: null, cause: "external", bytes: undefined });
    }
  });
  return changes;
}

/** Names where a file that came came from: the one that went with the same content, where there is one of each and it is not empty. */
function withRenames(changes: readonly Outside[]): readonly PathChange[] {
  const went = onlyOnes(changes, ({ before, after }) => (after === null ? before : null));
  if (went.size === 0) return changes;
  const came = onlyOnes(changes, ({ before, after }) => (before === null ? after : null));
  return changes.map((one) => {
    const key = one.before === null ? keyOf(one.after) : undefined;
    const from = key === undefined || came.get(key) === null ? undefined : went.get(key);
    return from === undefined || from === null ? one : { ...one, renamedFrom: from };
  });
}

/** Paths by their content; null where several have it. */
function onlyOnes(changes: readonly Outside[], contentOf: (one: Outside) => PathState): Map<string, string | null> {
  const found = new Map<string, string | null>();
  for (const one of changes) {
    const key = keyOf(contentOf(one));
    if (key !== undefined) found.set(key, found.has(key) ? null : one.path);
  }
  return found;
}

function keyOf(content: PathState): string | undefined {
  return content === null || content.size === 0 ? undefined : `${content.kind}${content.sha256}`;
}

/** Paths asked about at once. */
const ASKED = 500;

/** Before the whole tree was looked at, a path that no checkpoint touched is taken to have been there all along. */
async function markFirst(view: PlanView, changes: readonly Outside[]): Promise<void> {
  const fresh = changes.filter((one) => one.before === null);
  await paced(view.clock, chunksOf(fresh), (some) => {
    const touched = view.store.read.everTouched(
      view.workspace,
      some.map((one) => one.path),
    );
    for (const one of some) if (!touched.has(one.path)) one.cause = "import";
  });
}

function* chunksOf<T>(items: readonly T[]): Generator<readonly T[]> {
  for (let at = 0; at < items.length; at += ASKED) yield items.slice(at, at + ASKED);
}

/** Recorded paths that cannot exist beside `path`: a file where it has a directory, or files below it. */
export function* inTheWay(trees: Trees, tree: Hash, path: string): Generator<{ path: string; content: Content }> {
  for (let cut = path.lastIndexOf("/"); cut > 0; cut = path.lastIndexOf("/", cut - 1)) {
    const above = path.slice(0, cut);
    const content = trees.get(tree, above);
    if (content !== null) yield { path: above, content };
  }
  if (trees.list(tree, path) !== undefined) yield* trees.walk(tree, path);
}
