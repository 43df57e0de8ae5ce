import type { Measured } from "./measure.ts";
import type { Timeline } from "./timeline.ts";
import type { GarbageOptions } from "./types.ts";

/** What is to go. */
export interface Decision {
  /** Contents and nodes needed by nothing after this place go. */
  readonly thinned: number;
  /** Young contents nothing names go too. */
  readonly young: boolean;
  /** Rows of checkpoints up to this place go, beside those past their age or count. */
  readonly rows: number;
  /** Bytes of history as they stand, and as they will about be. */
  readonly history: number;
  readonly left: number;
}

/** The quota is come down to with some room, so that the next save does not begin it all again. */
const ROOM = 0.9;
/** Rows may take this much of what history may take; beyond it the oldest go before newer contents do. */
const ROW_SHARE = 0.5;

/** Sizes are reckoned, not weighed: an asked-for target is undercut a little; nothing at all is taken by its word. */
const MARGIN = 0.95;

function targetOf(history: number, { targetBytes, quotaBytes }: GarbageOptions): number {
  if (targetBytes === 0) return Number.NEGATIVE_INFINITY;
  if (targetBytes !== undefined) return targetBytes * MARGIN;
  return history > quotaBytes ? quotaBytes * ROOM : Number.POSITIVE_INFINITY;
}

/** Chooses the oldest that must go for history to come down to its target. */
export function decide(measured: Measured, timeline: Timeline, used: number, options: GarbageOptions): Decision {
  const { bytes } = measured;
  const places = timeline.order.length;
  const history = Math.max(0, used - measured.needed);
  const target = targetOf(history, options);
  const rowBytes = timeline.order.map(({ lineage, at }) => lineage.checkpoints[at]?.bytes ?? 0);
  const expired = (place: number): boolean => {
    const listed = timeline.order[place - 1];
    return listed !== undefined && (listed.lineage.checkpoints[listed.at]?.generation ?? 0) < listed.lineage.first;
  };
  let left = history - (bytes[0] ?? 0);
  let allRows = 0;
  for (let place = 1; place <= places; place++) {
    if (expired(place)) left -= rowBytes[place - 1] ?? 0;
    else allRows += rowBytes[place - 1] ?? 0;
  }
  let rows = 0;
  const dropRow = (): void => {
    const freed = expired(++rows) ? 0 : (rowBytes[rows - 1] ?? 0);
    allRows -= freed;
    left -= freed;
  };
  let thinned = 0;
  const thin = (): void => {
    left -= bytes[++thinned] ?? 0;
  };
  while (left > target && allRows > target * ROW_SHARE && rows < places) dropRow();
  // A checkpoint whose row is gone cannot be asked for.
  while (thinned < rows || (left > target && thinned < places)) thin();
  const young = left > target && (bytes[places + 1] ?? 0) > 0;
  if (young) left -= bytes[places + 1] ?? 0;
  while (left > target && rows < thinned) dropRow();
  return { thinned, young, rows, history, left: Math.max(0, left) };
}
