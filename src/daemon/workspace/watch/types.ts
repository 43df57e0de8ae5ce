/** How changes on disk are noticed: "off" notices none, a path is then compared when it is read or saved. */
export type WatcherKind = "native" | "chokidar" | "polling" | "off";

/**
 * Tells that something below the root may have changed outside gin. Everything it says is a hint, never the truth: whoever is told looks for
 * itself. It may say too much, and what it cannot say it makes good by `overflow`.
 */
export interface Watcher {
  /**
   * Watches every directory that is not ignored; resolves when all are, or when it is settled that the disk is polled instead. What changes
   * before a directory's watch is set goes unheard: scan once after this resolved, or call `start` before the scan and rescan what
   * the scan passed before. Called once. Never rejects for what the disk or the system does: `health` says so.
   */
  start(hooks: WatcherHooks): Promise<void>;
  /**
   * The ignore rules below a directory ("" for all) have changed: watches what is no longer ignored and lets go of what is. Says nothing
   * itself of the files there: the caller rescans that directory.
   */
  refresh(directory: string): Promise<void>;
  /** Hands out at once what waits to be settled. */
  flush(): void;
  /**
   * Hands out everything that the system had told of when this was called, directories made a moment ago included. False when that may not be all there
   * is: nothing watches, it polls, something was lost, or the file system tells only of what is done on this machine. Whoever has to know then
   * looks at everything. True says nothing of writes through a shared memory map: the system does not tell of those. Never rejects.
   */
  settled(): Promise<boolean>;
  health(): WatchHealth;
  /** Ends it; resolves when no handle is left. No hook is called afterwards. May be called again, and while it starts. */
  close(): Promise<void>;
}

/** Called by a watcher, never during a call of it but from the event loop. A hook must not throw. */
export interface WatcherHooks {
  /**
   * One settled batch: 200 ms after the last event, at most 2 s after the first. Workspace-relative paths, each once, unordered; a path may be
   * - a file or symlink that came, changed or went;
   * - a directory: its own entries may have changed ("" is the root). Not said: that anything changed further below in directories known before. A
   *   directory that is new is hinted together with every directory in it; one that is gone stands for all that was below it.
   * Many names in one directory (over 256) become that directory.
   * What led to a path may be a symlink by now: nothing is at the path then, whatever stands behind the link, and no other hint need come after.
   */
  hint(paths: readonly string[]): void;
  /**
   * Anything may have changed: rescan the whole root. What it gives back is awaited by the one that polls: the next one comes at the earliest
   * 20 times as long after as this one took (2 s to 60 s), so the interval grows with the tree. One that watches asks once a minute besides, a native one only when it has told of anything since. While one runs no other is asked for.
   */
  overflow(reason: OverflowReason): void | Promise<void>;
  /** The health is another one now. */
  health(now: WatchHealth): void;
}

/**
 * Why everything may have changed. "flood": more came than the system keeps; "poll": nobody watches, so it is asked now and then;
 * "fault": a watch was lost; "root": the root's directory went away, was replaced, or is back.
 */
export type OverflowReason = "flood" | "poll" | "fault" | "root";

/**
 * "starting": watches are being set. "watching". "polling": asked for, or because watching failed (`note` says what mends it).
 * "lost": the root's directory is gone or another one; it is looked for every 2 s, and watching goes on when the same directory is back.
 * "off": nothing is noticed. "closed".
 */
export type WatchState = "starting" | "watching" | "polling" | "lost" | "off" | "closed";

/** How a watcher does, for Context. */
export interface WatchHealth {
  readonly kind: WatcherKind;
  readonly state: WatchState;
  /** Directories watched now: the progress while it starts; 0 when none is. */
  readonly directories: number;
  /** For people: why it polls and the command that mends it; "" when all is well. No absolute path of the workspace. */
  readonly note: string;
}

/** What a watcher is told of ignored paths; asked before a directory is watched and before a path is hinted, but not of a path that rules are read from. */
export type Ignored = (path: string, isDirectory: boolean) => boolean;
