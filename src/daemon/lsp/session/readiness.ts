import type { Clock } from "../../base/index.ts";
import type { Progress } from "./progress.ts";
import type { Readiness } from "./types.ts";

/** Milliseconds without matching work after which it is over: servers end one piece and begin the next. */
const SETTLE_MS = 100;

/** What readiness is told by. */
export interface Signs {
  readonly clock: Clock;
  readonly progress: Progress;
  on(method: string, listener: (params: unknown) => void): void;
}

/**
 * Calls `tell` each time it changes whether the server knows the workspace: from its initialisation on, when it does not unless it `answers`. Where
 * its progress tells, and none that matches has begun within the grace, there was nothing to do. The returned function ends that.
 */
export function watchReadiness(readiness: Readiness, { clock, progress, on }: Signs, tell: (known: boolean) => void): () => void {
  let known = readiness.kind === "answers";
  let ended = false;
  const now = (is: boolean): void => {
    if (ended || is === known) return;
    known = is;
    tell(is);
  };
  let endWait = (): void => {};
  const end = (): void => {
    ended = true;
    endWait();
  };
  tell(known);
  if (readiness.kind === "notification") {
    on(readiness.method, (params) => {
      const says = readiness.ready(params);
      if (says !== undefined) now(says);
    });
  }
  if (readiness.kind !== "progress") return end;

  const look = (): void => {
    if (ended) return;
    const going = progress.going(readiness.matches);
    if (going) {
      endWait();
      begun = true;
      now(false);
    } else if (begun) {
      // Only the first end counts the time: other progress that comes and goes must not put it off.
      begun = false;
      endWait = clock.after(SETTLE_MS, () => now(true));
    }
  };
  let begun = false;
  endWait = clock.after(readiness.graceMs, () => now(true));
  progress.onChange(look);
  look();
  return end;
}
