import type { Edit } from "../diff.ts";
import { type Lines, sameBytes, sliceLines } from "../lines.ts";
import { type Region, regions } from "./regions.ts";

const LF = 10;

/** Outcome of reversing hunks: the bytes, or every region that has later work inside. */
export type Reversal =
  | { readonly clean: true; readonly bytes: Uint8Array }
  | { readonly clean: false; readonly regions: readonly Region[] };

/**
 * Takes hunks back from `now`. A region with later work inside is clean only when it is as undoing would leave it already, or when
 * both sides took lines away and put none: then what is left of the added lines goes too. Everything else inside is a conflict.
 * Lines that come back where somebody inserted since stand before the insertion.
 */
export function reverse(before: Lines, now: Lines, undo: readonly Edit[], later: readonly Edit[]): Reversal {
  const out = new Assembly(now);
  const conflicts: Region[] = [];
  for (const region of regions(undo, later)) {
    const wanted = sliceLines(before, region.beforeStart, region.beforeEnd);
    if (region.later.length === 0) bringBack(out, now, region, wanted);
    else if (sameBytes(sliceLines(now, region.nowStart, region.nowEnd), wanted)) continue;
    else if (onlyRemoves(region.undo) && onlyRemoves(region.later)) removeRest(out, region);
    else conflicts.push(region);
  }
  if (conflicts.length > 0) return { clean: false, regions: conflicts };
  return out.finish();
}

function bringBack(out: Assembly, now: Lines, region: Region, wanted: Uint8Array): void {
  const { beside } = region;
  if (beside === undefined) out.replace(region, region.nowStart, region.nowEnd, wanted);
  else if (sameBytes(sliceLines(now, beside.bStart, beside.bEnd), wanted)) return;
  // A last line without its end can only be last.
  else if (wanted.at(-1) === LF) out.replace(region, beside.bStart, beside.bStart, wanted);
  else out.replace(region, beside.bEnd, beside.bEnd, wanted);
}

function onlyRemoves(edits: readonly Edit[]): boolean {
  return edits.every((edit) => edit.bStart === edit.bEnd);
}

/** The lines the undone work had added, without those that are gone by now. */
function removeRest(out: Assembly, region: Region): void {
  let line = region.nowStart;
  const none = new Uint8Array(0);
  for (let made = region.madeStart; made < region.madeEnd; made += 1) {
    if (holds(region.later, made)) continue;
    if (holds(region.undo, made)) out.replace(region, line, line + 1, none);
    line += 1;
  }
}

function holds(edits: readonly Edit[], line: number): boolean {
  return edits.some((edit) => edit.aStart <= line && line < edit.aEnd);
}

/** A text in the making: pieces of `now` with others between them. */
class Assembly {
  readonly #now: Lines;
  readonly #pieces: { readonly bytes: Uint8Array; readonly region: Region | undefined }[] = [];
  #copied = 0;

  constructor(now: Lines) {
    this.#now = now;
  }

  /** Lines [from, to) of `now` become `bytes`; calls come in order. */
  replace(region: Region, from: number, to: number, bytes: Uint8Array): void {
    this.#copy(from);
    this.#pieces.push({ bytes, region });
    this.#copied = to;
  }

  #copy(to: number): void {
    this.#pieces.push({ bytes: sliceLines(this.#now, this.#copied, to), region: undefined });
  }

  /** A line without its end in the middle would run into the next one: then what brought it there is a conflict. */
  finish(): Reversal {
    this.#copy(this.#now.count);
    const filled = this.#pieces.filter((piece) => piece.bytes.length > 0);
    const open = filled.findIndex((piece, at) => at < filled.length - 1 && piece.bytes.at(-1) !== LF);
    if (open < 0) return { clean: true, bytes: Buffer.concat(filled.map((piece) => piece.bytes)) };
    const region = filled[open]?.region ?? filled[open + 1]?.region ?? this.#lastRegion();
    return { clean: false, regions: region === undefined ? [] : [region] };
  }

  #lastRegion(): Region | undefined {
    return this.#pieces.findLast((piece) => piece.region !== undefined)?.region;
  }
}

/** The hunks in lines of the next text; undefined when something happened inside one of them. */
export function carry(undo: readonly Edit[], later: readonly Edit[]): Edit[] | undefined {
  const out: Edit[] = [];
  for (const {
    undo: [hunk],
    later: within,
    nowStart,
    nowEnd,
  } of regions(undo, later)) {
    if (within.length > 0 || hunk === undefined) return undefined;
    out.push({ aStart: nowStart, aEnd: nowEnd, bStart: hunk.bStart, bEnd: hunk.bEnd });
  }
  return out;
}
