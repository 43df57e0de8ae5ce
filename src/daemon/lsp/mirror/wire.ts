import { GinError } from "../../base/index.ts";
import type { Deadline, Run } from "../session/types.ts";
import { type Bound, notReady } from "./within.ts";

/** A request of the protocol that no server has: each answers it, with a refusal, once it has read what was sent before. */
export const BARRIER = "$/gin/barrier";

/** What a wire is made from. */
export interface WireParts extends Bound {
  readonly run: Run;
  readonly stop: (why: string) => void;
  readonly writeMs: number;
}

/**
 * The run, with all that is sent numbered, and with the newest request known that the server has answered. Servers take messages in order: an answer shows that
 * everything sent before its request was taken.
 */
export class Wire implements Run {
  readonly #parts: WireParts;
  #sent = 0;
  #answered = 0;
  #broken = false;

  constructor(parts: WireParts) {
    this.#parts = parts;
  }

  get number() {
    return this.#parts.run.number;
  }
  get encoding() {
    return this.#parts.run.encoding;
  }
  get capabilities() {
    return this.#parts.run.capabilities;
  }
  get info() {
    return this.#parts.run.info;
  }
  get ended() {
    return this.#parts.run.ended;
  }
  get failures() {
    return this.#parts.run.failures;
  }

  get doubtful() {
    return this.#parts.run.doubtful;
  }

  /** Number of the message sent last. */
  get sent(): number {
    return this.#sent;
  }

  /** Number of the newest request that was answered; 0 before the first. */
  get answered(): number {
    return this.#answered;
  }

  /** Whether the run may not be believed any more. */
  get broken(): boolean {
    return this.#broken;
  }

  /** Ends the run because what it knows is in doubt: from now on nothing is asked of it, and what it still answers is not believed. */
  breakOff(why: string): void {
    if (this.#broken) return;
    this.#broken = true;
    this.#parts.stop(why);
  }

  /** Throws NOT_READY once the run is broken off. */
  mustHold(): void {
    if (this.#broken)
      throw notReady(this.#parts.server, "crashed", "the language server is ended, as it does not know the files any more");
  }

  async request(method: string, params: unknown, deadline: Deadline): Promise<unknown> {
    this.mustHold();
    this.#sent += 1;
    const number = this.#sent;
    const taken = () => {
      this.#answered = Math.max(this.#answered, number);
    };
    try {
      const answer = await this.#parts.run.request(method, params, deadline);
      taken();
      this.mustHold();
      return answer;
    } catch (thrown) {
      // The server's own refusal is an answer; that nothing came is none.
      if (thrown instanceof GinError && (thrown.reason === "LSP_REFUSED" || thrown.facts["state"] === "changing")) taken();
      throw thrown;
    }
  }

  /**
   * Rejects when it could not be written: the process ended, or has not read for `writeMs` (default: the mirror's). In that case the run is ended, as nobody knows
   * what it was told.
   */
  notify(method: string, params: unknown, writeMs = this.#parts.writeMs): Promise<void> {
    if (this.#broken) return Promise.reject(notReady(this.#parts.server, "crashed", "the language server is ended"));
    this.#sent += 1;
    const { run, clock, server } = this.#parts;
    return new Promise((resolve, reject) => {
      const end = clock.after(writeMs, () => {
        reject(notReady(server, "crashed", "the language server no longer reads what it is sent, and is ended"));
        this.breakOff("it does not read what it is sent");
      });
      void run.notify(method, params).then(resolve, reject).finally(end);
    });
  }

  on(method: string, listener: (params: unknown) => void): () => void {
    return this.#parts.run.on(method, listener);
  }
  registered(method: string): readonly unknown[] {
    return this.#parts.run.registered(method);
  }
  progress(): readonly string[] {
    return this.#parts.run.progress();
  }
}
