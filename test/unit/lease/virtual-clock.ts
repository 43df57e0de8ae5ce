import type { Clock } from "../../../src/daemon/base/index.ts";

/** A clock that stands still until told. */
export interface VirtualClock extends Clock {
  /** Moves time on, running what falls due, in order of its time. */
  advance(ms: number): void;
  /** Timers set and neither run nor cancelled. */
  timers(): number;
}

/** A clock at 0 whose wall time jumps about: nothing may be decided by it. */
export function virtualClock(): VirtualClock {
  let now = 0;
  let looks = 0;
  const due: { readonly at: number; readonly run: () => void }[] = [];
  return {
    wallMs: () => ((looks++ * 7_919) % 13) * 1e9,
    monotonicMs: () => now,
    after(ms, callback) {
      const timer = { at: now + ms, run: callback };
      due.push(timer);
      return () => {
        const index = due.indexOf(timer);
        if (index >= 0) due.splice(index, 1);
      };
    },
    advance(ms) {
      const until = now + ms;
      for (;;) {
        const at = Math.min(...due.map((timer) => timer.at));
        if (at > until) break;
        now = Math.max(now, at);
        const [timer] = due.splice(
          due.findIndex((one) => one.at === at),
          1,
        );
        timer?.run();
      }
      now = until;
    },
    timers: () => due.length,
  };
}
