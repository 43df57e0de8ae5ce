/**
 * Being told by the system that a directory's entries change: one watch a directory, never below it. Like Fs, a port, so that tests
 * can make the n-th watch fail, and say what is heard.
 */
export interface DirectoryWatch {
  /**
   * Watches one directory. Throws an error with `code` as node:fs does (ENOSPC: no watches are left; EMFILE: no instances; ENOENT, ENOTDIR).
   * The listener is called from the event loop, never before this returns.
   */
  watch(path: string, listener: DirectoryListener): DirectoryHandle;
  /**
   * Called when so many events came in one go that the system's queue may have been full before them: what did not fit was dropped without a
   * word. The queue is one for the whole process, so all are told. Gives the function that ends it.
   */
  onFlood(listener: () => void): () => void;
  /** Names of the directories in a directory, symlinks not followed, unordered, without those that are not UTF-8. Throws as node:fs does. */
  directoriesIn(path: string): string[];
}

/** What is heard of one directory. */
export interface DirectoryListener {
  /**
   * `name`: an entry that came, went or changed, or, for the directory's own end, the last part of the path it is watched by; undefined when
   * the system did not say or the name is not UTF-8. `renamed`: it came or went; otherwise its bytes or its mode changed.
   */
  event(name: string | undefined, renamed: boolean): void;
  /** The watch is over, for this errno. */
  failed(errno: string): void;
}

/** One watch. */
export interface DirectoryHandle {
  /** Nothing is heard afterwards. May be called again. */
  close(): void;
}
