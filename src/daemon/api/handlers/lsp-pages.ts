import { GinError, type Json, type Random } from "../../base/index.ts";
import type { CursorScope, Cursors } from "../cursors.ts";
import { LIMITS } from "../limits.ts";
import type { Content, Fields } from "./lsp-answer.ts";

/** Items of all answers kept together, some hundred bytes each; the newest answer is kept whatever it holds. */
const MOST_ITEMS = 100_000;

/** A long answer that is paged through. */
interface Kept {
  readonly facts: Fields;
  readonly content: Content;
}

/** Whose pages. */
export interface Reader {
  readonly principal: string;
  /** "ws_…". */
  readonly workspace: string;
  readonly action: string;
  /** Whether the caller may see a path: asked anew for each page. */
  readonly visible: (path: string) => boolean;
}

/** Long answers of language servers, the newest few: what is paged through is one answer, not one made anew for each page. */
export class LspPages {
  readonly #cursors: Cursors;
  readonly #random: Random;
  /** By id, least recently used first. */
  readonly #kept = new Map<string, Kept>();

  constructor(cursors: Cursors, random: Random) {
    this.#cursors = cursors;
    this.#random = random;
  }

  /** The first page of an answer. */
  first(reader: Reader, facts: Fields, content: Content, size: number): Fields {
    const kept: Kept = { facts, content };
    const visible = this.#page(reader, kept, 0, size, () => this.#keep(kept));
    return { ...visible, ...content.once };
  }

  /** The page behind a cursor. Throws INVALID_CURSOR, CURSOR_EXPIRED. */
  next(reader: Reader, cursor: string, size: number): Fields {
    const [id, offset] = placeOf(this.#cursors.open(scopeOf(reader), cursor));
    const kept = this.#kept.get(id);
    if (kept === undefined) throw new GinError("CURSOR_EXPIRED", "the answer this cursor pages through is no longer kept");
    this.#kept.delete(id);
    this.#kept.set(id, kept);
    return this.#page(reader, kept, offset, size, () => id);
  }

  #page(reader: Reader, kept: Kept, offset: number, size: number, idOf: () => string): Fields {
    const { items, page, total } = kept.content;
    const values: unknown[] = [];
    let next = offset;
    for (; next < items.length && values.length < size; next += 1) {
      const item = items[next];
      if (item?.paths.every(reader.visible) === true) values.push(item.value);
    }
    const nextCursor = next < items.length ? this.#cursors.seal(scopeOf(reader), [idOf(), next]) : "";
    return { ...kept.facts, ...page(values), total, nextCursor };
  }

  #keep(kept: Kept): string {
    const id = this.#random.id("cn");
    this.#kept.set(id, kept);
    let items = 0;
    for (const { content } of this.#kept.values()) items += content.items.length;
    for (const [oldest, { content }] of this.#kept) {
      if (this.#kept.size <= LIMITS.lsp_answers_kept.value && items <= MOST_ITEMS) break;
      if (oldest === id) break;
      this.#kept.delete(oldest);
      items -= content.items.length;
    }
    return id;
  }
}

function scopeOf({ principal, workspace, action }: Reader): CursorScope {
  return { operation: "Lsp", principal, query: [workspace, action] };
}

function placeOf(position: Json | undefined): readonly [string, number] {
  const [id, offset] = Array.isArray(position) ? position : [];
  return [String(id), Number(offset)];
}
