import type { Clock, FailPoint, Random } from "../base/index.ts";
import type { AnnotationCommands, AnnotationReads } from "./annotation-types.ts";
import type { GarbageCommands } from "./gc/types.ts";
import type { MemoryCommands, MemoryReads } from "./memory-types.ts";
import type { OriginCommands, OriginReads } from "./origin-types.ts";

/** SHA-256 as 64 lower-case hex digits. In SQLite it is a 32-byte blob. */
export type Hash = string;

/** What a path holds in a checkpoint. Directories are not recorded. */
export interface Content {
  readonly kind: "file" | "symlink";
  /** Of the raw bytes; of the target's bytes for a symlink. */
  readonly sha256: Hash;
  /** Bytes. */
  readonly size: number;
  /** Always false for a symlink. */
  readonly executable: boolean;
}

/** A path's content, or null where the path is absent. */
export type PathState = Content | null;

/** Names of causes as the store keeps them. */
export type CauseName = "import" | "save" | "tool" | "shell" | "external" | "undo" | "redo" | "advance" | "merge";

/** How one checkpoint changed one path, against its first parent. */
export interface PathChange {
  readonly path: string;
  readonly before: PathState;
  readonly after: PathState;
  readonly renamedFrom?: string;
}

/** A row of the log. Ids are minted by the room that makes the checkpoint. */
export interface Checkpoint {
  readonly id: string;
  /** Row id of its workspace. */
  readonly workspace: number;
  /** First parent first; none for a workspace's first checkpoint. */
  readonly parents: readonly string[];
  /** Head's counter once this is the head. */
  readonly generation: number;
  readonly cause: CauseName;
  /** "" when unknown. */
  readonly principal: string;
  /** "" when no request made it. */
  readonly requestId: string;
  readonly message: string;
  /** Wall milliseconds since 1970: for people, never for order. */
  readonly timeMs: number;
  /** Root of its tree. */
  readonly tree: Hash;
}

/** A checkpoint and what it touched. */
export interface NewCheckpoint extends Checkpoint {
  readonly paths: readonly PathChange[];
  /** Of an undo or redo: ids of the checkpoints it takes back, newest first. */
  readonly undoes?: readonly string[];
}

/** Bytes to keep under their hash. Known hashes are left alone. */
export interface NewObject {
  readonly sha256: Hash;
  readonly bytes: Uint8Array;
}

/** A tree node to keep. Known hashes are left alone. */
export interface TreeNode {
  readonly hash: Hash;
  readonly data: Uint8Array;
}

/** One path of a save as recovery needs it: the path, and what must be there when it is done. */
export interface JournalStep {
  readonly path: string;
  readonly before: PathState;
  readonly after: PathState;
  /** Permission bits the file must have when it is (re)written, e.g. 0o644. */
  readonly mode: number;
  /** Canonical path of the temp its content was staged under: after an exchange it holds what stood at the path. */
  readonly temp?: string;
}

/** A request's outcome, written in the transaction of its effect. */
export interface RequestRow {
  /** Row id of the workspace, or 0 for the host. */
  readonly scope: number;
  /** Full principal. */
  readonly principal: string;
  readonly id: string;
  /** RPC name, e.g. "Save". */
  readonly operation: string;
  /** SHA-256 over operation and arguments (docs/api.md: request ids). */
  readonly digest: Hash;
  readonly outcome: "committed" | "rejected";
  /** Binary protobuf: the response message, or an ErrorDetail. */
  readonly answer: Uint8Array;
  readonly timeMs: number;
}

/** The fence a save was judged under; the commit's statement checks that it is still the current one. */
export interface FenceCheck {
  readonly leaseId: string;
  readonly leaseEpoch: number;
}

/** One save of a batch, as a value: everything its savepoint writes. */
export interface SaveCommit {
  readonly workspace: number;
  /** Both must still be the workspace's, or nothing is written. */
  readonly generation: number;
  readonly epoch: number;
  readonly fence?: FenceCheck;
  /** In order; each one's first parent is the one before it, the first one's is the head. Empty for a save that changes nothing. */
  readonly checkpoints: readonly NewCheckpoint[];
  readonly objects: readonly NewObject[];
  /** Contents it relies on the store to have already: gc may have taken one since the save was planned. */
  readonly counts?: readonly Hash[];
  readonly nodes: readonly TreeNode[];
  /** Empty when nothing is to be applied: the save is then durable at once. */
  readonly journal: readonly JournalStep[];
  readonly request?: RequestRow;
}

