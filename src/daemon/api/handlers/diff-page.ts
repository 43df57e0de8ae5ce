import { GinError } from "../../base/index.ts";

/** Where the next page of a diff starts, between which checkpoints. */
export interface DiffPlace {
  readonly from: string;
  readonly to: string;
  /** First path of the page. */
  readonly path: string;
  /** Byte of its patch to go on at. */
  readonly offset: number;
  readonly [key: string]: string | number;
}

/** What a page shows of one patch; `next` is where the rest begins. */
export interface PatchPiece {
  readonly text: string;
  readonly next: number | undefined;
}

/** What a file beside the page's first counts for, in bytes: its names, hashes and sizes. */
const FILE_BYTES = 500;
const LF = 10;

/**
 * One page of patches. A patch that fits a page is never split; a longer one fills a page of its own and goes on in the next,
 * cut at a line's end where there is one, never inside a code point.
 */
export class PatchPage {
  readonly #limit: number;
  readonly #place: DiffPlace | undefined;
  #used = 0;
  #files = 0;

  constructor(limit: number, place: DiffPlace | undefined) {
    this.#limit = limit;
    this.#place = place;
  }

  /** The piece of a path's patch for this page; undefined when it belongs to the next. Throws CURSOR_EXPIRED. */
  take(path: string, patch: Uint8Array): PatchPiece | undefined {
    const offset = path === this.#place?.path ? this.#place.offset : 0;
    // The place was inside a patch that is shorter now: contents it was made of are gone.
    if (offset > 0 && offset >= patch.length) {
      throw new GinError("CURSOR_EXPIRED", "what the cursor pages through changed", undefined, { facts: { path } });
    }
    const length = patch.length - offset;
    const cost = this.#files === 0 ? length : FILE_BYTES + path.length + length;
    const room = this.#limit - this.#used;
    if (this.#files > 0 && cost > room) return undefined;
    this.#files += 1;
    this.#used += cost;
    const end = length <= room ? patch.length : cut(patch, offset, offset + room);
    const text = Buffer.from(patch.buffer, patch.byteOffset + offset, end - offset).toString("utf8");
    return { text, next: end < patch.length ? end : undefined };
  }
}

/** Where to cut at most at `end`: after the last line end of the second half, else before a code point, always past `start`. */
function cut(patch: Uint8Array, start: number, end: number): number {
  const line = patch.lastIndexOf(LF, end - 1);
  if (line >= start + (end - start) / 2) return line + 1;
  let at = end;
  while (at > start && isContinuation(patch[at])) at -= 1;
  if (at > start) return at;
  at = start + 1;
  while (isContinuation(patch[at])) at += 1;
  return at;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
