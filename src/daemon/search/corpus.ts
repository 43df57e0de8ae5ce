import type { Hash, StoreReader } from "../store/index.ts";
import { type SearchText, textOf } from "./text.ts";

/** Why a content cannot be searched. */
export type NoText = "binary" | "not_kept";

interface Kept {
  readonly text: SearchText | NoText;
  /** Number of the search that used it last. */
  used: number;
}

/**
 * Contents of the store, decoded and kept by hash, so that they are never stale. When there is no room, those go that this search has not used;
 * when it has used them all, the rest is read anew each time: letting go of the first for the last would keep nothing for the next search.
 */
export class Corpus {
  readonly #reader: Pick<StoreReader, "object">;
  readonly #room: number;
  readonly #kept = new Map<Hash, Kept>();
  #characters = 0;
  #search = 0;
  /** The search that looked for something to let go last. */
  #swept = -1;

  /** `room`: characters that may be kept. */
  constructor(reader: Pick<StoreReader, "object">, room: number) {
    this.#reader = reader;
    this.#room = room;
  }

  /** A search begins. */
  begin(): void {
    this.#search++;
  }

  /** The text of a content. Throws STORE_CORRUPT. */
  text(hash: Hash): SearchText | NoText {
    const kept = this.#kept.get(hash);
    if (kept !== undefined) {
      kept.used = this.#search;
      return kept.text;
    }
    const bytes = this.#reader.object(hash);
    const text = bytes === undefined ? "not_kept" : textOf(bytes);
    // What is not kept may be brought along by a later save.
    if (text !== "not_kept" && this.#makeRoom(sizeOf(text))) {
      this.#kept.set(hash, { text, used: this.#search });
      this.#characters += sizeOf(text);
    }
    return text;
  }

  #makeRoom(size: number): boolean {
    if (this.#characters + size <= this.#room) return true;
    if (this.#swept === this.#search) return false;
    this.#swept = this.#search;
    for (const [hash, { text, used }] of this.#kept) {
      // Searches that run side by side do not take each other's.
      if (used >= this.#search - 1) continue;
      this.#kept.delete(hash);
      this.#characters -= sizeOf(text);
    }
    return this.#characters + size <= this.#room;
  }
}

/** Characters, with something for the entry itself; two bytes each where Latin-1 does not do. */
function sizeOf(text: SearchText | NoText): number {
  return 256 + (typeof text === "string" ? 0 : text.ascii ? text.text.length : text.text.length * 2);
}