/**
 * What became of one save of a batch. After the first that is not "committed" the rest of its batch is "skipped". "missing": a
 * content it counts on is not kept any more; planned anew, it brings it along.
 */
export type CommitResult = "committed" | "stale" | "fence" | "request_exists" | "missing" | "skipped";

/** A save whose files are not known to be on disk for good. */
export interface OpenSave {
  /** Its last checkpoint's id. */
  readonly id: string;
  readonly workspace: number;
  readonly generation: number;
  readonly state: "committed" | "applied";
  /** Boot id of the machine when it was applied or committed; "" after a sync that failed. */
  readonly boot: string;
  readonly steps: readonly JournalStep[];
}

/** A workspace's row. */
export interface WorkspaceRow {
  readonly rowid: number;
  /** "ws_…". */
  readonly id: string;
  readonly name: string;
  /** "rp_…". */
  readonly repository: string;
  readonly repositoryName: string;
  readonly root: string;
  /** Of the root directory, decimal. */
  readonly device: string;
  readonly inode: string;
  readonly incarnation: string;
  readonly generation: number;
  readonly epoch: number;
  /** Head checkpoint, "" before the first. */
  readonly head: string;
  /** Root of the head's tree. */
  readonly tree: Hash;
  /** Base checkpoint, "" before the first. */
  readonly base: string;
  readonly status: "active" | "closed";
  readonly leaseEpoch: number;
  /** First generation whose contents are all kept; 0 when none were ever given up. */
  readonly keptFrom: number;
  /** Whether the whole tree was looked at once, and the base made. */
  readonly imported: boolean;
  /** Commit the base was taken from; "" when it was none. */
  readonly gitCommit: string;
  /** Whether language servers that could run code of it may be started. */
  readonly trusted: boolean;
}

/** What a path's file looked like when its content was read: the same look means the same content, without reading it. */
export interface LookedRow {
  readonly path: string;
  /** Size, mtime, ctime, inode and mode as one text; compared, never taken apart. */
  readonly stamp: string;
  /** The later of mtime and ctime, in milliseconds since 1970. */
  readonly newestMs: number;
  readonly sha256: Hash;
}

/** The state of a workspace before anything recorded: what its base is. */
export interface BaseCheckpoint {
  readonly id: string;
  readonly tree: Hash;
  readonly timeMs: number;
}

/** A lease's row. Times are not kept: after a restart an unreleased lease has its whole ttl anew. */
export interface LeaseRow {
  readonly id: string;
  readonly workspace: number;
  readonly holder: string;
  readonly intent: string;
  /** Canonical prefixes; empty is the whole workspace. */
  readonly paths: readonly string[];
  readonly epoch: number;
  readonly ttlMs: number;
  /** "ended" covers released, expired, broken. */
  readonly state: "held" | "ended";
}

/** A token's row. The secret itself is nowhere. */
export interface TokenRow {
  /** "tk_…", public. */
  readonly id: string;
  readonly secretSha256: Hash;
  readonly principal: string;
  readonly scopes: readonly string[];
  /** Workspace ids; empty is all. */
  readonly workspaces: readonly string[];
  /** Path prefixes; empty is all. */
  readonly paths: readonly string[];
  readonly createdMs: number;
  readonly expiresMs: number;
  /** 0 when it never was; minute grain. */
  readonly lastUsedMs: number;
  /** 0 when it is not. */
  readonly revokedMs: number;
  readonly createdBy: string;
}

/** A long list kept for 24 hours. */
export interface DetailRow {
  /** "dt_…". */
  readonly id: string;
  readonly workspace: number;
  readonly principal: string;
  readonly kind: string;
  readonly body: Uint8Array;
  readonly timeMs: number;
}

/**
 * Every transaction as a value, with what it gives back. `durable` ones answer after their fsync; the others survive
 * the daemon's death but perhaps not the machine's.
 */
