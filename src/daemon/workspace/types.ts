import type { Content, FenceCheck, Hash, PathState, RequestRow } from "../store/index.ts";
import type { FileStat } from "./files/index.ts";
import type { WatchHealth } from "./watch/index.ts";

/** State of a workspace, as every answer carries it. */
export interface State {
  readonly incarnation: string;
  readonly generation: number;
  readonly epoch: number;
  readonly head: string;
}

/** One edit, checked for form by the api: exactly one change, or rename with content, or executable alone. */
export interface EditInput {
  readonly path: string;
  /** A hash, "absent", or undefined when not given. */
  readonly expect?: Hash | "absent";
  readonly content?: Uint8Array;
  /** Target of a symlink. */
  readonly link?: string;
  readonly delete?: boolean;
  readonly renameTo?: string;
  readonly executable?: boolean;
}

/** A save as the api hands it over. */
export interface SaveInput {
  readonly principal: string;
  readonly requestId: string;
  readonly incarnation?: string;
  readonly generation?: number;
  readonly epoch?: number;
  readonly fence?: { readonly leaseIncarnation: string; readonly leaseEpoch: number };
  /** Whether this principal must hold a lease. */
  readonly leaseRequired: boolean;
  readonly edits: readonly EditInput[];
  readonly onConflict: "refuse" | "merge";
  readonly message: string;
  readonly dryRun: boolean;
  readonly cause: "save" | "tool" | "undo" | "redo";
  /** Of an undo or redo: ids of the checkpoints it takes back, newest first; recorded with its own. */
  readonly undoes?: readonly string[];
  /** Throws when this caller may not touch a canonical path (token prefixes, policy); called after the walk, both for the path asked for and the one it resolves to. */
  readonly authorise: (path: string, action: "save" | "delete") => void;
  /** Builds the request's outcome row from the outcome; undefined for a dry run. */
  readonly remember?: (outcome: SaveOutcome) => RequestRow;
  readonly signal?: AbortSignal;
}

/** What a save did. */
export interface SaveOutcome {
  readonly state: State;
  readonly checkpoint: string;
  readonly paths: readonly SavedPath[];
  readonly noChange: boolean;
  readonly dryRun: boolean;
  readonly applyPending: boolean;
  readonly rescued: readonly { readonly path: string; readonly sha256: Hash; readonly checkpoint: string }[];
}

export interface SavedPath {
  readonly path: string;
  /** null when deleted. */
  readonly content: PathState;
  readonly merged: boolean;
  readonly noChange: boolean;
}

/** A path read at head: text, hash and state agree. */
export type HeadRead =
  | {
      readonly kind: "file";
      readonly path: string;
      readonly content: Content;
      readonly bytes: Uint8Array;
      readonly state: State;
      readonly checkpoint: string;
    }
  /** Over the whole-read limit: read in pieces; the hash was computed from the same handle. */
  | {
      readonly kind: "large";
      readonly path: string;
      readonly content: Content;
      readonly read: (offset: number, length: number) => Promise<Uint8Array>;
      readonly close: () => void;
      readonly state: State;
      readonly checkpoint: string;
    }
  | { readonly kind: "directory"; readonly path: string; readonly entries: readonly ListedEntry[]; readonly state: State }
  | { readonly kind: "symlink"; readonly path: string; readonly target: string; readonly state: State };

export interface ListedEntry {
  readonly name: string;
  readonly kind: FileStat["kind"];
  readonly size: number;
  readonly executable: boolean;
  /** As recorded at head; undefined when it is not. */
  readonly sha256?: Hash;
  readonly sensitive: boolean;
  /** When it was last written, in nanoseconds of the epoch; undefined for what is not on disk. */
  readonly mtimeNs?: bigint;
}

/** What a path is on disk, without its content. */
export interface PathFacts {
  /** Canonical. */
  readonly path: string;
  readonly stat: FileStat;
  /** The first bytes of a regular file; empty where none were asked for. */
  readonly sample: Uint8Array;
}

/** How far the first look at the whole tree is, and what any look could not read. */
export interface ImportProgress {
  /** Whether the whole tree was looked at once; from then on there is a base. */
  readonly done: boolean;
  /** Files and symlinks looked at so far, and the bytes of their contents. */
  readonly files: number;
  readonly bytes: number;
  /** Directories known and not looked into yet. */
  readonly directoriesLeft: number;
  /** Files and directories the last look could not read: what was recorded of them stays recorded. */
  readonly unreadable: number;
  /** For people: the first of those, or why the look does not go on; "" when all is well. */
  readonly note: string;
}

