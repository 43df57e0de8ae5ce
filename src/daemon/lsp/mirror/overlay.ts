import { createHash } from "node:crypto";
import { GinError } from "../../base/index.ts";
import { TEXT_BYTES } from "../limits.ts";
import type { Deadline } from "../session/types.ts";
import { type Contents, ifText } from "./contents.ts";
import type { Documents } from "./documents.ts";
import { asTold, type Marks } from "./marks.ts";
import type { Sync } from "./sync.ts";
import { createText, type IndexedText } from "./text.ts";
import type { Document } from "./types.ts";
import type { FileEvent, Watched } from "./watched.ts";
import { type Bound, within } from "./within.ts";

/** What trying texts is made from. */
export interface OverlayParts extends Bound {
  readonly documents: Documents;
  readonly contents: Contents;
  readonly watched: Watched;
  readonly sync: () => Sync;
  readonly hashAt: (path: string) => string | undefined;
  readonly stop: (why: string) => void;
  readonly marks: Marks;
  readonly revertMs: number;
}

/** Texts that are tried in place of what files hold. One set at a time: the gate sees to that. */
export class Overlay {
  readonly #parts: OverlayParts;
  #tried: ReadonlyMap<string, IndexedText | null> = new Map();
  /** Files that are on disk although no tree has them. */
  #unrecorded: ReadonlySet<string> = new Set();

  constructor(parts: OverlayParts) {
    this.#parts = parts;
  }

  /** What is tried at a path; null for its absence, undefined for nothing. */
  at(path: string): IndexedText | null | undefined {
    return this.#tried.get(path);
  }

  /** Shows the texts while `work` runs, and puts back what was there whatever happens. */
  async during<T>(
    edits: ReadonlyMap<string, string | null>,
    deadline: Deadline,
    work: (documents: ReadonlyMap<string, Document>) => Promise<T>,
  ): Promise<T> {
    const { documents } = this.#parts;
    if (!documents.tells) throw new GinError("UNSUPPORTED", "the language server takes no texts, so that none can be tried");
    const texts = new Map(
      [...edits].map(([path, text]) => [path, text === null ? null : asTold(textOf(text), this.#parts.marks)] as const),
    );
    const what = "trying the edits";
    this.#unrecorded = await within(this.#parts, deadline, what, () => this.#onDisk([...texts.keys()], deadline.signal));
    try {
      await within(this.#parts, deadline, what, () => this.#show(texts));
      const shown = [...texts.keys()].flatMap((path) => documents.use(path) ?? []);
      return await within(this.#parts, deadline, what, () => work(new Map(shown.map((document) => [document.path, document]))));
    } finally {
      await this.#putBack();
    }
  }

  async #onDisk(paths: readonly string[], signal: AbortSignal): Promise<Set<string>> {
    const { hashAt, contents, sync } = this.#parts;
    const found = new Set<string>();
    const tree = sync().told?.tree;
    for (const path of paths) {
      if (tree === undefined || hashAt(path) !== undefined) continue;
      if ((await ifText(contents.load(tree, path, signal))) !== undefined) found.add(path);
    }
    return found;
  }

  async #show(texts: ReadonlyMap<string, IndexedText | null>): Promise<void> {
    const { documents, watched, sync } = this.#parts;
    this.#tried = texts;
    const sends: Promise<void>[] = [];
    const events: FileEvent[] = [];
    for (const [path, text] of texts) {
      const there = this.#exists(path);
      if (text === null && there) events.push({ path, type: 3 });
      if (text !== null && !there) events.push({ path, type: 1 });
      sends.push(documents.try(path, text ?? undefined));
    }
    // What no glob takes is not kept: putting back undoes it.
    sends.push(...sync().announce(events.filter((event) => watched.wants(event))));
    await Promise.all(sends);
  }

  async #putBack(): Promise<void> {
    const { documents, watched, sync, stop, revertMs } = this.#parts;
    const texts = this.#tried;
    this.#tried = new Map();
    const sends: Promise<void>[] = [];
    const events: FileEvent[] = [];
    for (const [path, text] of texts) {
      sends.push(documents.revert(path, revertMs));
      const there = this.#exists(path);
      if (text === null && there) events.push({ path, type: 1 });
      if (text !== null && !there) events.push({ path, type: 3 });
    }
    sends.push(...sync().announce(watched.offer(events), revertMs));
    try {
      await Promise.all(sends);
    } catch {
      // What was tried may still stand there: no later answer may come from this run. That it cannot be told is the reason, and said to nobody else.
      stop("texts that were tried could not be put back");
    }
  }

  #exists(path: string): boolean {
    return this.#parts.hashAt(path) !== undefined || this.#unrecorded.has(path);
  }
}

function textOf(text: string): IndexedText {
  if (Buffer.byteLength(text) > TEXT_BYTES) {
    const facts = { limit: TEXT_BYTES, unit: "bytes" };
    throw new GinError("TOO_LARGE", `a text to be tried is larger than ${TEXT_BYTES} bytes`, undefined, { facts });
  }
  return createText(text, createHash("sha256").update(text).digest("hex"));
}
