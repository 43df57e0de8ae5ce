import type { Lock } from "../store/index.ts";

/** A lock held by this process until it is released or the process ends; the kernel then frees it. */
export interface HeldLock {
  release(): void;
}

/** The store's takeLock: `note` says who holds it, for whoever comes second. */
export type LockTaker = (file: string, note: string) => Lock;

/** What gin's locks say of their holder. */
export interface LockNote {
  readonly host: string;
  readonly pid: number;
  readonly version: string;
}

/** A directory as the kernel knows it: two spellings of one directory are equal here. */
export interface DirectoryIdentity {
  /** Real path. */
  readonly path: string;
  /** Device number, decimal. */
  readonly device: string;
  /** Inode number, decimal. */
  readonly inode: string;
}

/** Sole use of a root by this host, over all hosts of this user. */
export interface RootClaim extends DirectoryIdentity {
  /** Marks the claim as alive, so that a cleaner of old temporary files leaves it; call it now and then. */
  touch(): void;
  release(): void;
}

/** A root that is open, for the overlap check. */
export interface OpenRoot extends DirectoryIdentity {
  /** Workspace id, for the error. */
  readonly workspace: string;
}
