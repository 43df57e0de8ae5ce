import { type Clock, toGinError } from "../base/index.ts";
import type { PathState } from "../store/index.ts";
import type { ConfinedRoot, Staged } from "./files/index.ts";
import type { Decided } from "./judge.ts";
import { inSlices } from "./slice.ts";

/** Writes a state beside its target; a symlink's bytes are where it leads. */
export function stageState(
  root: ConfinedRoot,
  path: string,
  { kind }: NonNullable<PathState>,
  bytes: Uint8Array,
  mode: number,
): Staged {
  return kind === "symlink" ? root.stageLink(path, Buffer.from(bytes).toString()) : root.stage(path, bytes, mode);
}

/** The new contents of one save, written beside their targets under hidden names; nothing is visible yet. */
export class Staging {
  readonly #root: ConfinedRoot;
  readonly #staged = new Map<string, Staged>();
  readonly #made: string[] = [];

  private constructor(root: ConfinedRoot) {
    this.#root = root;
  }

  /** Writes every new content. Whatever a full or read-only disk has to say it says here; then nothing is left behind. */
  static async of(root: ConfinedRoot, changed: readonly Decided[], clock: Clock): Promise<Staging> {
    const staging = new Staging(root);
    await inSlices(root, clock, changed, (one) => {
      if (one.after === null) return;
      const path = one.slot.path;
      try {
        // What is there already has its directories.
        if (one.seen.stat === undefined) staging.#made.push(...root.makeParents(path));
        staging.#staged.set(path, stageState(root, path, one.after, one.bytes ?? new Uint8Array(0), one.mode));
      } catch (thrown) {
        staging.abort();
        throw toGinError(thrown, path);
      }
    });
    return staging;
  }

  at(path: string): Staged | undefined {
    return this.#staged.get(path);
  }

  /** Takes everything back; only before the commit. */
  abort(): void {
    for (const staged of this.#staged.values()) this.#root.discard(staged.temp);
    this.#root.removeMade(this.#made);
    this.#staged.clear();
  }
}
