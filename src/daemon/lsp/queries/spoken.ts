import type { Hash } from "../../store/index.ts";
import type { Synced } from "../mirror/types.ts";
import type { Leased } from "../pool/types.ts";
import type { LspAsk } from "../types.ts";

/** The files an answer speaks of and the contents it takes them to have. */
export class Spoken {
  readonly #hashes = new Map<string, Hash | undefined>();
  readonly #question: LspAsk;
  readonly #mirror: Leased["mirror"];
  readonly #synced: Synced;

  constructor(question: LspAsk, mirror: Leased["mirror"], synced: Synced) {
    this.#question = question;
    this.#mirror = mirror;
    this.#synced = synced;
  }

  of(path: string, sha256: Hash | undefined): void {
    this.#hashes.set(path, sha256);
  }

  async text(path: string) {
    const text = await this.#mirror.text(path);
    // What is in the tree counts as the server was told: a text of later would be another one than it answered about.
    if (!this.#hashes.has(path)) this.of(path, this.#recorded(this.#synced, path) ?? text?.sha256);
    return text;
  }

  /** Whether all of them are as they were. */
  async holds(after: Synced): Promise<boolean> {
    for (const [path, sha256] of this.#hashes) {
      const recorded = this.#recorded(after, path);
      const now = recorded ?? (await this.#mirror.text(path))?.sha256;
      if (now !== sha256) return false;
    }
    return true;
  }

  #recorded({ tree }: Synced, path: string): Hash | undefined {
    return this.#question.workspace.hashAt(tree, path);
  }
}

/** What is said of an answer beside it. */
export class Said {
  readonly #notes = new Set<string>();
  isPartial = false;

  partial(note: string): void {
    this.isPartial = true;
    this.note(note);
  }

  note(note: string): void {
    if (note !== "") this.#notes.add(note);
  }

  get all(): string {
    return [...this.#notes].join("; ");
  }
}
