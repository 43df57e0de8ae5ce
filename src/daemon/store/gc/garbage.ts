import { GinError } from "../../base/index.ts";
import { checkpointWal } from "../wal.ts";
import type { Handler, Work } from "../work.ts";
import { keepNamed } from "./mark.ts";
import { beginRun, type Run } from "./run.ts";
import type { GarbageOptions, GarbageStep } from "./types.ts";

/** Slices between two looks at the WAL: one that removes may write a mebibyte. */
const WAL_STEPS = 8;

/**
 * The run of gc that is under way in the store thread, if any.
 * States: none → looking → decided → removing → none; anything that fails, and a new beginning, lead to none. Nothing of it is on
 * disk: what a killed run left half done the next one finds again as unneeded.
 */
export class Garbage {
  #run: Run | undefined;
  #steps = 0;

  /** True while a run is under way: only then is there anything to tell it. */
  get running(): boolean {
    return this.#run !== undefined;
  }

  begin(work: Work, options: GarbageOptions): void {
    this.#run = beginRun(work, options);
  }

  /** Runs one slice. What it throws gives the run up. */
  step(): GarbageStep {
    const run = this.#run;
    if (run === undefined) return { phase: "lost", durable: false, damaged: false };
    this.#run = undefined;
    let next: IteratorResult<GarbageStep, unknown>;
    try {
      next = run.slices.next();
    } catch (thrown) {
      // Damage in old history is no reason to end the daemon's writing: what is not read is not removed.
      if (thrown instanceof GinError && thrown.reason === "STORE_CORRUPT")
        return { phase: "lost", durable: false, damaged: true };
      throw thrown;
    }
    // The file gets shorter with the WAL's checkpoint only.
    if (next.done === true) this.#steps = WAL_STEPS - 1;
    if (next.done === true) return { phase: "done", durable: false, report: next.value as never };
    this.#run = run;
    return next.value;
  }

  /** True now and then while a run goes on: the WAL is to be kept short. */
  get walDue(): boolean {
    this.#steps = (this.#steps + 1) % WAL_STEPS;
    return this.#steps === 0;
  }

  /** The run is over: its slice was undone, or there is a root it does not know of. */
  giveUp(): void {
    this.#run = undefined;
  }

  /** Contents and nodes that a transaction names: they stay, whatever the run found out before. */
  keep(named: { readonly objects: Iterable<string>; readonly nodes: Iterable<string> }): void {
    if (this.#run !== undefined) keepNamed(this.#run.needs, named);
  }
}

/** Begins a run. */
export const begin: Handler<"gc.begin"> = {
  durable: false,
  run(work, options) {
    work.garbage.begin(work, options);
    return null;
  },
};

/** Goes one slice on. */
export const step: Handler<"gc.step"> = {
  durable: (value) => value.durable,
  run: (work) => work.garbage.step(),
  after(work) {
    work.side.unlinkNow();
    if (work.garbage.walDue) checkpointWal(work);
  },
};
