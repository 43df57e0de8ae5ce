import type { Caller } from "../base/index.ts";
import type { AnnotationRow, StoreReader } from "../store/index.ts";

/** Whether a caller may touch a canonical path; policy's rule, handed in. */
export type MayTouch = (caller: Caller, path: string) => boolean;

/**
 * Whether a caller bound to paths may see an annotation: one with anchors when one of them is on its paths; one without is as
 * visible as what began its thread, and visible when it did so itself, like the checkpoint it is on.
 */
export function maySee(reader: Pick<StoreReader, "annotation">, mayTouch: MayTouch, caller: Caller, row: AnnotationRow): boolean {
  if (caller.paths === undefined) return true;
  if (row.anchors.length > 0) return row.anchors.some(({ path }) => mayTouch(caller, path));
  if (row.thread === row.id) return true;
  const first = reader.annotation(row.thread);
  return first !== undefined && maySee(reader, mayTouch, caller, first);
}