/** What the repository says whose work tree the directory is in. */
export interface GitFacts {
  /** Commit the base was taken from; "" when it was none. */
  readonly baseCommit: string;
  /** "" in a repository without a commit. */
  readonly headCommit: string;
  /** "" when HEAD is detached. */
  readonly branch: string;
  /** Whether HEAD is another commit than the base's. */
  readonly headMoved: boolean;
}

/** An attached workspace: the actor that owns its directory. */
export interface Workspace {
  readonly rowid: number;
  readonly id: string;
  readonly root: string;
  state(): State;
  /** "stopped" after an fsync error: nothing is written any more until the daemon restarts. */
  status(): { readonly status: "active" | "missing" | "stopped"; readonly note: string };
  /** Root of the head's tree. */
  tree(): Hash;
  save(input: SaveInput): Promise<SaveOutcome>;
  /**
   * Reads a path on disk; a recorded path whose bytes differ is absorbed first, an unrecorded file is recorded (import).
   * `authorise` sees the canonical path before a byte is read.
   */
  readHead(
    path: string,
    options: { readonly authorise: (path: string) => void; readonly content: boolean; readonly signal?: AbortSignal },
  ): Promise<HeadRead>;
  /**
   * Compares the whole tracked tree with the disk, records what changed outside as one checkpoint, and gives the state then: everything that
   * was on disk when this was called is recorded. Rejects with NOT_READY until the first import has ended, CANCELLED, WORKSPACE_MISSING_ROOT, BUSY.
   */
  sync(signal?: AbortSignal): Promise<State>;
  /**
   * The same by what the watcher tells, which costs next to nothing when nothing changed: what it has not handed out yet is looked at now. Where it cannot tell
   * of everything (it polls, it is off, something was lost, the file system is shared with other machines) this is sync. Not seen: a write through a
   * shared memory map that nothing else followed.
   */
  settle(signal?: AbortSignal): Promise<State>;
  importProgress(): ImportProgress;
  /** How changes outside are noticed; undefined when nothing watches. */
  watching(): WatchHealth | undefined;
  /** Undefined when the directory is in no Git work tree. */
  git(): Promise<GitFacts | undefined>;
  /**
   * What is at a path on disk, symlinks inside followed, with up to `sampleBytes` of a file's beginning. Nothing is absorbed or hashed,
   * however large it is; a save that is not on disk yet is not seen. `authorise` sees the canonical path first.
   */
  facts(path: string, options: { readonly authorise: (path: string) => void; readonly sampleBytes: number }): Promise<PathFacts>;
  /** Syntax, protected names and walk only: the canonical path. */
  canonical(path: string): string;
  /** Runs, without a pause, what calls `canonical` for many paths; the directories it passes are held open for it. */
  scope(run: () => void): void;
  /** Saves committed but not yet on disk. */
  applyPending(): number;
  /** Saves waiting for their turn. */
  queued(): number;
  /** Called after each change of head, in order. */
  onChange(listener: (state: State) => void): () => void;
  /** Lets running saves finish, makes everything durable, lets go of the directory. */
  close(): Promise<void>;
}

/** What the engine asks of the lease room. */
export interface LeaseJudge {
  judge(
    workspace: number,
    principal: string,
    paths: readonly string[],
    fence: { readonly leaseIncarnation: string; readonly leaseEpoch: number } | undefined,
    required: boolean,
  ): FenceCheck | undefined;
}

/** One side of a three-way merge of a path: what is there, or null where nothing is. */
export type MergeSide = { readonly kind: "file" | "symlink"; readonly bytes: Uint8Array; readonly executable: boolean } | null;

/** What the engine asks of the history room: the three-way merge of one path (`ours` is what the caller wants). */
export interface PathMerger {
  mergePath(
    base: MergeSide | undefined,
    ours: MergeSide,
    theirs: MergeSide,
    signal?: AbortSignal,
  ): Promise<
    | { readonly clean: true; readonly merged: MergeSide }
    | { readonly clean: false; readonly conflict: string; readonly hunks: readonly MergeHunk[] }
  >;
}

/** A conflict in lines of the three sides; the text is data. */
export interface MergeHunk {
  readonly baseStart: number;
  readonly baseEnd: number;
  readonly oursStart: number;
  readonly oursEnd: number;
  readonly theirsStart: number;
  readonly theirsEnd: number;
  readonly base: string;
  readonly ours: string;
  readonly theirs: string;
}
