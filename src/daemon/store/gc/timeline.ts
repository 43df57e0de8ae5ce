import type { Work } from "../work.ts";
import { IMPORTING } from "./roots.ts";
import type { Slice } from "./slice.ts";
import type { GarbageOptions } from "./types.ts";

/** A checkpoint's row as gc sees it. */
export interface Listed {
  readonly generation: number;
  readonly timeMs: number;
  readonly tree: Uint8Array;
  /** Bytes its rows take, about. */
  readonly bytes: number;
}

/** A workspace and the rows of its checkpoints, oldest first. */
export interface Lineage {
  readonly workspace: number;
  /** Head's generation. */
  readonly head: number;
  readonly keptFrom: number;
  readonly checkpoints: readonly Listed[];
  /** First generation whose row is neither too old nor one too many. */
  readonly first: number;
  /** First generation whose contents are all there and shall stay: what only older ones need is nobody's. */
  readonly start: number;
  /** Place of each checkpoint in the order of all. */
  readonly places: Int32Array;
}

/** Pages and cells a row takes beside its texts, both indexes included. */
const CHECKPOINT_BYTES = 420;
const TOUCHED_BYTES = 330;
const PAGE = 500;

/** Every checkpoint of the host that may go, oldest first, a workspace's own always in the order of its generations. */
export class Timeline {
  readonly lineages: readonly Lineage[];
  /** Bytes that the rows of all other checkpoints take, about. */
  readonly keptBytes: number;
  /** In order: whose it is, and which. */
  readonly order: readonly { readonly lineage: Lineage; readonly at: number }[];

  constructor(lineages: readonly Lineage[], keptBytes: number) {
    this.lineages = lineages;
    this.keptBytes = keptBytes;
    this.order = merge(lineages);
    for (const [place, { lineage, at }] of this.order.entries()) lineage.places[at] = place;
  }

  /** Place (from 1) of a generation's checkpoint whose contents are wanted; 0 when nothing is wanted of it. */
  placeOf(lineage: Lineage, generation: number): number {
    if (generation < lineage.start) return 0;
    const at = indexOf(lineage.checkpoints, generation);
    return at < 0 ? 0 : (lineage.places[at] ?? -1) + 1;
  }
}

/** Reads the rows of all checkpoints. */
export function* readTimeline(work: Work, slice: Slice, options: GarbageOptions): Generator<undefined, Timeline> {
  const lineages: Lineage[] = [];
  const workspaces = work
    .statement(`SELECT rowid, generation, kept_from FROM workspace WHERE rowid NOT IN (${IMPORTING}) ORDER BY rowid`)
    .all() as { rowid: number; generation: number; kept_from: number }[];
  for (const { rowid, generation, kept_from: keptFrom } of workspaces) {
    const checkpoints = yield* readCheckpoints(work, slice, rowid);
    const open = work.statement("SELECT coalesce(min(generation), ?) AS least FROM open_save WHERE workspace = ?");
    const { least } = open.get(generation, rowid) as { least: number };
    const first = Math.min(firstKept(checkpoints, options), generation, least);
    const start = Math.max(first, keptFrom);
    const places = new Int32Array(checkpoints.length);
    lineages.push({ workspace: rowid, head: generation, keptFrom, checkpoints, first, start, places });
  }
  const kept = `SELECT coalesce(sum(${CHECKPOINT_BYTES} + length(message) + touched * ${TOUCHED_BYTES}), 0) AS bytes FROM checkpoint WHERE workspace IN (${IMPORTING})`;
  const { bytes } = work.statement(kept).get() as { bytes: number };
  return new Timeline(lineages, bytes);
}

function* readCheckpoints(work: Work, slice: Slice, workspace: number): Generator<undefined, Listed[]> {
  const found: Listed[] = [];
  const sql =
    "SELECT generation, time_ms, tree, touched, length(message) AS text FROM checkpoint WHERE workspace = ? AND generation > ? ORDER BY generation LIMIT ?";
  for (;;) {
    const rows = work.statement(sql).all(workspace, found.at(-1)?.generation ?? -1, PAGE) as {
      generation: number;
      time_ms: number;
      tree: Uint8Array;
      touched: number;
      text: number;
    }[];
    for (const { generation, time_ms: timeMs, tree, touched, text } of rows) {
      found.push({ generation, timeMs, tree, bytes: CHECKPOINT_BYTES + text + touched * TOUCHED_BYTES });
    }
    if (rows.length < PAGE) return found;
    if (slice.spend(rows.length)) yield;
  }
}

/** Only a beginning goes: a clock that was wrong for a while leaves no holes. */
function firstKept(checkpoints: readonly Listed[], { nowMs, checkpointMs, checkpointCount }: GarbageOptions): number {
  let at = Math.max(0, checkpoints.length - checkpointCount);
  for (let one = checkpoints[at]; one !== undefined && one.timeMs < nowMs - checkpointMs; one = checkpoints[at]) at++;
  return at === 0 ? 0 : (checkpoints[at]?.generation ?? Number.MAX_SAFE_INTEGER);
}

/** By time, as far as clocks can be trusted: a workspace's next one is never before its last one. */
function merge(lineages: readonly Lineage[]): { lineage: Lineage; at: number }[] {
  const order: { lineage: Lineage; at: number }[] = [];
  const next = lineages.map((lineage) => ({ lineage, at: 0, time: lineage.checkpoints[0]?.timeMs ?? 0 }));
  let going = next.filter(({ lineage }) => lineage.checkpoints.length > 0);
  while (going.length > 0) {
    let oldest = going[0];
    for (const one of going) if (oldest !== undefined && one.time < oldest.time) oldest = one;
    if (oldest === undefined) break;
    order.push({ lineage: oldest.lineage, at: oldest.at });
    const after = oldest.lineage.checkpoints[++oldest.at];
    if (after === undefined) going = going.filter((one) => one !== oldest);
    else oldest.time = Math.max(oldest.time, after.timeMs);
  }
  return order;
}

function indexOf(checkpoints: readonly Listed[], generation: number): number {
  let low = 0;
  let high = checkpoints.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const found = checkpoints[middle]?.generation ?? 0;
    if (found === generation) return middle;
    if (found < generation) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}
