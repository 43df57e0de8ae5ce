import { PathKind } from "../../../gen/gin/v1/common_pb.ts";
import { type DiffRequest, type DiffResponse, DiffStatus, type FileDiff } from "../../../gen/gin/v1/diff_pb.ts";
import { GinError, Pace } from "../../base/index.ts";
import { diffFile, diffTrees, type FileDifference, type RenamedDifference } from "../../history/index.ts";
import { mayTouch } from "../../policy/index.ts";
import { type Content, compareBytes, type Hash } from "../../store/index.ts";
import { type CursorScope, pageSize } from "../cursors.ts";
import { type Ground, type Handlers, type Invocation, stateOf, type Target, targetOf } from "../invocation.ts";
import { checkMost, LIMITS } from "../limits.ts";
import { requirePath } from "../resolve.ts";
import { ByHash } from "./content.ts";
import { type DiffPlace, PatchPage } from "./diff-page.ts";
import { findSnapshot, isHead, treePath } from "./snapshot.ts";

/** Lists of differences kept for their next pages, and patches that are being paged through. */
const RECENT_LISTS = 4;
const RECENT_PATCHES = 2;

const STATUS = {
  added: DiffStatus.ADDED,
  deleted: DiffStatus.DELETED,
  modified: DiffStatus.MODIFIED,
  renamed: DiffStatus.RENAMED,
  mode: DiffStatus.MODE,
  type: DiffStatus.TYPE,
} as const;

/** What another page of the same diff needs again. Found by what the answer depends on, so never stale. */
interface Recent {
  readonly lists: ByHash<readonly RenamedDifference[]>;
  readonly patches: ByHash<FileDifference>;
}

/** Diff: what differs between two snapshots, file by file, with patches. */
export function diffHandlers(ground: Ground): Pick<Handlers, "diff"> {
  const recent: Recent = { lists: new ByHash(RECENT_LISTS), patches: new ByHash(RECENT_PATCHES) };
  return { diff: (request, call) => new DiffReader(ground, recent, request, call).read() };
}

/** A side of the diff. */
interface Side {
  /** "" for the head of a workspace that has none yet. */
  readonly checkpoint: string;
  readonly generation: number;
  readonly tree: Hash;
}

class DiffReader {
  readonly #ground: Ground;
  readonly #recent: Recent;
  readonly #request: DiffRequest;
  readonly #call: Invocation;
  readonly #target: Target;
  readonly #context: number | undefined;
  readonly #prefix: string;
  readonly #pace: Pace;

  constructor(ground: Ground, recent: Recent, request: DiffRequest, call: Invocation) {
    this.#ground = ground;
    this.#recent = recent;
    this.#request = request;
    this.#call = call;
    this.#target = targetOf(call);
    const asked = request.contextLines ?? DEFAULT_CONTEXT;
    checkMost("diff_context_lines", asked, "context_lines");
    this.#context = request.summary ? undefined : asked;
    this.#prefix = request.prefix === "" || request.prefix === "." ? "" : treePath(request.prefix);
    this.#pace = new Pace(ground.clock, call.signal);
  }

