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
  /** Bytes of the store that are needed now. */
  readonly needed: number;
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

/** Bounds of how far sizes may be reckoned wrong: half-empty pages stay behind where much was removed. */
const LEAST_SCALE = 0.8;
const MOST_SCALE = 2;

/** Chooses the oldest that must go for history to come down to its target. */
export function decide(measured: Measured, timeline: Timeline, used: number, options: GarbageOptions): Decision {
  const places = timeline.order.length;
  const isExpired = (place: number): boolean => {
    const listed = timeline.order[place - 1];
    return listed !== undefined && (listed.lineage.checkpoints[listed.at]?.generation ?? 0) < listed.lineage.first;
  };
  const rowSizes = timeline.order.map(({ lineage, at }) => lineage.checkpoints[at]?.bytes ?? 0);
  const reckoned = measured.needed + total(measured.bytes) + total(rowSizes);
  const scale = Math.min(MOST_SCALE, Math.max(LEAST_SCALE, used / reckoned));
  const bytesAt = (place: number): number => (measured.bytes[place] ?? 0) * scale;
  const rowAt = (place: number): number => (rowSizes[place - 1] ?? 0) * scale;
  const needed = Math.min(used, measured.needed * scale);
  const history = used - needed;
  const target = targetOf(history, options);
  let left = history - bytesAt(0);
  let allRows = 0;
  for (let place = 1; place <= places; place++) {
    if (isExpired(place)) left -= rowAt(place);
    else allRows += rowAt(place);
  }
  let rows = 0;
  const dropRow = (): void => {
    const freed = isExpired(++rows) ? 0 : rowAt(rows);
    allRows -= freed;
    left -= freed;
  };
  let thinned = 0;
  const thin = (): void => {
    left -= bytesAt(++thinned);
  };
  while (left > target && allRows > target * ROW_SHARE && rows < places) dropRow();
  // A checkpoint whose row is gone cannot be asked for.
  while (thinned < rows || (left > target && thinned < places)) thin();
  const young = left > target && bytesAt(places + 1) > 0;
  if (young) left -= bytesAt(places + 1);
  while (left > target && rows < thinned) dropRow();
  return { thinned, young, rows, needed, history, left: Math.max(0, left) };
}

function total(sizes: Iterable<number>): number {
  let sum = 0;
  for (const size of sizes) sum += size;
  return sum;
}
