import type { Edit } from "../diff.ts";
import { MAX_TEXT_BYTES } from "../merge-path.ts";
import type { Reversed } from "./content.ts";
import type { TextReversal } from "./reverse-text.ts";
import type { UndoConflictHunk, UndoView } from "./types.ts";

/** Later checkpoints looked through for the one that stands in the way. */
const STEPS = 64;

/** Lines [start, end) of a text, 0-based; a place between lines when they are equal. */
interface Stretch {
  readonly start: number;
  readonly end: number;
}

/** The conflicts of a text with the later checkpoint that changed each last, newest looked at first. */
export async function blame(
  view: UndoView,
  change: Reversed,
  now: Uint8Array,
  found: Extract<TextReversal, { readonly conflict: "content" }>,
): Promise<UndoConflictHunk[]> {
  const stretches: (Stretch | undefined)[] = found.regions.map((region) => ({ start: region.nowStart, end: region.nowEnd }));
  const culprits: (string | undefined)[] = found.regions.map(() => undefined);
  let newer = now;
  const versions = change.lineage.versions.slice(0, STEPS).reverse();
  // Who stands behind the versions looked through is not known.
  const end = versions.length < change.lineage.versions.length ? 1 : 0;
  for (let at = versions.length; at >= end; at -= 1) {
    if (stretches.every((stretch) => stretch === undefined)) break;
    // From what is there now to the newest version, then from version to version, last to what the undone change made.
    const older = at > 0 ? versions[at - 1]?.state : change.after;
    const readable = older !== null && older !== undefined && older.size <= MAX_TEXT_BYTES;
    const bytes = readable ? view.reader.object(older.sha256) : undefined;
    if (bytes === undefined) continue;
    await change.pace.next();
    const by = versions[at];
    const edits = await view.differ.edits(bytes, newer, view.signal);
    for (const [index, stretch] of stretches.entries()) {
      if (stretch === undefined) continue;
      const touched = edits.some((edit) => touches(edit, stretch));
      if (touched && by !== undefined && !change.selected.has(by.checkpoint)) {
        culprits[index] = by.checkpoint;
        stretches[index] = undefined;
      } else stretches[index] = back(edits, stretch);
    }
    newer = bytes;
  }
  return found.regions.map((region, index) => {
    const checkpoint = culprits[index] ?? "";
    const principal = checkpoint === "" ? "" : (view.reader.checkpoint(checkpoint)?.principal ?? "");
    const texts = found.shown[index] ?? { undone: "", current: "", wanted: "" };
    return { startLine: region.nowStart + 1, endLine: region.nowEnd, ...texts, checkpoint, principal };
  });
}

/** Whether a hunk changed a stretch of its new side; for one that only took lines away, its place counts with both its edges. */
function touches(edit: Edit, stretch: Stretch): boolean {
  if (edit.bStart === edit.bEnd || stretch.start === stretch.end) return edit.bStart <= stretch.end && stretch.start <= edit.bEnd;
  return edit.bStart < stretch.end && stretch.start < edit.bEnd;
}

/** Where a stretch was before some hunks, those that touch it included whole. */
function back(edits: readonly Edit[], stretch: Stretch): Stretch {
  let shift = 0;
  let { start, end } = stretch;
  let first: number | undefined;
  for (const edit of edits) {
    if (edit.bEnd <= stretch.start && !touches(edit, stretch)) shift = edit.aEnd - edit.bEnd;
    else if (touches(edit, stretch)) {
      first ??= Math.min(stretch.start + shift, edit.aStart);
      shift = edit.aEnd - edit.bEnd;
      end = Math.max(stretch.end, edit.bEnd);
    } else break;
  }
  start = first ?? stretch.start + shift;
  return { start, end: Math.max(start, end + shift) };
}
