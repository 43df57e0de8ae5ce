import { Code, ConnectError } from "@connectrpc/connect";
import { type Clock, GinError } from "../base/index.ts";

/** How long after an abort an operation may still bring its own answer, in milliseconds: within the 250 a read has to stop. */
const GRACE_MS = 100;

/**
 * Waits for a promise at most until `graceMs` after the signal. Gives whether it ended; a rejection counts as an end and is
 * left to whoever else holds the promise.
 */
export function waitOr(promise: Promise<unknown>, signal: AbortSignal, clock: Clock, graceMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    let stopTimer = (): void => {};
    const finish = (ended: boolean): void => {
      stopTimer();
      signal.removeEventListener("abort", onAbort);
      resolve(ended);
    };
    const onAbort = (): void => {
      stopTimer = clock.after(graceMs, () => finish(false));
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    promise.then(
      () => finish(true),
      () => finish(true),
    );
  });
}

/** What an aborted call is answered: DEADLINE_EXCEEDED when its time ran out, else CANCELLED. */
export function abortError(signal: AbortSignal): GinError {
  const late = signal.reason instanceof ConnectError && signal.reason.code === Code.DeadlineExceeded;
  return late
    ? new GinError("DEADLINE_EXCEEDED", "it did not finish within the deadline")
    : new GinError("CANCELLED", "the caller gave up");
}

/** For long work between two slices: throws DEADLINE_EXCEEDED or CANCELLED once the call is aborted. */
export function checkAborted(signal: AbortSignal): void {
  if (signal.aborted) throw abortError(signal);
}

/**
 * The operation's result, or the abort's error when it does not come within a short grace. A mutation that goes on is
 * recorded all the same: only this answer is given up.
 */
export async function within<T>(promise: Promise<T>, signal: AbortSignal, clock: Clock): Promise<T> {
  if (!(await waitOr(promise, signal, clock, GRACE_MS))) throw abortError(signal);
  try {
    return await promise;
  } catch (error) {
    const cancelled = error instanceof GinError && error.reason === "CANCELLED";
    throw cancelled && signal.aborted ? abortError(signal) : error;
  }
}
