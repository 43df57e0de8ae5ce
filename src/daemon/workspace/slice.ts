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
