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
  #mixed = false;

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
    const asked = this.#hashes.has(path) ? this.#hashes.get(path) : (this.#recorded(this.#synced, path) ?? text?.sha256);
    this.of(path, asked);
    // A text of later is another one than the server answered about, even if the file is as before by the end.
    if (text !== undefined && text.sha256 !== asked) this.#mixed = true;
    return text;
  }

  /** Whether all of them are as they were. */
  async holds(after: Synced): Promise<boolean> {
    if (this.#mixed) return false;
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
