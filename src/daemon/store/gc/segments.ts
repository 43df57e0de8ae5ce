import { GinError } from "../../base/index.ts";
import { putSegment } from "../commands/put.ts";
import { CODEC, sha256 } from "../objects.ts";
import { hex } from "../rows.ts";
import type { Work } from "../work.ts";
import type { Slice } from "./slice.ts";

/** Bytes moved in one slice at most, but for a single content that is larger. */
const MOVE_BYTES = 4 * 1024 * 1024;

/** What a slice of this asks for: the next one durable (what it unlinks must be on disk), or a pause while a backup copies. */
export type SideStep = "durable" | "wait" | undefined;

/**
 * Unlinks side segments that hold nothing any more and rewrites those that are less than half full. Only segments before the
 * writer's own: nothing is added to them. `rows`: by segment, the contents each had when the run began; `after`: newest row then.
 */
export function* compactSegments(
  work: Work,
  slice: Slice,
  rows: ReadonlyMap<number, readonly number[]>,
  after: number,
): Generator<SideStep, void> {
  const { side } = work;
  const segments = work.statement("SELECT id, bytes FROM segment ORDER BY id").all() as { id: number; bytes: number }[];
  const held = allRows(work, rows, after);
  const last = segments.find(({ id }) => id === side.current);
  // Only a segment that is left can be rewritten. From here on `held` is all there is below the writer's own.
  if (last !== undefined && fill(work, held.get(last.id)) * 2 < last.bytes) side.roll();
  for (const { id, bytes } of segments) {
    if (id >= side.current) break;
    const of = held.get(id) ?? [];
    if (slice.spend(of.length + 1)) yield undefined;
    if (fill(work, of) * 2 >= bytes || !(yield* move(work, id, of))) continue;
    yield "durable";
    // Rows in a copy that is being made may still name it.
    while (side.copies > 0) {
      yield "wait";
      yield "durable";
    }
    work.statement("DELETE FROM segment WHERE id = ?").run(id);
    side.unlinkLater(id);
    work.hit("gc.emptied");
    yield undefined;
  }
  while (side.copies > 0) yield "wait";
  // A kill between the commit and the unlink leaves a file that nothing names.
  const known = new Set(work.statement("SELECT id FROM segment").pluck().all() as number[]);
  for (const id of side.files()) if (id < side.current && !known.has(id)) side.unlinkLater(id);
  yield undefined;
}

/** Rows by segment, with those that came after the run began. */
function allRows(work: Work, rows: ReadonlyMap<number, readonly number[]>, after: number): Map<number, number[]> {
  const all = new Map([...rows].map(([segment, of]) => [segment, [...of]]));
  const newer = work.statement("SELECT seq, segment FROM object WHERE seq > ? AND codec = 2").all(after) as {
    seq: number;
    segment: number;
  }[];
  for (const { seq, segment } of newer) all.set(segment, [...(all.get(segment) ?? []), seq]);
  return all;
}

/** Bytes of the contents that are still in these rows. */
function fill(work: Work, rows: readonly number[] = []): number {
  const one = work.statement("SELECT size FROM object WHERE seq = ? AND codec = 2");
  return rows.reduce((sum, seq) => sum + ((one.get(seq) as { size: number } | undefined)?.size ?? 0), 0);
}

/** Moves what a segment still holds to the writer's; false when one of its contents cannot be read: the segment then stays as it is. */
function* move(work: Work, segment: number, rows: readonly number[]): Generator<SideStep, boolean> {
  for (let at = 0; at < rows.length; ) {
    const contents = new Map<string, Uint8Array>();
    for (let bytes = 0; at < rows.length && bytes < MOVE_BYTES; at++) {
      const row = work
        .statement("SELECT sha256, size, offset FROM object WHERE seq = ? AND codec = ? AND segment = ?")
        .get(rows[at], CODEC.side, segment) as { sha256: Uint8Array; size: number; offset: number } | undefined;
      if (row === undefined) continue;
      const read = work.side.read(segment, row.offset, row.size);
      if (sha256(read) !== hex(row.sha256)) return false;
      contents.set(hex(row.sha256), read);
      bytes += row.size;
    }
    if (contents.size === 0) continue;
    work.side.append(contents);
    for (const [sha, { length }] of contents) {
      const place = work.side.place(sha);
      if (place === undefined) throw new GinError("INTERNAL", "a moved content has no place");
      work
        .statement("UPDATE object SET segment = ?, offset = ? WHERE sha256 = ?")
        .run(place.segment, place.offset, Buffer.from(sha, "hex"));
      putSegment(work, place, length);
    }
    work.hit("gc.moved");
    yield undefined;
  }
  return true;
}
