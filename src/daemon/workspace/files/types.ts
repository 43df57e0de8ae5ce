import type { Writers } from "./writers.ts";

/** What lstat says of a path, as far as gin cares. */
export interface FileStat {
  readonly kind: "file" | "directory" | "symlink" | "special";
  readonly size: number;
  /** Permission bits (& 0o7777). */
  readonly mode: number;
  readonly executable: boolean;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
  readonly device: bigint;
  readonly inode: bigint;
  readonly links: number;
}

/** Where a walk ended: the canonical path, and what is there (undefined when nothing is). */
export interface Located {
  /** Workspace-relative, every symlink on it resolved (the last one too when it was followed). "" is the root. */
  readonly path: string;
  readonly stat: FileStat | undefined;
}

/** A file's bytes with the facts of the very handle they were read from. */
export interface ReadFile extends Located {
  readonly stat: FileStat;
  readonly bytes: Buffer;
}

/** An open regular file for reading in pieces. */
export interface OpenFile extends Located {
  readonly stat: FileStat;
  /** Up to `length` bytes at `offset`; shorter only at the end of the file. */
  read(offset: number, length: number): Promise<Buffer>;
  /** Whether it is still the file at its path and unchanged since it was opened (size, mtime, ctime). */
  unchanged(): boolean;
  close(): void;
}

/** A new content waiting beside its target under a hidden temp name. */
export interface Staged {
  /** Canonical target. */
  readonly path: string;
  /** Canonical path of the temp. */
  readonly temp: string;
  /** Of the temp's inode, to recognise it later. */
  readonly inode: bigint;
  readonly device: bigint;
}

/** What stood at the target before it was replaced, kept under a hidden temp name until the caller has looked at it. */
export interface Displaced {
  /** Canonical path of the temp that holds it now. */
  readonly temp: string;
  readonly stat: FileStat;
  /**
   * What else had to be displaced during the same placing because it appeared in the moment without a name, newest first.
   * Only the way without exchange has such a moment; left out when there was nothing.
   */
  readonly also?: readonly Displaced[];
}

/** An entry of a directory on disk. */
export interface DiskEntry {
  readonly name: string;
  readonly stat: FileStat;
  /** Protected name: listed, never opened. */
  readonly sensitive: boolean;
}

/** What the files room can do on this machine, for Capabilities and doctor. */
export interface FilesFeatures {
  /** "handle-walk" on Linux with procfs; "identity-check" elsewhere (weaker; documented). */
  readonly confinement: "handle-walk" | "identity-check";
  /** "exchange" (renameat2) or "rename-link". */
  readonly replace: "exchange" | "rename-link";
}

/**
 * A workspace's directory, held open by a handle. All access to workspace files goes through one of these; every path is
 * walked from the handle, a component at a time, so no rename or symlink beside us can lead it outside.
 *
 * Every method takes a workspace-relative path as callers spell it and throws GinError: PATH_INVALID, PATH_OUTSIDE_WORKSPACE,
 * PATH_SENSITIVE, PATH_NOT_FOUND, NOT_A_FILE, NOT_A_DIRECTORY, WORKSPACE_MISSING_ROOT, TOO_LARGE, DISK_FULL, IO_FAILED.
 * Messages and facts carry workspace-relative paths only.
 */
