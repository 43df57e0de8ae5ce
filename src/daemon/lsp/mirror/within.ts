import { type Clock, GinError } from "../../base/index.ts";
import { whenOver as over } from "../session/over.ts";
import type { Deadline } from "../session/types.ts";

/** How errors name the server, and the clock deadlines are on. */
export interface Bound {
  readonly clock: Clock;
  readonly server: string;
}

/** The refusal of an answer that is not known yet; `state` as the door lists them. */
export function notReady(server: string, state: string, message: string, retryAfterMs = 500): GinError {
  return new GinError("NOT_READY", message, undefined, { retryAfterMs, facts: { state, server } });
}

/** As that of sessions, with the refusal: NOT_READY "timed_out" or CANCELLED. */
export function whenOver(
  { clock, server }: Bound,
  deadline: Deadline,
  what: string,
  callback: (error: GinError) => void,
): () => void {
  return over(clock, deadline, (how) =>
    callback(
      how === "cancelled"
        ? new GinError("CANCELLED", "the caller gave up")
        : notReady(server, "timed_out", `${what} took longer than the time given`),
    ),
  );
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
