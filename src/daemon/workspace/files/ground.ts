import type { FailPoints, Fs, Random } from "../../base/index.ts";
import type { Swap } from "./exchange.ts";
import type { Handles, Held } from "./handles.ts";
import type { Guard } from "./sensitive.ts";
import type { WriterCheck } from "./writers.ts";

/** How names fold on a file system: whether spellings that differ in case, or in Unicode form, name one entry. */
export interface Folding {
  readonly letters: boolean;
  readonly form: boolean;
}

/** What every call below an open root stands on. */
export interface Ground {
  readonly fs: Fs;
  readonly random: Random;
  readonly failPoints: FailPoints;
  readonly handles: Handles;
  /** The root itself; open until the root is closed. */
  readonly top: Held;
  readonly guard: Guard;
  readonly folding: Folding;
  /** Whether somebody has a file open for writing. */
  readonly writers: WriterCheck;
  /** renameat2, where the library and this file system have it. */
  readonly swap: Swap | undefined;
  /** Whether a temp may have been left behind by a call that failed, or went with a directory that others moved. */
  readonly litter: { left: boolean };
  /** Throws WORKSPACE_MISSING_ROOT when the root is gone. */
  check(): void;
}
