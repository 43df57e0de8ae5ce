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
  /** Oldest first. */
  readonly versions: readonly Version[];
}

/** The history of one workspace. */
export type History = Pick<UndoView, "reader" | "workspace">;

/** Touches read in one go. */
const PAGE = 500;

/**
 * Follows a path from a generation to head, through renames that checkpoints recorded. A file that was deleted and made again under
 * the same name counts as the same one.
 */
export function follow(view: History, path: string, after: number): Lineage {
  const versions: Version[] = [];
  const names = new Set([path]);
  let at = path;
  let generation = after;
  for (;;) {
    const page = view.reader.touchesAfter(view.workspace, at, generation, Number.MAX_SAFE_INTEGER, PAGE);
    let moved = false;
    for (const touch of page) {
      generation = touch.generation;
      const to = touch.after === null || touch.renamedFrom !== undefined ? renamed(view, at, touch) : undefined;
      if (to === undefined) {
        versions.push({ generation, checkpoint: touch.checkpoint, state: touch.after });
        continue;
      }
      const arrival = view.reader.touchAt(view.workspace, to, generation);
      versions.push({ generation, checkpoint: touch.checkpoint, state: arrival?.after ?? null });
      at = to;
      names.add(to);
      moved = true;
      break;
    }
    if (!moved && page.length < PAGE) return { path: at, names, versions };
  }
}

function renamed(view: History, path: string, touch: PathTouch): string | undefined {
  return view.reader.renamedTo(view.workspace, path, touch.generation);
}
