import type { Clock } from "../base/index.ts";
import type { ConfinedRoot } from "./files/index.ts";
import { SLICE_MS } from "./limits.ts";

/**
 * Does `each` for every item, in slices between which other callers run; the directories a slice passes are held open for it.
 * Throws what `each` throws, at once.
 */
export async function inSlices<T>(root: ConfinedRoot, clock: Clock, items: Iterable<T>, each: (item: T) => void): Promise<void> {
  const rest = items[Symbol.iterator]();
  for (;;) {
    const until = clock.monotonicMs() + SLICE_MS;
    const done = root.scope(() => {
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
