import { GinError, toGinError } from "../base/index.ts";
import {
  type BaseCheckpoint,
  type Content,
  type Hash,
  type PathChange,
  type PathState,
  sameState,
  type TreeNode,
} from "../store/index.ts";
import { CommitBuilder, type Line, viewAt } from "./commit-builder.ts";
import { contentOf } from "./content.ts";
import type { WorkspaceDeps } from "./deps.ts";
import { checkPath, isSensitive } from "./files/index.ts";
import type { GitEntry, GitReader } from "./git/index.ts";
import { Keeper } from "./keeper.ts";
import { CAPTURE_BYTES } from "./limits.ts";
import { inTheWay } from "./plan.ts";
import { paced } from "./slice.ts";
import { Touched } from "./touched.ts";

/** Entries of HEAD asked about at the same time, and about how many bytes: they are in memory together, and hashed in one go. */
const AT_ONCE = 64;
const AT_ONCE_BYTES = 4 * 1024 * 1024;
/** What a blob nobody has seen counts as: its size is known when it comes. */
const UNSEEN_BYTES = 256 * 1024;

/** The base of a workspace, ready to be recorded; its contents are in the store. */
export interface Base {
  readonly base: BaseCheckpoint;
  readonly nodes: readonly TreeNode[];
  /** Contents that no checkpoint before the base need name: gc may take them until the base is recorded. */
  readonly counts: readonly Hash[];
  readonly gitCommit: string;
}

/** HEAD as it was when the import began. */
export interface HeadTree {
  readonly commit: string;
  readonly entries: readonly GitEntry[];
}

/**
 * Makes what the workspace's base is, from what is recorded up to `until`: each path as it was first imported; in a Git work tree the files of
 * HEAD, where one that was a clean checkout has its bytes on disk. Works from the store alone, so that a killed import makes the same one.
 */
export async function makeBase(deps: WorkspaceDeps, until: Line, head: HeadTree | undefined, check: () => void): Promise<Base> {
  const { row, store } = deps;
  const since = new Map(store.read.touchedOtherwise(row.rowid, until.generation).map((path) => [path, undefined]));
  const imported = (path: string): PathState =>
    since.has(path) ? store.read.firstImported(row.rowid, path) : store.trees.get(until.tree, path);
  const git = await deps.git;
  const changes =
    head === undefined || git === undefined
      ? await asImported(deps, until, [...since.keys()], imported)
      : await asCommitted(deps, git, until, head, imported, check);
  const build = new CommitBuilder(viewAt(deps, until), { generation: -1, head: "", tree: until.tree });
  const made = await build.checkpoint({ principal: "", requestId: "", message: "", cause: "import" }, changes);
  const named = changes.flatMap(({ after }) => (after === null || after.size > CAPTURE_BYTES ? [] : [after.sha256]));
  return {
    base: { id: made.id, tree: made.tree, timeMs: made.timeMs },
    nodes: build.nodes,
    // What HEAD gave was sent to the store; of what was imported once, damage may have taken something for good.
    counts: head === undefined ? named.filter((sha256) => store.read.hasObject(sha256)) : named,
    gitCommit: head?.commit ?? "",
  };
}

/** What has to change in the tree to have every path as it was imported: what was made or changed since goes back. */
async function asImported(
  deps: WorkspaceDeps,
  until: Line,
  paths: readonly string[],
  imported: (path: string) => PathState,
): Promise<PathChange[]> {
  const { trees } = deps.store;
  const changes: PathChange[] = [];
  const there = new Touched();
  await paced(deps.clock, paths, (path) => {
    const before = trees.get(until.tree, path);
    let after = imported(path);
    // A file that became a directory (or the other way) while it was imported was seen both ways; the tree holds one.
    if (after !== null && (there.overlaps([path]) || inTheWay(trees, until.tree, path).next().done !== true)) after = null;
    if (after !== null) there.add([path]);
    if (!sameState(before, after)) changes.push({ path, before, after });
  });
  return changes;
}

