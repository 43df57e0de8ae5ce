import { GinError, type Pace } from "../base/index.ts";
import type { Content, Hash, StoreReader } from "../store/index.ts";
import { diffLines, type Edit } from "./diff.ts";
import { isText, type Lines, splitLines } from "./lines.ts";
import type { Differ } from "./types.ts";

/** Largest content whose lines are looked into. */
const MAX_BYTES = 32 * 1024 * 1024;
/** Both texts together up to which they are compared at once, in bytes and in lines; larger ones go to the differ. */
const INLINE_BYTES = 128 * 1024;
const INLINE_LINES = 4_000;
/** What is kept in memory: texts, their bytes, diffs, and hunks in them. */
const TEXTS = 16;
const TEXT_BYTES = 16 * 1024 * 1024;
const DIFFS = 4_096;
const HUNKS = 200_000;

/** A content as lines; "other" for what is not text; "missing" where its bytes are not kept or too many. */
export type Text = Lines | "other" | "missing";

/** The contents of history as lines, and the edits between them. Shared by everything that follows lines. */
export class Texts {
  readonly #reader: Pick<StoreReader, "object">;
  readonly #differ: Pick<Differ, "edits">;
  readonly #texts = new Map<Hash, Lines | "other">();
  readonly #diffs = new Map<string, readonly Edit[]>();
  #bytes = 0;
  #hunks = 0;

  constructor(reader: Pick<StoreReader, "object">, differ: Pick<Differ, "edits">) {
    this.#reader = reader;
    this.#differ = differ;
  }

  /** `bytes`: the content's, where the caller has them. */
  text(content: Content, bytes?: Uint8Array): Text {
    if (content.kind === "symlink") return "other";
    const known = this.#texts.get(content.sha256);
    if (known !== undefined) {
      this.#texts.delete(content.sha256);
      this.#texts.set(content.sha256, known);
      return known;
    }
    if (content.size > MAX_BYTES) return "missing";
    const found = this.#reader.object(content.sha256) ?? bytes;
    if (found === undefined) return "missing";
    return this.#keepText(content.sha256, isText(found) ? splitLines(found) : "other");
  }

  /** The edits from one text to another; "missing" when the two are too much to compare. */
  async edits(from: Hash, a: Lines, to: Hash, b: Lines, pace: Pace): Promise<readonly Edit[] | "missing"> {
    const key = from + to;
    const known = this.#diffs.get(key);
    if (known !== undefined) return known;
    const small = a.bytes.length + b.bytes.length <= INLINE_BYTES && a.count + b.count <= INLINE_LINES;
    if (small) return this.#keepDiff(key, diffLines(a, b));
    try {
      return this.#keepDiff(key, await this.#differ.edits(a.bytes, b.bytes, pace.signal));
    } catch (thrown) {
      if (thrown instanceof GinError && thrown.reason === "TOO_LARGE") return "missing";
      throw thrown;
    }
  }

  #keepText(sha256: Hash, text: Lines | "other"): Lines | "other" {
    this.#texts.set(sha256, text);
    this.#bytes += sizeOf(text);
    for (const [old, value] of this.#texts) {
      if ((this.#texts.size <= TEXTS && this.#bytes <= TEXT_BYTES) || this.#texts.size <= 2) break;
      this.#texts.delete(old);
      this.#bytes -= sizeOf(value);
    }
    return text;
  }

  #keepDiff(key: string, edits: readonly Edit[]): readonly Edit[] {
    if (this.#diffs.has(key)) return edits;
    this.#diffs.set(key, edits);
    this.#hunks += edits.length;
    for (const [old, value] of this.#diffs) {
      if (this.#diffs.size <= DIFFS && this.#hunks <= HUNKS) break;
      this.#diffs.delete(old);
      this.#hunks -= value.length;
    }
    return edits;
  }
}

function sizeOf(text: Lines | "other"): number {
  return text === "other" ? 0 : text.bytes.length + 4 * text.count;
}