  async read(): Promise<DiffResponse> {
    const limit = pageSize(this.#request.limit, LIMITS.page_default_bytes.value);
    checkMost("page_max_bytes", limit, "limit");
    if (this.#prefix !== "") requirePath(this.#call.caller, this.#prefix);
    const scope = this.#scope();
    const place = this.#ground.cursors.open(scope, this.#request.cursor) as DiffPlace | undefined;
    if (place === undefined) await this.#sync();
    // In one turn, so that state and sides speak of the same head.
    const state = stateOf(this.#target.workspace.state());
    const from = place === undefined ? this.#side(this.#from) : this.#again(place.from);
    const to = place === undefined ? this.#side(this.#request.to) : this.#again(place.to);
    const list = await this.#list(from, to);
    const page = new PatchPage(limit, place);
    let next: Pick<DiffPlace, "path" | "offset"> | undefined;
    const files: FileDiff[] = [];
    for (let at = place === undefined ? 0 : indexOf(list, place.path); at < list.length; at += 1) {
      const difference = list[at];
      if (difference === undefined) break;
      await this.#pace.next();
      const file = await this.#file(difference);
      const piece = page.take(difference.path, file.patch);
      if (piece === undefined) {
        next = { path: difference.path, offset: 0 };
        break;
      }
      files.push(messageOf(difference, file, piece.text, piece.next !== undefined));
      if (piece.next !== undefined) {
        next = { path: difference.path, offset: piece.next };
        break;
      }
    }
    return {
      $typeName: "gin.v1.DiffResponse",
      state: { $typeName: "gin.v1.State", ...state },
      from: from.checkpoint,
      to: to.checkpoint,
      files,
      nextCursor:
        next === undefined ? "" : this.#ground.cursors.seal(scope, { from: from.checkpoint, to: to.checkpoint, ...next }),
    };
  }

  /** Head is what is on disk: what changed there is recorded before anything is compared. */
  async #sync(): Promise<void> {
    if (isHead(this.#request.to) || this.#from === "head") await this.#target.workspace.sync(this.#call.signal);
  }

  #side(snapshot: string): Side {
    if (!isHead(snapshot)) {
      return this.#again(findSnapshot(this.#ground, this.#target, snapshot).checkpoint);
    }
    const { head, generation } = this.#target.workspace.state();
    return { checkpoint: head, generation, tree: this.#target.workspace.tree() };
  }

  /** A side by its checkpoint's id, as a cursor names it. */
  #again(checkpoint: string): Side {
    if (checkpoint === "") return { checkpoint, generation: 0, tree: this.#ground.store.trees.empty };
    const found = this.#ground.reader.checkpoint(checkpoint);
    if (found === undefined || found.workspace !== this.#target.rowid) throw expired();
    return { checkpoint, generation: found.generation, tree: found.tree };
  }

  async #list(from: Side, to: Side): Promise<readonly RenamedDifference[]> {
    const { caller, signal } = this.#call;
    // Renames that were saved are the workspace's own, whatever the trees.
    const { rowid } = this.#target;
    const key = JSON.stringify([rowid, from.tree, to.tree, this.#prefix, from.generation, to.generation, caller.paths ?? null]);
    const known = this.#recent.lists.get(key);
    if (known !== undefined) return known;
    const { reader, store, clock } = this.#ground;
    const found = await diffTrees(
      {
        trees: store.trees,
        from: from.tree,
        to: to.tree,
        prefix: this.#prefix,
        visible: (path) => mayTouch(caller, path),
      },
      {
        bytes: (sha256) => reader.object(sha256),
        renamedFrom: (path) => reader.renameOnto(rowid, path, from.generation, to.generation)?.from,
      },
      clock,
      signal,
    );
    return this.#recent.lists.set(key, found);
  }

  async #file(difference: RenamedDifference): Promise<FileDifference> {
    const { path, oldPath, before, after } = difference;
    const key = JSON.stringify([path, oldPath, before, after, this.#context ?? -1]);
    const known = this.#recent.patches.get(key);
    if (known !== undefined) return known;
    const { reader, differ } = this.#ground;
    const sources = { differ, bytes: (sha256: Hash) => reader.object(sha256), maxBytes: LIMITS.diff_file_bytes.value };
    const file = await diffFile(difference, this.#context, sources, this.#call.signal);
    // Only what may be asked for again: a patch that one page cannot hold.
    return file.patch.length > KEPT_PATCH_BYTES ? this.#recent.patches.set(key, file) : file;
  }

  get #from(): string {
    return this.#request.from === "" ? "base" : this.#request.from;
  }

  #scope(): CursorScope {
    const { to } = this.#request;
    const query = [this.#target.id, this.#from, isHead(to) ? "head" : to, this.#prefix, this.#context ?? -1];
    return { operation: "Diff", principal: this.#call.caller.principal, query };
  }
}

const DEFAULT_CONTEXT = 3;
/** Patches from here on are kept for the next page. */
const KEPT_PATCH_BYTES = 16_384;

/** Index of the first difference at a path or behind it, in the byte order trees have. */
function indexOf(list: readonly RenamedDifference[], path: string): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareBytes(list[middle]?.path ?? "", path) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function messageOf(difference: RenamedDifference, file: FileDifference, patch: string, continues: boolean): FileDiff {
  const { path, oldPath, before, after, similarity } = difference;
  return {
    $typeName: "gin.v1.FileDiff",
    path,
    status: STATUS[file.status],
    oldPath,
    oldSha256: before?.sha256 ?? "",
    newSha256: after?.sha256 ?? "",
    oldSize: BigInt(before?.size ?? 0),
    newSize: BigInt(after?.size ?? 0),
    oldExecutable: before?.executable ?? false,
    newExecutable: after?.executable ?? false,
    oldKind: kindOf(before),
    newKind: kindOf(after),
    addedLines: BigInt(file.added),
    removedLines: BigInt(file.removed),
    binary: file.binary,
    similarity,
    patch,
    patchContinues: continues,
    noPatch: file.noPatch,
  };
}

function kindOf(content: Content | null): PathKind {
  if (content === null) return PathKind.UNSPECIFIED;
  return content.kind === "symlink" ? PathKind.SYMLINK : PathKind.FILE;
}

function expired(): GinError {
  return new GinError("CURSOR_EXPIRED", "what the cursor pages through is no longer kept");
}
