import type { OuterRules } from "../ignore/index.ts";

/** What a directory is to Git. */
export type GitFound =
  /** Not (inside) a work tree, or one that is not to be trusted; `note` says which, for people: "" for a plain directory. */
  { readonly kind: "none"; readonly note: string } | { readonly kind: "work-tree"; readonly git: GitReader };

/**
 * Reads a Git work tree's repository, and nothing else: no call writes anything below `.git`, and none runs anything the repository's
 * configuration names. Calls reject with GinError: UNSUPPORTED (no git), IO_FAILED, TOO_LARGE, DEADLINE_EXCEEDED, CANCELLED; ID_NOT_FOUND for an object that is not there.
 */
export interface GitReader {
  readonly objectFormat: "sha1" | "sha256";
  /** Where the root is below the top of the work tree: "" or "a/b". */
  readonly prefix: string;
  /** What HEAD is, asked now. IO_FAILED when git cannot say; a commit whose objects are missing is told all the same, and `tree` rejects. */
  head(signal?: AbortSignal): Promise<GitHead>;
  /** The same, at most a second old: for telling that HEAD moved. */
  headNow(): Promise<GitHead>;
  /** The files of a commit's tree below the root, in Git's order. Left out are submodules, which are boundaries, and names that are not UTF-8; protected names are not. Empty for `null`. */
  tree(commit: string | null, signal?: AbortSignal): Promise<readonly GitEntry[]>;
  /** Size of a blob in bytes. */
  size(blob: string): Promise<number>;
  /** A blob's bytes; TOO_LARGE over `maxBytes` (default 64 MiB). Many may be asked for at once: one process answers them in order. */
  blob(blob: string, maxBytes?: number): Promise<Buffer>;
  /**
   * Whether these bytes on disk are a clean checkout of an entry: its blob itself, or that blob with CRLF for LF, or the large file that an LFS
   * pointer in the blob names. A symlink's bytes are its target. The executable bit is not looked at.
   */
  isClean(entry: GitEntry, bytes: Uint8Array): Promise<boolean>;
  /** The ignore rules of the user, of the repository, and of the directories above the root, as they are now. */
  outerRules(): Promise<OuterRules>;
  /** Ends the processes it keeps; later calls start them again. */
  close(): Promise<void>;
}

/** Where HEAD is. */
export interface GitHead {
  /** Object id of the commit; null in a repository without one. */
  readonly commit: string | null;
  /** Short name of the branch HEAD is on (also of one without a commit); null when it is detached. */
  readonly branch: string | null;
}

/** A file of a tree. */
export interface GitEntry {
  /** Relative to the root (not to the top of the work tree). */
  readonly path: string;
  readonly kind: "file" | "symlink";
  readonly executable: boolean;
  /** Object id of its blob. */
  readonly blob: string;
}
