import { CODEC } from "../objects.ts";
import type { Work } from "../work.ts";
import { LIVE, type Needs } from "./needs.ts";
import type { Slice } from "./slice.ts";
import type { Timeline } from "./timeline.ts";

/** Bytes of a row's keys and cells, its index included. */
const KEY_BYTES = 110;
/** SQLite's: a page, what of it an overflow page holds, and how much of a row lies on its leaf at least and at most. */
const PAGE_BYTES = 4096;
const OVERFLOW_BYTES = 4092;
const LOCAL_LEAST = 489;
const LOCAL_MOST = 4061;
/** Leaves are filled to some four fifths. */
const LEAF_SHARE = 1.25;
/** A row that says how a file looked: as long as the file is there, it is needed. */
const LOOKED_BYTES = 250;
/** A request's outcome, kept for seven days whatever the quota. */
const REQUEST_BYTES = 500;
/** Pages of a store with nothing in it. */
const EMPTY_BYTES = 160 * 1024;
const PAGE = 500;

/** What is there, by how long it is needed. */
export interface Measured {
  /** Bytes of the store that are needed now. */
  readonly needed: number;
  /** Bytes, and contents, by place: [0] nothing needs, [n] none newer than the n-th checkpoint, the last one is young and unnamed. */
  readonly bytes: Float64Array;
  readonly contents: Float64Array;
  /** Rows of contents in each side segment. */
  readonly side: ReadonlyMap<number, number[]>;
}

/** Adds up every row. `youngFrom`: contents from this row on that nothing names are in their grace. */
export function* measure(
  work: Work,
  slice: Slice,
  needs: Needs,
  { order, keptBytes }: Timeline,
  youngFrom: number,
): Generator<undefined, Measured> {
  const places = order.length;
  const bytes = new Float64Array(places + 2);
  const contents = new Float64Array(places + 2);
  const side = new Map<number, number[]>();
  const count = (table: "looked" | "request") =>
    (work.statement(`SELECT count(*) AS count FROM ${table}`).get() as { count: number }).count;
  let needed = EMPTY_BYTES + keptBytes + count("looked") * LOOKED_BYTES + count("request") * REQUEST_BYTES;
  const add = (until: number, size: number, one: number): void => {
    if (until === LIVE) needed += size;
    else {
      bytes[until] = (bytes[until] ?? 0) + size;
      contents[until] = (contents[until] ?? 0) + one;
    }
  };
  const objects =
    "SELECT seq, codec, size, length(body) AS body, segment FROM object WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?";
  for (let from = 0; ; ) {
    const rows = work.statement(objects).all(from, needs.topObject, PAGE) as ObjectRow[];
    for (const { seq, codec, size, body, segment } of rows) {
      if (codec === CODEC.side && segment !== null) (side.get(segment) ?? listIn(side, segment)).push(seq);
      const until = needs.ofObject(seq);
      const takes = codec === CODEC.side ? size : rowBytes(body ?? 0);
      add(until === 0 && seq >= youngFrom ? places + 1 : until, takes, 1);
    }
    from = rows.at(-1)?.seq ?? from;
    if (rows.length < PAGE) break;
    if (slice.spend(rows.length)) yield;
  }
  const nodes = "SELECT seq, length(data) AS data FROM node WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?";
  for (let from = 0; ; ) {
    const rows = work.statement(nodes).all(from, needs.topNode, PAGE) as { seq: number; data: number }[];
    for (const { seq, data } of rows) add(needs.ofNode(seq), rowBytes(data), 0);
    from = rows.at(-1)?.seq ?? from;
    if (rows.length < PAGE) break;
    if (slice.spend(rows.length)) yield;
  }
  return { needed, bytes, contents, side };
}

/** Bytes of the file that a row with a blob of this length takes, about. */
function rowBytes(length: number): number {
  if (length <= LOCAL_MOST) return (length + KEY_BYTES) * LEAF_SHARE;
  const rest = LOCAL_LEAST + ((length - LOCAL_LEAST) % OVERFLOW_BYTES);
  const local = rest <= LOCAL_MOST ? rest : LOCAL_LEAST;
  return (local + KEY_BYTES) * LEAF_SHARE + Math.ceil((length - local) / OVERFLOW_BYTES) * PAGE_BYTES;
}

interface ObjectRow {
  readonly seq: number;
  readonly codec: number;
  readonly size: number;
  readonly body: number | null;
  readonly segment: number | null;
}

function listIn(side: Map<number, number[]>, segment: number): number[] {
  const list: number[] = [];
  side.set(segment, list);
  return list;
}

/** Bytes of the store: live pages plus side store. */
export function usedBytes(work: Work): number {
  const { used } = work
    .statement(
      "SELECT (page_count - freelist_count) * page_size + (SELECT coalesce(sum(bytes), 0) FROM segment) AS used FROM pragma_page_count, pragma_freelist_count, pragma_page_size",
    )
    .get() as { used: number };
  return used;
}
