import { type Clock, toGinError } from "../base/index.ts";
import type { ConfinedRoot, Staged } from "./files/index.ts";
import type { Decided } from "./judge.ts";
import { inSlices } from "./slice.ts";

/** The new contents of one save, written beside their targets under hidden names; nothing is visible yet. */
export class Staging {
  readonly #root: ConfinedRoot;
  readonly #staged = new Map<string, Staged>();
  readonly #made: string[] = [];

  private constructor(root: ConfinedRoot) {
    this.#root = root;
  }

  /**
   * Writes every new content. Whatever a full or read-only disk has to say it says here; then nothing is left behind.
   * `sync`: each temp is on disk before this returns (durability strict).
   */
  static async of(root: ConfinedRoot, changed: readonly Decided[], clock: Clock): Promise<Staging> {
    const staging = new Staging(root);
    await inSlices(root, clock, changed, (one) => {
      if (one.after === null) return;
      const path = one.slot.path;
      try {
        // What is there already has its directories.
        if (one.seen.stat === undefined) staging.#made.push(...root.makeParents(path));
        const bytes = one.bytes ?? new Uint8Array(0);
        const staged =
          one.after.kind === "symlink" ? root.stageLink(path, Buffer.from(bytes).toString()) : root.stage(path, bytes, one.mode);
        staging.#staged.set(path, staged);
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

  /** Directories this save had to make, outermost first. */
  get made(): readonly string[] {
    return this.#made;
  }

  /** Takes everything back; only before the commit. */
  abort(): void {
    for (const staged of this.#staged.values()) this.#root.discard(staged.temp);
    this.#root.removeMade(this.#made);
    this.#staged.clear();
  }
}
