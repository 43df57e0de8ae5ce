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
  readonly names: Set<string>;
  readonly versions: Version[];
}

/**
 * Follows paths from a generation to head, through renames that checkpoints recorded. A file that was deleted and made again under
 * the same name counts as the same one. Asked newest first, it reads each touch once.
 */
export class Lineages {
  readonly #history: History;
  readonly #known = new Map<string, Known>();

  constructor(history: History) {
    this.#history = history;
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
        if (this.#renamed(path, touch) !== undefined) return false;
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
        const to = this.#renamed(at, touch);
        if (to === undefined) {
          versions.push(versionOf(touch));
          continue;
        }
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

  /** Where a touch moved what was at the path. */
  #renamed(path: string, touch: PathTouch): string | undefined {
    if (touch.after !== null && touch.renamedFrom === undefined) return undefined;
    return this.#history.reader.renamedTo(this.#history.workspace, path, touch.generation);
  }
}

function versionOf(touch: PathTouch): Version {
  return { generation: touch.generation, checkpoint: touch.checkpoint, state: touch.after };
}