export interface Commands extends OriginCommands, AnnotationCommands, GarbageCommands, MemoryCommands {
  /** durable. One transaction, a savepoint each. `applied`: earlier saves whose files are in place by now. */
  commit: {
    in: { readonly saves: readonly SaveCommit[]; readonly boot: string; readonly applied?: readonly string[] };
    out: CommitResult[];
  };
  /** not durable. */
  applied: { in: { readonly saves: readonly string[] }; out: null };
  /** not durable: forgetting it only means the files are looked at once more. */
  durable: { in: { readonly saves: readonly string[] }; out: null };
  /** not durable. Their files could not be synced: nobody knows what of them is on disk, so recovery writes them again. */
  unsynced: { in: { readonly saves: readonly string[] }; out: null };
  /** How a term of ownership ended (`mark`; not kept when another has begun), or null: the next one begins, which is durable. */
  ended: { in: { readonly workspace: number; readonly epoch: number; readonly mark: string | null }; out: null };
  /** not durable: who had the file open is gone with the machine. Temps of displaced files that are still open, and those let go. */
  linger: {
    in: {
      readonly workspace: number;
      readonly kept: readonly { readonly temp: string; readonly path: string }[];
      readonly gone: readonly string[];
    };
    out: null;
  };
  /** not durable. A refusal; never replaces a committed row. */
  refusal: { in: RequestRow; out: null };
  /** not durable. Objects only: what ReadPath served. */
  objects: { in: { readonly objects: readonly NewObject[] }; out: null };
  /** not durable: what is forgotten is read again. `clear` forgets all of the workspace's first. */
  looked: {
    in: {
      readonly workspace: number;
      readonly clear: boolean;
      readonly put: readonly LookedRow[];
      readonly forget: readonly string[];
    };
    out: null;
  };
  /**
   * durable. The whole tree was looked at: the base becomes the checkpoint of generation 0, which is not in the log. Nothing is done when it is
   * "stale" (the workspace has another epoch, or was imported already), or when one of the contents it counts on is "missing".
   */
  "workspace.imported": {
    in: {
      readonly workspace: number;
      readonly epoch: number;
      readonly base: BaseCheckpoint;
      readonly nodes: readonly TreeNode[];
      /** Contents it brings back into a tree that the store had when it was made. */
      readonly counts: readonly Hash[];
      readonly gitCommit: string;
    };
    out: "done" | "stale" | "missing";
  };
  /** durable. Epoch + 1 for each workspace; `renew` mints new incarnations and a new lease incarnation. */
  takeover: {
    in: {
      readonly machine: string;
      readonly hostIdentity: string;
      readonly incarnations: readonly string[];
      readonly leaseIncarnation: string;
    };
    out: { readonly renewed: boolean };
  };
  /** durable. Makes the workspace, and its repository when it is new. */
  "workspace.create": {
    in: {
      readonly row: Omit<
        WorkspaceRow,
        | "rowid"
        | "generation"
        | "epoch"
        | "head"
        | "base"
        | "leaseEpoch"
        | "status"
        | "keptFrom"
        | "imported"
        | "gitCommit"
        | "trusted"
      >;
      readonly request?: RequestRow;
    };
    out: { readonly rowid: number };
  };
  /** durable. */
  "workspace.status": {
    in: {
      readonly rowid: number;
      readonly status: "active" | "closed";
      /** Where its directory is now. */
      readonly root?: string;
      readonly device?: string;
      readonly inode?: string;
      readonly request?: RequestRow;
    };
    out: null;
  };
  /** durable. */
  "workspace.trust": {
    in: { readonly rowid: number; readonly trusted: boolean; readonly request?: RequestRow };
    out: null;
  };
  /** durable. Gives up its rows; objects go with gc. */
  "workspace.remove": { in: { readonly rowid: number; readonly request?: RequestRow }; out: null };
  /** durable. Refuses (false) when lease_epoch is not the next one. */
  "lease.grant": { in: { readonly lease: LeaseRow; readonly request?: RequestRow }; out: boolean };
  /** not durable for expiry and release; durable when a request is given (break). */
  "lease.end": { in: { readonly ids: readonly string[]; readonly request?: RequestRow }; out: null };
  /** durable. */
  "token.create": { in: { readonly token: TokenRow; readonly request?: RequestRow }; out: null };
  /** durable. */
  "token.revoke": { in: { readonly id: string; readonly revokedMs: number; readonly request?: RequestRow }; out: null };
  /** not durable. */
  "token.used": { in: { readonly id: string; readonly lastUsedMs: number }; out: null };
  /** durable. What the principal did up to a generation is no longer in its list of what it can undo; the history itself stays. */
  "undo.clear": {
    in: { readonly workspace: number; readonly principal: string; readonly generation: number; readonly request: RequestRow };
    out: null;
  };
  /** not durable. */
  detail: { in: DetailRow; out: null };
  /** durable. Records a committed host request whose effect was elsewhere (backup, shutdown). */
  request: { in: RequestRow; out: null };
  /** Online copy by SQLite's own API, with the side store beside it; gives its bytes. */
  backup: { in: { readonly directory: string }; out: { readonly bytes: number } };
  /** Background care, one slice: WAL checkpoint, rows past their time, compression. `nowMs` is wall time; `more`: there is work left. */
  upkeep: { in: { readonly nowMs: number }; out: { readonly more: boolean } };
}

