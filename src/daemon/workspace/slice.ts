import type { Clock } from "../base/index.ts";
import type { ConfinedRoot } from "./files/index.ts";
import { SLICE_MS } from "./limits.ts";

/**
 * Does `each` for every item, in slices between which other callers run; the directories a slice passes are held open for it.
 * Throws what `each` throws, at once.
 */
export function inSlices<T>(root: ConfinedRoot, clock: Clock, items: Iterable<T>, each: (item: T) => void): Promise<void> {
  return sliced(clock, items, each, (run) => root.scope(run));
}

/** The same for work that touches no file. */
export function paced<T>(clock: Clock, items: Iterable<T>, each: (item: T) => void): Promise<void> {
  return sliced(clock, items, each, (run) => run());
}

/**
 * Runs work that comes as an iterator, a bit of work each step, in slices as `inSlices`. `between` is awaited after every slice, and whenever a
 * step gives "pause"; what it throws ends the work.
 */
export async function stepping(
  root: ConfinedRoot,
  clock: Clock,
  steps: Iterator<"pause" | undefined>,
  between: () => Promise<void> | undefined,
): Promise<void> {
  for (;;) {
    const until = clock.monotonicMs() + SLICE_MS;
    const done = root.scope(() => {
      do {
        const step = steps.next();
        if (step.done === true) return true;
        if (step.value === "pause") return false;
      } while (clock.monotonicMs() < until);
      return false;
    });
    await between();
    if (done) return;
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

async function sliced<T>(
  clock: Clock,
  items: Iterable<T>,
  each: (item: T) => void,
  within: (run: () => boolean) => boolean,
): Promise<void> {
  const rest = items[Symbol.iterator]();
  for (;;) {
    const until = clock.monotonicMs() + SLICE_MS;
    const done = within(() => {
      do {
        const next = rest.next();
        if (next.done === true) return true;
        each(next.value);
      } while (clock.monotonicMs() < until);
      return false;
    });
    if (done) return;
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}
