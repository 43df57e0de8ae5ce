import { type Clock, errnoOf, type FailPoints, GinError, type Log } from "../base/index.ts";
import { type PathState, type StoreReader, sameState } from "../store/index.ts";
import { type Applied, applySteps, dropStaged, type Step } from "./apply.ts";
import { NEW_FILE_MODE } from "./content.ts";
import type { ConfinedRoot, Staged } from "./files/index.ts";
import { CHANGE_BYTES } from "./limits.ts";
import { type Observed, observeFile } from "./observe.ts";
import { stageState } from "./staging.ts";

/** First wait before a refused step is tried again, and the longest, in milliseconds. */
const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 5_000;

/** A committed path the file system refused so far. */
interface Waiting {
  readonly save: string;
  readonly step: Step;
}

/**
 * Committed paths that are not on disk yet. Reads of them are served from the store; they are tried again with growing waits
 * until they are applied or somebody else has written there, whose edit is then kept.
 */
export class Unapplied {
  readonly #waiting = new Map<string, Waiting>();
  readonly #root: ConfinedRoot;
  readonly #store: StoreReader;
  readonly #clock: Clock;
  readonly #failPoints: FailPoints;
  readonly #log: Log;
  readonly #again: () => void;
  #wait = FIRST_WAIT_MS;

  /** `again` asks for a turn in which `retry` may run. */
  constructor(
    deps: { root: ConfinedRoot; store: StoreReader; clock: Clock; failPoints: FailPoints; log: Log },
    again: () => void,
  ) {
    this.#root = deps.root;
    this.#store = deps.store;
    this.#clock = deps.clock;
    this.#failPoints = deps.failPoints;
    this.#log = deps.log;
    this.#again = again;
  }

  get size(): number {
    return this.#waiting.size;
  }

  add(save: string, failed: Applied["failed"]): void {
    for (const { step, cause } of failed) {
      this.#log.warn({ path: step.path, errno: errnoOf(cause), save }, "a committed path could not be put in place yet");
      this.#waiting.set(step.path, { save, step });
    }
    if (failed.length > 0) this.#schedule();
  }

  /** A later save took the path over. */
  forget(path: string): void {
    this.#waiting.delete(path);
  }

  /** Whether the save still has paths here. */
  holds(save: string): boolean {
    for (const waiting of this.#waiting.values()) if (waiting.save === save) return true;
    return false;
  }

  /** What a waiting path holds as far as callers are concerned; undefined when the path does not wait. */
  at(path: string): Observed | undefined {
    const waiting = this.#waiting.get(path);
    if (waiting === undefined) return undefined;
    const { after, mode } = waiting.step;
    return { path, content: after, bytes: after === null ? undefined : this.#bytes(path, after), mode, stat: undefined };
  }

  #bytes(path: string, state: NonNullable<PathState>): Uint8Array {
    const bytes = this.#store.object(state.sha256);
    if (bytes === undefined) throw new GinError("STORE_CORRUPT", `the committed content of ${path} is not in the store`);
    return bytes;
  }

  /**
   * One more try for each waiting path; gives the saves that are whole now and what was rescued on the way. `record` is given what somebody
   * else put at a path: until it resolves the path waits.
   */
  async retry(
    wallMs: number,
    record: (outside: Observed) => Promise<void>,
  ): Promise<{ readonly whole: string[]; readonly applied: Applied }> {
    const before = new Set([...this.#waiting.values()].map((one) => one.save));
    const applied: Applied = { rescued: [], lingering: [], failed: [] };
    for (const [path, waiting] of [...this.#waiting]) {
      try {
        if (await this.#tryOne(waiting.step, applied, wallMs, record)) this.#waiting.delete(path);
      } catch (cause) {
        this.#log.debug({ path, errno: errnoOf(cause) }, "still refused");
      }
    }
    if (this.#waiting.size > 0) this.#schedule();
    else this.#wait = FIRST_WAIT_MS;
    return { whole: [...before].filter((save) => !this.holds(save)), applied };
  }

  /** True when the path needs nothing more: ours is there, or somebody else's edit is, which stays and is recorded. */
  async #tryOne(step: Step, applied: Applied, wallMs: number, record: (outside: Observed) => Promise<void>): Promise<boolean> {
    const { path } = step;
    const seen = await observeFile(this.#root, path, CHANGE_BYTES);
    if (seen !== undefined && sameState(seen.content, step.after)) return true;
    if (seen === undefined || !sameState(seen.content, step.before)) {
      // While it waited every look went by it: nobody else would tell. A directory there is a file that is gone.
      await record(seen ?? { path, content: null, bytes: undefined, mode: NEW_FILE_MODE, stat: undefined });
      return true;
    }
    const tried = await applySteps(this.#root, [{ ...step, staged: this.#stage(step) }], this.#clock, this.#failPoints, wallMs);
    applied.rescued.push(...tried.rescued);
    applied.lingering.push(...tried.lingering);
    dropStaged(this.#root, tried);
    return tried.failed.length === 0;
  }

  #stage({ path, after, mode }: Step): Staged | undefined {
    if (after === null) return undefined;
    this.#root.makeParents(path);
    return stageState(this.#root, path, after, this.#bytes(path, after), mode);
  }

  #schedule(): void {
    this.#clock.after(this.#wait, this.#again);
    this.#wait = Math.min(this.#wait * 2, LONGEST_WAIT_MS);
  }
}
