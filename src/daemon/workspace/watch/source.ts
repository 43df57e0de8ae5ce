import type { Clock, DirectoryWatch, Fs, Log } from "../../base/index.ts";
import type { ConfinedRoot } from "../files/index.ts";
import type { Ignored, OverflowReason, WatcherKind } from "./types.ts";

/** What a watcher is built from. */
export interface WatcherDeps {
  /** "auto": native on Linux, chokidar elsewhere. */
  readonly kind: WatcherKind | "auto";
  readonly root: ConfinedRoot;
  /** Absolute path of the root. */
  readonly path: string;
  readonly ignored: Ignored;
  readonly fs: Fs;
  readonly directories: DirectoryWatch;
  readonly clock: Clock;
  readonly log: Log;
  /** Default process.platform; decides what "auto" is. */
  readonly platform?: string;
}

/** One way to hear of changes, without settling, health or fallback: those are the watcher's, the same for all. */
export interface Source {
  /** Resolves when everything is watched. Rejects with SourceFailure when it cannot be. */
  start(): Promise<void>;
  refresh(directory: string): Promise<void>;
  /** Resolves when all that the system had told of when this was called is in the sink; false when that is not known to be all. */
  settled(): Promise<boolean>;
  /** Directories watched now. */
  count(): number;
  close(): Promise<void>;
}

/** Where a source puts what it hears. */
export interface Sink {
  /** A path that may have changed. */
  path(path: string): void;
  /** A directory whose entries may have changed. */
  directory(path: string): void;
  everything(reason: OverflowReason): void;
  /** Watching goes on no longer; the source is to be closed. */
  failed(failure: SourceFailure): void;
  /** The root's directory itself may have moved. */
  root(): void;
}

/**
 * Whether ignore rules are read from a path: a `.gitignore`, or a `.git` below the root, which draws a boundary. Such a path is told whatever the rules
 * say of it: they may hide the very file they are in, and whoever keeps them must hear that it changed.
 */
export function makesRules(path: string): boolean {
  return /(^|\/)\.gitignore$|\/\.git$/.test(path);
}

/** Why a source cannot watch. */
export class SourceFailure extends Error {
  override readonly name = "SourceFailure";
  readonly errno: string;
  /** What was refused: a watch, or a descriptor. */
  readonly what: "watch" | "open";

  constructor(errno: string, what: "watch" | "open", cause?: unknown) {
    super(`${what}: ${errno}`, { cause });
    this.errno = errno;
    this.what = what;
  }
}
