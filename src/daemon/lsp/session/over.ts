import type { Clock } from "../../base/index.ts";
import type { Deadline } from "./types.ts";

/** Timers cannot wait longer: some 24 days. */
const LONGEST_MS = 2 ** 31 - 1;

/** Calls back once when a deadline passes or its caller gives up, at once where that was before. The returned function ends it. */
export function whenOver(
  clock: Clock,
  { atMs, signal }: Deadline,
  callback: (how: "timed_out" | "cancelled") => void,
): () => void {
  const left = atMs - clock.monotonicMs();
  let stop = () => {};
  const end = () => {
    stop();
    signal.removeEventListener("abort", cancelled);
  };
  const cancelled = () => {
    end();
    callback("cancelled");
  };
  const timedOut = () => {
    end();
    callback("timed_out");
  };
  if (signal.aborted) cancelled();
  else if (left <= 0) timedOut();
  else {
    stop = clock.after(Math.min(left, LONGEST_MS), timedOut);
    signal.addEventListener("abort", cancelled, { once: true });
  }
  return end;
}
