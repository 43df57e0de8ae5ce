import type { Documents, Open, Shot } from "./documents.ts";
import type { Pushed } from "./types.ts";
import type { Uris } from "./uri.ts";
import type { Wire } from "./wire.ts";

const PUBLISH = "textDocument/publishDiagnostics";

/** A push that counted when it came. */
interface Kept {
  readonly told: number | undefined;
  readonly items: readonly unknown[];
  /** Of the document's text when it came. */
  readonly textVersion: number;
  /** Number of the message that told the text it names, by a version or a name of its own; -1 for one that names none. */
  readonly toldAt: number;
  /** Newest request answered when it came. */
  readonly answered: number;
}

/** What pushes are heard with. */
export interface PushesParts {
  readonly wire: Wire;
  readonly documents: Documents;
  readonly uris: Uris;
  /** Whether the server computes in threads beside (the table's `beside`). */
  readonly beside: boolean;
  /** Has the server answer something; false when it does not. */
  readonly barrier: () => Promise<boolean>;
}

/**
 * Diagnostics that a server pushed. One counts for the content that a document has now
 * - with a version: when the document's text had that version, or still has it. Versions are given once in a run, so one of another text never counts again;
 * - without: when it came after the document's text was sent AND after the answer to a request that was sent after it. That answer shows that the server had taken
 *   the text; what was pushed before it may have been about the one before.
 * What does not count when it comes never will, and what was kept goes with the text it was for: a server that pushes but once, and too early, is made to look
 * again by a nudge. Nothing is kept of files that are not open, as nobody can say which content of theirs was looked at.
 *
 * A server that computes in threads may push what it found in the text before, whatever it has taken since, and nothing it pushes says which. It is shown the text
 * by a name that no other text ever has (Documents.shoot), and what it says of that name alone counts. When it finds nothing there that counts once an answer came after it and
 * it has not said by then that it failed: it says so before it pushes the empty list. Else it is shown the text again when somebody still waits for it.
 *
 * It is `current` when it was also computed after every change of other files: when the name of its own was given after the last, when a request sent after the last change of any file had been answered
 * before it came, or when it names a version that was told after that change.
 */
export class Pushes {
  readonly #parts: PushesParts;
  readonly #kept = new Map<string, Kept>();
  readonly #listeners = new Set<(uri: string) => void>();
  readonly #unhear: () => void;

  constructor(parts: PushesParts) {
    this.#parts = parts;
    this.#unhear = parts.wire.on(PUBLISH, (params) => this.#hear(params));
  }

  /** See Mirror.pushed. */
  of(uri: string): Pushed | undefined {
    const { documents } = this.#parts;
    const path = this.#pathOf(uri);
    const open = path === undefined ? undefined : documents.get(path);
    const kept = path === undefined ? undefined : this.#kept.get(path);
    if (open?.shown === undefined || kept === undefined || kept.textVersion !== open.textVersion) return undefined;
    const after = documents.lastChange;
    const current = kept.answered > after || kept.toldAt >= after;
    return { version: kept.told, items: kept.items, sha256: open.shown.sha256, current };
  }

  /** See Mirror.onPushed. */
  on(listener: (uri: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#unhear();
    this.#listeners.clear();
    this.#kept.clear();
  }

  #hear(params: unknown): void {
    const push = params as { readonly uri?: unknown; readonly version?: unknown; readonly diagnostics?: unknown } | null;
    if (typeof push?.uri !== "string" || !Array.isArray(push.diagnostics)) return;
    const { wire, documents, uris, beside } = this.#parts;
    const shown = documents.ofShot(push.uri);
    if (shown?.shot !== undefined) {
      this.#hearShot(shown, shown.shot, push.diagnostics);
      return;
    }
    const path = this.#pathOf(push.uri);
    if (path !== undefined) {
      if (this.#kept.size > documents.size) this.#forgetClosed();
      const open = documents.get(path);
      const told = typeof push.version === "number" ? push.version : undefined;
      if (open?.shown === undefined) this.#kept.delete(path);
      else if (!beside && counts(told, open, wire.answered)) {
        const toldAt = told === undefined ? -1 : told === open.version ? open.toldAt : open.changedAt;
        const { textVersion } = open;
        this.#kept.set(path, { told, items: push.diagnostics, textVersion, toldAt, answered: wire.answered });
      }
    }
    this.#tell(path === undefined ? push.uri : uris.uriOf(path));
  }

  #hearShot(open: Open, shot: Shot, items: readonly unknown[]): void {
    if (items.length > 0) this.#keepShot(open, shot, items);
    else
      void this.#parts.barrier().then((answered) => {
        if (open.shot === shot)
          this.#keepShot(open, shot, answered && this.#parts.wire.failures === shot.failures ? items : undefined);
      });
  }

  /** Undefined when nobody knows what it found. */
  #keepShot({ path, uri }: Open, { textVersion, openedAt }: Shot, items: readonly unknown[] | undefined): void {
    const { documents } = this.#parts;
    // One that cannot be told that is ending.
    documents.drop(path).catch(() => {});
    if (items !== undefined) this.#kept.set(path, { told: undefined, items, textVersion, toldAt: openedAt, answered: -1 });
    this.#tell(uri);
  }

  #tell(uri: string): void {
    for (const listener of [...this.#listeners]) listener(uri);
  }

  #forgetClosed(): void {
    for (const path of this.#kept.keys()) if (this.#parts.documents.get(path) === undefined) this.#kept.delete(path);
  }

  #pathOf(uri: string): string | undefined {
    return this.#parts.uris.pathOf(uri);
  }
}

function counts(told: number | undefined, { textVersion, version, changedAt }: Open, answered: number): boolean {
  return told === undefined ? answered > changedAt : told >= textVersion && told <= version;
}
