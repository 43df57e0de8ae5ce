import { GinError, type Json } from "../../base/index.ts";
import { type GivenFile, type Scope, SEARCHED_BYTES } from "../../search/index.ts";
import { textArg } from "../args.ts";
import { FILE_BYTES, loadFile } from "../files/load.ts";
import { toolPath } from "../files/path.ts";
import type { JsonMap, ReadContext } from "../types.ts";

/** What a call searches, and what its further pages are bound to. */
export interface Searched {
  readonly where: Scope | GivenFile;
  /** The recorded state; "" for a file that is not recorded. */
  readonly checkpoint: string;
  /** Canonical. */
  readonly path: string;
  /** Whether the path is one file. */
  readonly file: boolean;
  /** Why there can be nothing, found before anything is searched. */
  readonly nothing: "path_not_found" | "path_is_empty_dir" | undefined;
  /** For the cursor of the next page. */
  readonly bound: Json;
}

/** A place a cursor holds. */
type Bound = { readonly path: string } & (
  | { readonly checkpoint: string }
  /** Of a file that is read as it is: its content. */
  | { readonly sha256: string }
);

/** How a call looks at what it searches. */
export interface SettleOptions {
  readonly include?: string | undefined;
  /** Whether names alone are wanted: a file that is not recorded is not read. Default false. */
  readonly names?: boolean;
}

/**
 * Settles what is searched: the first page brings the record up to date and names its checkpoint, later ones read that checkpoint, whatever came
 * since. `query` is what the cursor is bound to. Throws INVALID_CURSOR, HISTORY_TRIMMED, CURSOR_EXPIRED, SCOPE_FORBIDDEN, and what looking at
 * the path throws: PATH_INVALID, PATH_OUTSIDE_WORKSPACE, PATH_SENSITIVE.
 */
export async function settle(context: ReadContext, args: JsonMap, query: JsonMap, options: SettleOptions): Promise<Searched> {
  const bound = context.cursors.open(query, textArg(args, "cursor")) as Bound | undefined;
  if (bound === undefined) return first(context, toolPath(textArg(args, "path")), options);
  if ("sha256" in bound) return sameFile(context, bound);
  mayLook(context, bound.path);
  return recorded(context, bound, options.include);
}

async function first(context: ReadContext, asked: string, options: SettleOptions): Promise<Searched> {
  const { workspace, signal, store } = context;
  const { include, names = false } = options;
  const likely = canonical(context, asked);
  if (likely !== undefined) mayLook(context, likely);
  const { head: checkpoint } = await workspace.settle(signal);
  const path = canonical(context, asked);
  if (path === undefined) return { ...recorded(context, { checkpoint, path: asked }, undefined), nothing: "path_not_found" };
  mayLook(context, path);
  const settled = recorded(context, { checkpoint, path }, include);
  const tree = treeOf(context, checkpoint);
  const content = path === "" ? null : store.trees.get(tree, path);
  if (path === "" || (content === null && store.trees.list(tree, path) !== undefined)) return settled;
  // Whoever may look below a recorded directory of this name is not therefore told of anything else of it.
  context.authorise(path);
  // Not recorded, or not with its bytes: an empty or ignored directory, an ignored file, a large one.
  const kind = content?.kind ?? (await kindOf(context, path));
  if (kind === "directory") return { ...settled, nothing: "path_is_empty_dir" };
  if (kind !== "file") return { ...settled, nothing: "path_not_found" };
  const kept = content !== null && content.size <= SEARCHED_BYTES && store.read.hasObject(content.sha256);
  return kept || names ? { ...settled, file: true } : given(await loadFile(context, path, FILE_BYTES));
}

/** The path in a recorded state. */
function recorded(context: ReadContext, bound: { path: string; checkpoint: string }, include: string | undefined): Searched {
  const { workspace, caller } = context;
  const { path, checkpoint } = bound;
  const tree = treeOf(context, checkpoint);
  const where: Scope = {
    workspace: workspace.rowid,
    tree,
    path,
    prefixes: caller.paths,
    ...(include === undefined ? {} : { include: [include] }),
  };
  return { where, path, file: false, nothing: undefined, bound: { path, checkpoint }, checkpoint };
}

/** A file by its own name, with the bytes it has now. */
function given({ path, bytes, sha256 }: { path: string; bytes: Uint8Array; sha256: string }): Searched {
  return { where: { path, bytes }, path, file: true, nothing: undefined, bound: { path, sha256 }, checkpoint: "" };
}

async function sameFile(context: ReadContext, { path, sha256 }: { path: string; sha256: string }): Promise<Searched> {
  context.authorise(path);
  const kept = context.store.read.object(sha256);
  if (kept !== undefined) return given({ path, sha256, bytes: kept });
  const now = await loadFile(context, path, FILE_BYTES);
  if (now.sha256 === sha256) return given({ ...now, path });
  throw new GinError("CURSOR_EXPIRED", `${path} changed since the first page`, "search again without the cursor", {
    facts: { path },
  });
}

/** The canonical path; undefined where nothing is, for who may know that. Throws SCOPE_FORBIDDEN. */
export function canonical({ workspace, authorise }: ReadContext, asked: string): string | undefined {
  try {
    return workspace.canonical(asked);
  } catch (thrown) {
    if (!(thrown instanceof GinError) || (thrown.reason !== "PATH_NOT_FOUND" && thrown.reason !== "NOT_A_DIRECTORY"))
      throw thrown;
    authorise(asked);
    return undefined;
  }
}

async function kindOf({ workspace, authorise }: ReadContext, path: string): Promise<string> {
  try {
    return (await workspace.facts(path, { authorise, sampleBytes: 0 })).stat.kind;
  } catch (thrown) {
    if (thrown instanceof GinError && thrown.reason === "PATH_NOT_FOUND") return "nothing";
    throw thrown;
  }
}

/** A caller who may touch a part of what is below a canonical path looks at that part; one who may touch none of it gets SCOPE_FORBIDDEN. */
export function mayLook({ caller, authorise }: ReadContext, path: string): void {
  const top = path === "" ? "" : `${path}/`;
  if (caller.paths?.some((prefix) => prefix.startsWith(top)) === true) return;
  authorise(path);
}

/** The tree of a checkpoint. Throws HISTORY_TRIMMED when its contents were given up, CURSOR_EXPIRED when nobody knows it any more. */
function treeOf({ store, workspace }: ReadContext, checkpoint: string): string {
  if (checkpoint === workspace.state().head) return workspace.tree();
  const found = store.read.checkpoint(checkpoint);
  if (found === undefined || found.workspace !== workspace.rowid) {
    throw new GinError("CURSOR_EXPIRED", "the state that was searched is not known any more", "search again without the cursor");
  }
  const row = store.read.workspace(workspace.rowid);
  if (row !== undefined && found.generation < row.keptFrom && found.id !== row.base && found.tree !== row.tree) {
    throw new GinError("HISTORY_TRIMMED", "what was searched is not kept any more", "search again without the cursor", {
      facts: { checkpoint, kept_from: row.keptFrom },
    });
  }
  return found.tree;
}