async function asCommitted(
  deps: WorkspaceDeps,
  git: GitReader,
  until: Line,
  head: HeadTree,
  imported: (path: string) => PathState,
  check: () => void,
): Promise<PathChange[]> {
  const { trees } = deps.store;
  const keeper = new Keeper(deps.store, true);
  const wanted = new Map<string, Content>();
  for (const some of batches(deps, until, head.entries, imported)) {
    check();
    await Promise.all(
      some.map(async ({ entry, seen }) => {
        const content = await committedAt(deps, git, entry, seen, keeper);
        if (content !== undefined) wanted.set(entry.path, content);
      }),
    );
    if (keeper.full) await keeper.send();
    // Where everything is clean nothing of this waits for anybody.
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  await keeper.settle();
  const changes: PathChange[] = [];
  await paced(deps.clock, trees.walk(until.tree, ""), ({ path, content: before }) => {
    if (!wanted.has(path)) changes.push({ path, before, after: null });
  });
  await paced(deps.clock, wanted, ([path, after]) => {
    const before = trees.get(until.tree, path);
    if (!sameState(before, after)) changes.push({ path, before, after });
  });
  return changes;
}

/** Entries of HEAD that gin may hold, with what was imported at their paths, as many at once as are asked about together. */
function* batches(
  deps: WorkspaceDeps,
  until: Line,
  entries: readonly GitEntry[],
  imported: (path: string) => PathState,
): Generator<readonly { readonly entry: GitEntry; readonly seen: PathState }[]> {
  let batch: { entry: GitEntry; seen: PathState }[] = [];
  let bytes = 0;
  for (const entry of entries) {
    if (!canHold(deps, until, entry.path)) continue;
    const seen = imported(entry.path);
    const size = seen?.size ?? UNSEEN_BYTES;
    if (batch.length === AT_ONCE || (batch.length > 0 && bytes + size > AT_ONCE_BYTES)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push({ entry, seen });
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}

/** Whether gin may hold a path of a commit: protected names are in no tree. What is recorded was asked before. */
function canHold(deps: WorkspaceDeps, until: Line, path: string): boolean {
  if (deps.store.trees.get(until.tree, path) !== null) return true;
  try {
    if (checkPath(path) !== path || isSensitive(path)) return false;
    deps.root.locate(path, false);
    return true;
  } catch (thrown) {
    const { reason } = toGinError(thrown, path);
    return reason !== "PATH_SENSITIVE" && reason !== "PATH_INVALID";
  }
}

/** What the base holds at a path of HEAD; undefined when its blob cannot be had, and then the base does not hold it. */
async function committedAt(
  deps: WorkspaceDeps,
  git: GitReader,
  entry: GitEntry,
  seen: PathState,
  keeper: Keeper,
): Promise<Content | undefined> {
  try {
    const { kind } = entry;
    const executable = kind === "file" && entry.executable;
    if (seen !== null && seen.kind === kind) {
      const bytes = deps.store.read.object(seen.sha256);
      // Too large to be kept: the same size has to do. What should have been kept and is not is taken from HEAD.
      const sameSize = async () => seen.size > CAPTURE_BYTES && (await git.size(entry.blob)) === seen.size;
      if (bytes === undefined ? await sameSize() : await git.isClean(entry, bytes)) return { ...seen, executable };
    }
    const blob = await git.blob(entry.blob);
    const content = contentOf(blob, { kind, executable });
    if (blob.byteLength <= CAPTURE_BYTES) keeper.add(content.sha256, blob);
    return content;
  } catch (thrown) {
    const error = toGinError(thrown);
    if (!(thrown instanceof GinError) || error.reason === "CANCELLED" || error.reason === "STORE_CORRUPT") throw thrown;
    deps.log.warn({ path: entry.path, reason: error.reason }, "a file of HEAD could not be read for the base");
    return undefined;
  }
}
