import type { Hash, NewObject, Store } from "../store/index.ts";

/** Contents sent to the store at once: a save that comes meanwhile waits for one such transaction at most. */
const BATCH_BYTES = 4 * 1024 * 1024;
const BATCH_OBJECTS = 512;

/**
 * Contents on their way into the store ahead of the checkpoint that names them, so that the checkpoint of a large burst carries none. Two batches
 * are under way at most: while one is written the next is read.
 */
export class Keeper {
  readonly #store: Store;
  readonly #waiting = new Map<Hash, NewObject>();
  #sending = new Map<Hash, NewObject>();
  #bytes = 0;
  #sent: Promise<unknown> = Promise.resolve();

  readonly #ask: boolean;

  /** `ask`: whether to look first if a content is there; where most are new, sending one in vain costs less. */
  constructor(store: Store, ask: boolean) {
    this.#store = store;
    this.#ask = ask;
  }

  add(sha256: Hash, bytes: Uint8Array): void {
    if (this.#waiting.has(sha256) || this.#sending.has(sha256)) return;
    if (this.#ask && this.#store.read.hasObject(sha256)) return;
    this.#waiting.set(sha256, { sha256, bytes });
    this.#bytes += bytes.byteLength;
  }

  /** Whether a batch should be sent. */
  get full(): boolean {
    return this.#bytes >= BATCH_BYTES || this.#waiting.size >= BATCH_OBJECTS;
  }

  /** Sends what waits, once the batch before it is in the store; rejects when that one was refused. */
  async send(): Promise<void> {
    const before = this.#sent;
    await before;
    // Another caller's turn came first, and took what waited.
    if (this.#sent !== before) return this.send();
    if (this.#waiting.size === 0) return;
    const objects = [...this.#waiting.values()];
    this.#sending = new Map(this.#waiting);
    this.#waiting.clear();
    this.#bytes = 0;
    this.#sent = this.#store.write("objects", { objects });
    // Whoever waits for it next is told; meanwhile nobody does.
    this.#sent.catch(() => {});
  }

  /** Everything added so far is in the store. */
  async settle(): Promise<void> {
    await this.send();
    await this.#sent;
  }
}
