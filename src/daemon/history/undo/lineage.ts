import type { PathTouch } from "../../store/index.ts";
import type { UndoView } from "./types.ts";

/** A state a path had after a later checkpoint changed it. */
export interface Version {
  readonly generation: number;
  readonly checkpoint: string;
  readonly state: PathTouch["after"];
}

/** What became of a file since a generation: where it is at head, and what it was in between. */
export interface Lineage {
  /** Its name at head; the last one it had where it is gone. */
  readonly path: string;
  /** Where it ended before head: the generation that took it away, or put another file in its place. */
  readonly gone?: number;
  /** Every name it had since, the first included. */
  readonly names: ReadonlySet<string>;
  /** Newest first. */
  readonly versions: readonly Version[];
}

/** The history of one workspace. */
export type History = Pick<UndoView, "reader" | "workspace">;

/** Touches read in one go. */
const PAGE = 500;

/** A lineage as far back as it was asked for. */
interface Known {
  from: number;
  readonly path: string;
  readonly gone?: number;
  readonly names: Set<string>;
  readonly versions: Version[];
}

/** What a touch means for the file at the path: it goes on there, it went elsewhere, or it ended. */
type Fate = "stays" | "gone" | { readonly to: string };

/**
 * Follows paths from a generation to head, through renames that checkpoints recorded. A file that was deleted and made again under
 * the same name counts as the same one, unless the deletion is itself being taken back: then there are two. A file whose place
 * another was moved to has ended. Asked newest first, it reads each touch once.
 */
export class Lineages {
  readonly #history: History;
  readonly #restored: (checkpoint: string, path: string) => boolean;
  readonly #known = new Map<string, Known>();

  /** `restored`: whether what a checkpoint took away from a path is being brought back. Default: nothing is. */
  constructor(history: History, restored: (checkpoint: string, path: string) => boolean = () => false) {
    this.#history = history;
    this.#restored = restored;
  }

  /** What became of a path after a generation. Good until the same path is asked for again. */
  of(path: string, after: number): Lineage {
    const known = this.#known.get(path);
    if (known !== undefined && known.from > after && this.#extend(known, path, after)) return known;
    if (known !== undefined && known.from === after) return known;
    const found = this.#follow(path, after);
    this.#known.set(path, found);
    return found;
  }

  /** False when the path was another's for a while in between. */
  #extend(known: Known, path: string, after: number): boolean {
    const older: Version[] = [];
    for (let generation = after; ; ) {
      const page = this.#touches(path, generation, known.from);
      for (const touch of page) {
        if (this.#fate(path, touch) !== "stays") return false;
        older.push(versionOf(touch));
        generation = touch.generation;
      }
      if (page.length < PAGE) break;
    }
    known.versions.push(...older.reverse());
    known.from = after;
    return true;
  }

  #follow(path: string, after: number): Known {
    const versions: Version[] = [];
    const names = new Set([path]);
    let at = path;
    let generation = after;
    for (;;) {
      const page = this.#touches(at, generation, Number.MAX_SAFE_INTEGER);
      let moved = false;
      for (const touch of page) {
        generation = touch.generation;
        const fate = this.#fate(at, touch);
        if (fate === "gone") return { from: after, path: at, gone: generation, names, versions: versions.reverse() };
        if (fate === "stays") {
          versions.push(versionOf(touch));
          continue;
        }
        const { to } = fate;
        const arrival = this.#history.reader.touchAt(this.#history.workspace, to, generation);
        versions.push({ generation, checkpoint: touch.checkpoint, state: arrival?.after ?? null });
        at = to;
        names.add(to);
        moved = true;
        break;
      }
      if (!moved && page.length < PAGE) return { from: after, path: at, names, versions: versions.reverse() };
    }
  }

  #touches(path: string, after: number, until: number): PathTouch[] {
    return this.#history.reader.touchesAfter(this.#history.workspace, path, after, until, PAGE);
  }

  #fate(path: string, touch: PathTouch): Fate {
    if (touch.after !== null && touch.renamedFrom === undefined) return "stays";
    const to = this.#history.reader.renamedTo(this.#history.workspace, path, touch.generation);
    if (to !== undefined) return { to };
    return touch.after !== null || this.#restored(touch.checkpoint, path) ? "gone" : "stays";
  }
}

function versionOf(touch: PathTouch): Version {
  return { generation: touch.generation, checkpoint: touch.checkpoint, state: touch.after };
}