/** Which checkpoints, newest first. */
export interface CheckpointQuery {
  readonly workspace: number;
  /** The path itself or anything below it. */
  readonly path?: string;
  readonly principal?: string;
  /** With `principal`: also those of its sub-agents ("agent/sub"). Default false. */
  readonly subAgents?: boolean;
  /** Only what this request made. */
  readonly requestId?: string;
  readonly cause?: CauseName;
  /** Only older ones than this generation. */
  readonly beforeGeneration?: number;
  /** Only newer ones than this generation. */
  readonly afterGeneration?: number;
  readonly limit: number;
}

/** Short reads, on the caller's thread, through a read-only connection: each sees every transaction already answered. */
export interface StoreReader extends OriginReads, AnnotationReads, MemoryReads {
  workspaces(): WorkspaceRow[];
  workspace(rowid: number): WorkspaceRow | undefined;
  hasObject(sha256: Hash): boolean;
  /** The bytes, verified against their hash; undefined when they are not kept. Throws STORE_CORRUPT on a mismatch. */
  object(sha256: Hash): Uint8Array | undefined;
  treeNode(hash: Hash): Uint8Array | undefined;
  checkpoint(id: string): Checkpoint | undefined;
  checkpointAt(workspace: number, generation: number): Checkpoint | undefined;
  /** Those after a generation, oldest first. */
  checkpointsAfter(workspace: number, generation: number, limit: number): Checkpoint[];
  /** What it touched, by path order, from `offset`. */
  touched(checkpoint: string, offset: number, limit: number): { readonly paths: PathChange[]; readonly count: number };
  /** The first of what it touched at a path or below it, by path order. */
  touchedBelow(checkpoint: string, path: string, limit: number): PathChange[];
  checkpoints(query: CheckpointQuery): Checkpoint[];
  /** What an undo or redo took back, newest first; empty for any other checkpoint. */
  undone(checkpoint: string): string[];
  /** The undos and redos that took this checkpoint back, oldest first. */
  undoneBy(checkpoint: string): Checkpoint[];
  /** Generation up to which a principal cleared its list of what it can undo; 0 when it never did. */
  undoCleared(workspace: number, principal: string): number;
  /** Where a generation renamed this path to; undefined when it did not. */
  renamedTo(workspace: number, path: string, generation: number): string | undefined;
  /** What generations up to `until` touched, in their order and by path, behind one such place. By the rows' own key: however few a page has, it costs no more. */
  pathsTouched(
    workspace: number,
    after: { readonly generation: number; readonly path: string },
    until: number,
    limit: number,
  ): { readonly generation: number; readonly path: string }[];
  /** The newest checkpoint of the workspace that touched exactly this path. */
  lastTouch(workspace: number, path: string): Checkpoint | undefined;
  /** Whether any checkpoint found or left this content at exactly this path. */
  everHeld(workspace: number, path: string, sha256: Hash): boolean;
  /** How a path looked when it was last read; undefined when that is not known. */
  looked(workspace: number, path: string): LookedRow | undefined;
  /** The same of many paths, in order, those after `after`. */
  lookedAfter(workspace: number, after: string, limit: number): LookedRow[];
  /** Paths that checkpoints after a generation touched, in no order, each perhaps more than once. */
  touchedSince(workspace: number, generation: number): string[];
  /** Those of these paths that any checkpoint touched. */
  everTouched(workspace: number, paths: readonly string[]): Set<string>;
  /** Paths that anything but an import touched up to a generation, each once. */
  touchedOtherwise(workspace: number, untilGeneration: number): string[];
  /** What a path held when it was imported; null when something else made it. */
  firstImported(workspace: number, path: string): PathState;
  request(scope: number, principal: string, id: string): RequestRow | undefined;
  openSaves(workspace: number): OpenSave[];
  /** What the last term of ownership said at its end; undefined when it said nothing, or another has begun. */
  ended(workspace: number): string | undefined;
  /** Displaced files that were still open, or could not be looked at. */
  lingering(workspace: number): { readonly temp: string; readonly path: string }[];
  leases(workspace: number): LeaseRow[];
  lease(id: string): LeaseRow | undefined;
  tokens(): TokenRow[];
  token(id: string): TokenRow | undefined;
  detail(id: string): DetailRow | undefined;
  facts(): StoreFacts;
}