export interface ConfinedRoot {
  readonly device: bigint;
  readonly inode: bigint;
  readonly features: FilesFeatures;
  /**
   * The key under which this file system keeps a canonical path: two paths with one key name the same entry here.
   * The path itself where names do not fold. Lets a caller see two new names of one save that would collide.
   */
  twinKey(path: string): string;
  /** Throws WORKSPACE_MISSING_ROOT when the directory at the root's path is gone or another one. Cheap: called before each turn. */
  check(): void;
  /** Runs many calls with the directories they pass kept open; synchronous and short (a slice), for the handles stay what they were walked to. */
  scope<T>(run: () => T): T;
  /** Syntax, protected names, walk. `follow`: whether a symlink as the last component is followed (reads and writes) or meant itself (delete, rename). A missing directory on the way gives stat undefined and the path as spelled. */
  locate(path: string, follow: boolean): Located;
  /** Reads a whole regular file of at most `maxBytes` (else TOO_LARGE). Follows symlinks that stay inside. `admit` sees the canonical path before the file is opened, and may throw. */
  readFile(path: string, maxBytes: number, admit?: (canonical: string) => void): ReadFile;
  /** Opens a regular file for reading in pieces. */
  openFile(path: string): OpenFile;
  /** A symlink's target, not followed. */
  readLink(path: string): { readonly path: string; readonly target: string; readonly stat: FileStat };
  /** A directory's entries in byte order of their names, gin's temps left out. Names that are not UTF-8 are left out and counted. */
  list(path: string): { readonly path: string; readonly entries: DiskEntry[]; readonly skipped: number };
  /** Makes the missing directories above a canonical path; gives those it made, outermost first. */
  makeParents(path: string): string[];
  /** Writes bytes into a fresh temp beside the canonical target (O_EXCL, `mode` set on the descriptor); the parent must exist. `sync` fsyncs it. */
  stage(path: string, bytes: Uint8Array, mode: number): Staged;
  /** The same for a symlink. */
  stageLink(path: string, target: string): Staged;
  /** Removes a temp; one that is gone already is fine. */
  discard(temp: string): void;
  /**
   * Puts a staged content in place.
   * "create": nothing may be at the target (link with no-replace; gives undefined) — when something is there now, it is displaced as in "replace".
   * "replace": what is there is exchanged out and given back under a temp name; gives undefined when nothing was there.
   */
  place(staged: Staged, how: "create" | "replace"): Displaced | undefined;
  /** Takes what is at a canonical path (file or symlink itself) away to a temp name and gives it back for inspection; undefined when nothing is there. */
  takeAway(path: string): Displaced | undefined;
  /** Puts a displaced file back where nothing is now (no-replace); false when something is there. */
  putBack(displaced: Displaced, path: string): boolean;
  /** Whether anybody could still write to a temp's file; asked before it is read, "none" says that what is read is all there will be. */
  writers(temp: string): Writers;
  /** Reads a temp's bytes (displaced or staged), or a displaced symlink's target bytes. */
  readTemp(temp: string, maxBytes: number): ReadFile;
  /** Sets the permission bits of a regular file by its handle. */
  setMode(path: string, mode: number): void;
  /** Removes directories above a canonical path that are empty now and are in `made`. */
  removeMade(made: readonly string[]): void;
  /** fdatasync of a file's content; absent is fine. */
  syncFile(path: string): Promise<void>;
  /** fsync of a directory; absent is fine. */
  syncDirectory(path: string): Promise<void>;
  /** Canonical paths of gin's temps in one directory; none when it is not there. For recovery, which looks into them before it sweeps. */
  temps(directory: string): string[];
  /**
   * Removes every temp of gin's below the root (or just in these directories, canonical) but those in `keep`; gives how many.
   * Never follows symlinks, never enters .git.
   */
  sweep(directories?: readonly string[], keep?: ReadonlySet<string>): number;
  /** Whether a temp may have been left since the root was opened, which only a sweep would find. */
  littered(): boolean;
  close(): void;
}

/** How to open a root. */
export interface RootOptions {
  /** Additional protected names or globs from the host's configuration. */
  readonly sensitive?: readonly string[];
  /** Longest path in bytes (default 4,096) and component (255) are fixed by the contract. */
  readonly exchange?: "auto" | "off";
  /** "off": behaves as where the system does not tell who has a file open (tests). */
  readonly writers?: "auto" | "off";
  /** "auto": the strongest walk this system has. "identity-check" asks for the weaker one (tests of it on Linux). */
  readonly confinement?: "auto" | "identity-check";
}
