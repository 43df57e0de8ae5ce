/** Which paths below a root are not tracked by themselves: by the rules of .gitignore, and by where another repository begins. */
export interface IgnoreRules {
  /**
   * Whether a canonical path is ignored: it or a directory above it is matched by a rule and not taken back, is named `.git`, is one of gin's
   * temps, or is (in) a directory that holds a `.git` of its own. The root never is. Cheap: what was decided for a directory is kept until it goes; a directory's
   * .gitignore is read when it is first asked about. Never throws for what is on disk: rules that cannot be read are
   * none; those that were read hold while a busy system does not let them be read again.
   */
  ignored(path: string, isDirectory: boolean): boolean;
  /**
   * Tells that a path changed on disk. When it is one that rules are read from (a `.gitignore`, or a `.git` below the root), forgets what was decided
   * below its directory and gives that directory, to be scanned and watched anew ("" is the root); undefined otherwise. Call it for directories
   * that went, too.
   */
  changed(path: string): string | undefined;
  /**
   * Tells what a directory holds now. Gives the directories whose rules are others than those that were decided by (it, or one in it where another repository
   * ended), to be scanned and watched anew, and forgets what was decided below them; so who lists a tree from its top down goes by the rules on disk
   * without a `changed`. Asks the disk only where there are rules, or were.
   */
  listed(directory: string, names: ReadonlySet<string>): string[];
  /** Replaces the rules from outside the root (the user's, the repository's own). When they are others everything is decided anew, and it is true. */
  setOuter(outer: OuterRules): boolean;
}

/** Rules that stand outside the root's directory, weakest first. */
export interface OuterRules {
  /** Where the root is below the top of the work tree: "" or "a/b". */
  readonly prefix: string;
  /** `directory`: relative to the top of the work tree, "" or one above the root; its patterns are relative to it. `text`: as in a .gitignore. */
  readonly files: readonly { readonly directory: string; readonly text: string }[];
  /** Whether names are compared without regard to case (core.ignoreCase). */
  readonly ignoreCase: boolean;
}