/** What the store knows of itself. */
export interface StoreFacts {
  /** Random id of this store; tokens name it as their audience. */
  readonly storeId: string;
  /** 32 bytes: key of cursors. */
  readonly cursorKey: Uint8Array;
  readonly leaseIncarnation: string;
  /** Since when request outcomes are complete, wall ms. */
  readonly requestsKeptSinceMs: number;
  /** When the store was made, wall ms. */
  readonly createdMs: number;
  /** Live pages plus side store. */
  readonly bytes: number;
  /** Of these, what heads, bases and open saves needed when gc looked last; 0 before it ever did. */
  readonly neededBytes: number;
  /** When gc looked last, wall ms; 0 for never. */
  readonly collectedMs: number;
  readonly schemaVersion: number;
}

/** The store: point reads here, transactions in its thread. */
export interface Store {
  readonly read: StoreReader;
  readonly trees: Trees;
  /** Sends one transaction; rejects with a GinError (DISK_FULL, STORE_READ_ONLY, STORE_CORRUPT, IO_FAILED, INTERNAL). */
  write<K extends keyof Commands>(command: K, value: Commands[K]["in"]): Promise<Commands[K]["out"]>;
  /** Finishes what was sent, checkpoints the WAL, closes. */
  close(): Promise<void>;
}

/** A path that two trees hold differently; one of the sides is not null. */
export interface TreeDifference {
  readonly path: string;
  readonly before: PathState;
  readonly after: PathState;
}

/** An entry of a directory in a tree. */
export interface TreeEntry {
  readonly name: string;
  /** null for a directory. */
  readonly content: Content | null;
}

/**
 * Merkle trees: a node a directory, split by name hash into nodes of at most 128 entries, so that the same set of paths
 * always has the same root whatever the order of changes. Empty directories vanish.
 */
export interface Trees {
  /** Root of the tree without paths. */
  readonly empty: Hash;
  /** The path's content; null when absent (also when it is a directory). */
  get(root: Hash, path: string): PathState;
  /** Entries in byte order of their names; undefined when no directory is there. "" is the root. */
  list(root: Hash, directory: string): TreeEntry[] | undefined;
  /** A changed tree and the nodes it needs that `root` did not. `pending` are nodes of trees not yet in the store. */
  change(
    root: Hash,
    changes: readonly { readonly path: string; readonly after: PathState }[],
    pending?: ReadonlyMap<Hash, Uint8Array>,
  ): { readonly root: Hash; readonly nodes: TreeNode[] };
  /** All paths below a prefix ("" is all), in byte order. */
  walk(root: Hash, prefix: string): Generator<{ readonly path: string; readonly content: Content }>;
  /** The prefix itself and all paths below it ("" is all) that differ, in byte order. Equal subtrees are not opened. */
  diff(from: Hash, to: Hash, prefix: string): Generator<TreeDifference>;
}

/** How to open a store. */
export interface StoreOptions {
  /** The data directory; made when absent (0700). */
  readonly directory: string;
  /** Fail point for the store thread: "exit" ends the process there with SIGKILL, "throw" throws there once. Tests only. */
  readonly failAt?: { readonly point: FailPoint; readonly how: "exit" | "throw"; readonly nth: number };
  /** Milliseconds put into each fsync, for bench save-many. */
  readonly slowSyncMs?: number;
  /** The store thread's entry. Default: `store-worker.mjs` beside the bundle, or one made from `worker.ts` when running from sources. */
  readonly worker?: URL;
  /**
   * Runs the transactions on the calling thread instead of a thread of their own: opens in milliseconds, but every
   * commit blocks the caller for its fsync. For doctor, restore and crash images, never for the daemon. Default false.
   */
  readonly inline?: boolean;
  /** Default: the machine's. Only a new store asks it. */
  readonly random?: Random;
  /** Default: the machine's. Only a new store asks it. */
  readonly clock?: Clock;
}

/** A lock on a path for as long as this process lives, or what the holder left to say of itself. */
export type Lock =
  | { readonly held: true; release(): void }
  /** `note` is what the holder gave, "" when it has not said it yet. */
  | { readonly held: false; readonly note: string };

/** What a check of a closed or open store found. */
export interface Integrity {
  readonly ok: boolean;
  /** One sentence each; at most 100. */
  readonly problems: readonly string[];
}
