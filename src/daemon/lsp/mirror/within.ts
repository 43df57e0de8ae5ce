import { type Clock, GinError } from "../../base/index.ts";
import type { Deadline } from "../session/types.ts";

/** Timers cannot wait longer: some 24 days. */
const LONGEST_MS = 2 ** 31 - 1;

/** How errors name the server, and the clock deadlines are on. */
export interface Bound {
  readonly clock: Clock;
  readonly server: string;
}

/** The refusal of an answer that is not known yet; `state` as the door lists them. */
export function notReady(server: string, state: string, message: string, retryAfterMs = 500): GinError {
  return new GinError("NOT_READY", message, undefined, { retryAfterMs, facts: { state, server } });
}

/**
 * Calls back once when a deadline passes (NOT_READY "timed_out") or its caller gives up (CANCELLED), at once where that was before. The returned function
 * ends it.
 */
export function whenOver(
  { clock, server }: Bound,
  deadline: Deadline,
  what: string,
  callback: (error: GinError) => void,
): () => void {
  const left = deadline.atMs - clock.monotonicMs();
  let stop = () => {};
  const end = () => {
    stop();
    deadline.signal.removeEventListener("abort", cancelled);
  };
  const cancelled = () => {
    end();
    callback(new GinError("CANCELLED", "the caller gave up"));
  };
  const timedOut = () => {
    end();
    callback(notReady(server, "timed_out", `${what} took longer than the time given`));
  };
  if (deadline.signal.aborted) cancelled();
  else if (left <= 0) timedOut();
  else {
    stop = clock.after(Math.min(left, LONGEST_MS), timedOut);
    deadline.signal.addEventListener("abort", cancelled, { once: true });
  }
  return end;
}

/** The outcome of work, or the refusal when it is not there by the deadline. The work itself goes on; what becomes of it then is nobody's. */
export function within<T>(bound: Bound, deadline: Deadline, what: string, work: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    let over = false;
    const end = whenOver(bound, deadline, what, (error) => {
      over = true;
      reject(error);
    });
    if (over) return;
    // In an async function, what is thrown at once is a rejection as well.
    void (async () => work())().then(resolve, reject).finally(end);
  });
}
