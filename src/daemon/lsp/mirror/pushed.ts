import type { Documents, Open } from "./documents.ts";
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
  /** Number of the message that told the version it names; 0 for one that names none. */
  readonly toldAt: number;
  /** Newest request answered when it came. */
  readonly answered: number;
}

/** What pushes are heard with. */
export interface PushesParts {
  readonly wire: Wire;
  readonly documents: Documents;
  readonly uris: Uris;
}

/**
 * Diagnostics that a server pushed. One counts for the content that a document has now
 * - with a version: when the document's text had that version, or still has it. Versions are given once in a run, so one of another text never counts again;
 * - without: when it came after the document's text was sent AND after the answer to a request that was sent after it. That answer shows that the server had taken
 *   the text; what was pushed before it may have been about the one before.
 * What does not count when it comes never will, and what was kept goes with the text it was for: a server that pushes but once, and too early, is made to look
 * again by a nudge. Nothing is kept of files that are not open, as nobody can say which content of theirs was looked at.
 *
 * It is `current` when it was also computed after every change of other files: when a request sent after the last change of any file had been answered
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
    const current = kept.answered > after || (kept.told !== undefined && kept.toldAt >= after);
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
    const { wire, documents, uris } = this.#parts;
    const path = this.#pathOf(push.uri);
    if (path !== undefined) {
      if (this.#kept.size > documents.size) this.#forgetClosed();
      const open = documents.get(path);
      const told = typeof push.version === "number" ? push.version : undefined;
      if (open?.shown === undefined) this.#kept.delete(path);
      else if (counts(told, open, wire.answered)) {
        const toldAt = told === undefined ? 0 : told === open.version ? open.toldAt : open.changedAt;
        const { textVersion } = open;
        this.#kept.set(path, { told, items: push.diagnostics, textVersion, toldAt, answered: wire.answered });
      }
    }
    const uri = path === undefined ? push.uri : uris.uriOf(path);
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
